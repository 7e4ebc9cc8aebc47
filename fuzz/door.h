// A door for fuzzers of handshakes: a listener that no other process finds, and who knocks at it.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "fuzz/require.h"

namespace railbed {

class FuzzDoor {
 public:
  FuzzDoor() : listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    address_.sun_family = AF_UNIX;
    // No name: Linux gives it one of its own, which is no file (unix(7), "autobind").
    require(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address_), sizeof(sa_family_t)) == 0);
    require(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address_), &size_) == 0);
    require(listen(listener_.get(), 8) == 0);
  }
  int listener() const { return listener_.get(); }
  Fd knock() const {
    Fd guest(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    require(connect(guest.get(), reinterpret_cast<const sockaddr*>(&address_), size_) == 0);
    return guest;
  }

 private:
  Fd listener_;
  sockaddr_un address_ = {};
  socklen_t size_ = sizeof address_;
};

inline std::pair<Fd, Fd> socket_pair() {
  std::array<int, 2> ends = {};
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

inline void send_text(const Fd& to, std::string_view text) {
  (void)!send(to.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

// What lies there unread.
inline std::string read_text(const Fd& from) {
  std::array<char, 8192> bytes;
  const ssize_t got = recv(from.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  return got > 0 ? std::string(bytes.data(), static_cast<std::size_t>(got)) : std::string();
}

// Behind a greeting ("railbed-ranks 2 NONCE\n"): what this listener's nonce is.
inline std::string nonce_of(const std::string& greeting) {
  require(greeting.ends_with('\n') && greeting.rfind(' ') != std::string::npos);
  return greeting.substr(greeting.rfind(' ') + 1, greeting.size() - greeting.rfind(' ') - 2);
}

}  // namespace railbed
