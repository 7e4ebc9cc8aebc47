// A small HTTP server on loopback that receives webhooks and sends the responses that a test defines.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace railbed {

class AlertReceiver {
 public:
  // Returns the whole response to the request with this number, counted from 0. If it is empty, there is no
  // response and the connection stays open.
  using Answer = std::function<std::string(int request)>;
  static std::string status(int code, const std::string& more = "") {
    return "HTTP/1.1 " + std::to_string(code) + " x\r\n" + more +
           "Content-Length: 0\r\nConnection: close\r\n\r\n";
  }

  explicit AlertReceiver(Answer answer = [](int) { return status(200); }) : answer_(std::move(answer)) {
    listener_ = Fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof name;
    if (bind(listener_.get(), reinterpret_cast<sockaddr*>(&name), size) != 0 ||
        listen(listener_.get(), 16) != 0)
      std::abort();
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&name), &size);
    port_ = ntohs(name.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  std::string url(const std::string& path = "/alerts") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  std::vector<std::string> heads() const {
    const std::lock_guard lock(mutex_);
    return heads_;
  }
  std::vector<std::string> bodies() const {
    const std::lock_guard lock(mutex_);
    return bodies_;
  }
  // Waits until `count` requests have arrived. Returns false if they have not within ten seconds.
  bool wait_for(std::size_t requests) const {
    for (int i = 0; i < 1000 && bodies().size() < requests; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return bodies().size() >= requests;
  }

 private:
  void run(const std::stop_token& stop) {
    std::vector<Fd> hanging;
    while (!stop.stop_requested()) {
      pollfd ready{listener_.get(), POLLIN, 0};
      if (poll(&ready, 1, 20) <= 0) continue;
      Fd peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer) continue;
      const int number = take(peer.get());
      const std::string answer = answer_(number);
      for (std::size_t at = 0; at < answer.size();) {
        const ssize_t put = send(peer.get(), answer.data() + at, answer.size() - at, MSG_NOSIGNAL);
        if (put <= 0) break;
        at += static_cast<std::size_t>(put);
      }
      if (answer.empty()) hanging.push_back(std::move(peer));
    }
  }

  int take(int fd) {
    std::string text;
    std::size_t end = std::string::npos, wanted = 0;
    char piece[4096];
    while (end == std::string::npos || text.size() < end + 4 + wanted) {
      const ssize_t got = recv(fd, piece, sizeof piece, 0);
      if (got <= 0) break;
      text.append(piece, static_cast<std::size_t>(got));
      if (end != std::string::npos || (end = text.find("\r\n\r\n")) == std::string::npos) continue;
      const auto length = text.find("Content-Length: ");
      if (length < end) wanted = std::strtoul(text.c_str() + length + 16, nullptr, 10);
    }
    const std::lock_guard lock(mutex_);
    heads_.push_back(text.substr(0, end));
    bodies_.push_back(end == std::string::npos ? "" : text.substr(end + 4));
    return static_cast<int>(bodies_.size()) - 1;
  }

  Answer answer_;
  Fd listener_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> heads_, bodies_;
  std::jthread thread_;  // last, because it uses the members above
};

}  // namespace railbed
