#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "bench/train/ring_links.h"
#include "os/wait.h"

namespace railbed {
namespace {

constexpr std::string_view kLookAtLink =
    "look at both ends' link (ip -s link), cable and switch port, and ping one end from the other";

class TcpRingLinks : public RingLinks {
 public:
  TcpRingLinks(Socket to_next, Socket from_previous, Neighbours names)
      : to_next_(std::move(to_next)), from_previous_(std::move(from_previous)), names_(std::move(names)) {}

  std::optional<Moved> move(std::span<const std::byte> send, std::span<std::byte> receive) override {
    std::array<pollfd, 2> waiting{{{send.empty() ? -1 : to_next_.get(), POLLOUT, 0},
                                   {receive.empty() ? -1 : from_previous_.get(), POLLIN, 0}}};
    if (poll(waiting.data(), waiting.size(), kPollSliceMs) < 0 && errno != EINTR) return broken(names_.next);
    Moved moved;
    if (waiting[0].revents != 0) {
      const ssize_t count = ::send(to_next_.get(), send.data(), send.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN && errno != EINTR) return broken(names_.next);
      moved.sent = count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    if (waiting[1].revents != 0) {
      const ssize_t count = recv(from_previous_.get(), receive.data(), receive.size(), MSG_DONTWAIT);
      if (count == 0) errno = EPIPE;
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return broken(names_.previous);
      moved.received = count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    return moved;
  }

  Failure broken() const override {
    if (error_ == EPIPE || error_ == ECONNRESET)
      return {"run", fmt::format("{} closed the connection before the end", blamed_),
              fmt::format("see whether the railbed agent on {} was killed", blamed_), FailureKind::kClosed};
    return {"run", fmt::format("connection with {}: {}", blamed_, std::strerror(error_)),
            std::string(kLookAtLink)};
  }

  Failure stalled(bool sending, std::chrono::milliseconds patience) const override {
    const double seconds = std::chrono::duration<double>(patience).count();
    if (!sending)
      return {"run", fmt::format("no data from {} for {:.3g} s", names_.previous, seconds),
              std::string(kLookAtLink)};
    if (const TcpInfo info = read_tcp_info(to_next_.get()); info.unanswered > 0)
      return {"run",
              fmt::format("no acknowledgement from {} for {:.3g} s ({} retransmissions unanswered)",
                          names_.next, seconds, info.unanswered),
              std::string(kLookAtLink)};
    return {"run", fmt::format("{} stopped reading for {:.3g} s", names_.next, seconds),
            fmt::format("see whether {} is overloaded or its railbed agent is stopped", names_.next)};
  }

 private:
  // Keeps errno of the call that just failed.
  std::nullopt_t broken(const std::string& peer) {
    error_ = errno;
    blamed_ = peer;
    return std::nullopt;
  }

  Socket to_next_;
  Socket from_previous_;
  Neighbours names_;
  int error_ = 0;
  std::string blamed_;
};

}  // namespace

std::unique_ptr<RingLinks> tcp_ring_links(Socket to_next, Socket from_previous, Neighbours names) {
  return std::make_unique<TcpRingLinks>(std::move(to_next), std::move(from_previous), std::move(names));
}

}  // namespace railbed
