#include "os/knock.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "os/datagram.h"
#include "os/socket.h"
#include "os/wait.h"

namespace railbed {
namespace {

constexpr std::size_t kMostSizes = 16;  // kept by an EchoDoor

int headers_of(const IpAddress& address) { return (address.is_v4() ? 20 : 40) + 8; }

Fd bound_datagrams(const IpAddress& address, int port) {
  const SocketAddress own = socket_address(address, port);
  Fd fd(socket(own.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd && bind(fd.get(), own.get(), own.size) != 0) fd.reset();
  return fd;
}

Error no_door(const IpAddress& address, int error) {
  return {ErrorKind::kUnavailable, fmt::format("listen on {}: {}", address.to_text(), std::strerror(error))};
}

}  // namespace

Knocked knock_tcp(const KnockAt& knock, int port) {
  const SocketAddress local = socket_address(knock.from, 0);
  const SocketAddress remote = socket_address(knock.to, port);
  const Fd fd = stream_socket(remote.family());
  if (!fd || bind(fd.get(), local.get(), local.size) != 0) return {Reach::kUnable, std::strerror(errno)};
  if (!begin_connecting(fd.get(), remote)) return knocked_by(errno);
  const auto until = std::chrono::steady_clock::now() + knock.deadline;
  if (wait_writable(fd.get(), until, knock.stop) != Waited::kReady) return {Reach::kSilent, ""};
  const int error = connect_error(fd.get());
  return error == 0 ? Knocked{Reach::kAnswered, ""} : knocked_by(error);
}

Knocked ask_echo(const KnockAt& knock, int port, std::string_view token, int bytes) {
  Fd fd = bound_datagrams(knock.from, 0);
  if (!fd) return {Reach::kUnable, std::strerror(errno)};
  std::string said = fmt::format("{}{:06}", token, bytes);
  const std::string wanted = said;
  const auto length = static_cast<std::size_t>(std::max(bytes - headers_of(knock.to), 0));
  if (said.size() < length) said.resize(length, '.');
  return exchange_datagrams(fd.get(), knock, port, said,
                            [&](std::string_view heard) { return heard == wanted; });
}

Result<std::shared_ptr<EchoDoor>> EchoDoor::open(const IpAddress& address, std::string token,
                                                 bool with_roce) {
  std::shared_ptr<EchoDoor> door(new EchoDoor());
  door->token_ = std::move(token);
  door->tcp_ = listening_socket(socket_address(address, 0), kBacklog);
  if (!door->tcp_) return fail(no_door(address, errno));
  door->udp_ = bound_datagrams(address, 0);
  if (!door->udp_) return fail(no_door(address, errno));
  if (with_roce) door->roce_ = bound_datagrams(address, kRocePort);
  door->tcp_port_ = port_of(door->tcp_.get());
  door->udp_port_ = port_of(door->udp_.get());
  door->thread_ = std::jthread([raw = door.get()](const std::stop_token& stop) { raw->serve(stop); });
  return door;
}

std::set<int> EchoDoor::heard() const {
  const std::lock_guard lock(mutex_);
  return heard_;
}

// TCP connections stay in the kernel's queue: being accepted by the kernel is the reply.
void EchoDoor::serve(const std::stop_token& stop) {
  const auto until = std::chrono::steady_clock::now() + kEchoLife;
  constexpr std::chrono::milliseconds kTurn{20};  // two sockets take turns
  while (!stop.stop_requested() && std::chrono::steady_clock::now() < until)
    for (const Fd* fd : {&udp_, &roce_}) {
      if (!*fd) continue;
      const auto soon = std::chrono::steady_clock::now() + kTurn;
      if (wait_readable(fd->get(), soon, stop) == Waited::kReady) answer(fd->get());
    }
}

// Sends back the datagram's beginning, token and length, so that a reply is never longer than its request.
void EchoDoor::answer(int fd) {
  std::array<char, 65536> buffer;
  SocketAddress guest;
  guest.size = sizeof guest.storage;
  const ssize_t got = recvfrom(fd, buffer.data(), buffer.size(), 0, guest.get(), &guest.size);
  const std::size_t wanted = token_.size() + 6;
  if (got < static_cast<ssize_t>(wanted) || std::string_view(buffer.data(), token_.size()) != token_) return;
  sendto(fd, buffer.data(), wanted, MSG_NOSIGNAL, guest.get(), guest.size);
  const int headers = (guest.family() == AF_INET ? 20 : 40) + 8;
  const std::lock_guard lock(mutex_);
  if (heard_.size() < kMostSizes) heard_.insert(static_cast<int>(got) + headers);
}

}  // namespace railbed
