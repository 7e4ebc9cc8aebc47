#include "campaign/look/ras.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "base/fd.h"
#include "base/host_port.h"
#include "base/ip.h"
#include "base/text.h"
#include "os/socket.h"
#include "os/wait.h"

namespace railbed {
namespace {

using RasClock = std::chrono::steady_clock;

constexpr std::size_t kLongestRasReply = 1024;  // NCCL's client has as much room
constexpr int kAsksForSameJob = 4;
constexpr std::size_t kMostOfOneName = 8;  // addresses; a connection to one may take a second

// "localhost" needs no name server, and NCCL may listen at either of its addresses.
std::vector<SocketAddress> addresses_of(const RasAddress& at) {
  std::vector<SocketAddress> found;
  if (const auto literal = IpAddress::parse(at.host)) return {socket_address(*literal, at.port)};
  if (at.host == "localhost") {
    for (const std::string_view loopback : {"127.0.0.1", "::1"})
      found.push_back(socket_address(*IpAddress::parse(loopback), at.port));
    return found;
  }
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &wanted, &first) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(first, freeaddrinfo);
  for (const addrinfo* one = first; one != nullptr && found.size() < kMostOfOneName; one = one->ai_next) {
    SocketAddress& address = found.emplace_back();
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.size = one->ai_addrlen;
  }
  return found;
}

// One connection. Each method returns an error at its deadline.
class RasConnection {
 public:
  RasConnection(Fd fd, const RasLimits& limits, std::stop_token stop)
      : fd_(std::move(fd)), limits_(limits), stop_(std::move(stop)) {}

  // Sends a line and returns the line of the reply.
  Result<std::string> exchange(std::string_view line) {
    const auto until = RasClock::now() + limits_.greeting;
    RETURN_IF_ERROR(send_line(line, until));
    for (;;) {
      if (const auto end = heard_.find('\n'); end != std::string::npos) {
        std::string reply(trim(std::string_view(heard_).substr(0, end)));
        heard_.erase(0, end + 1);
        return reply;
      }
      if (heard_.size() > kLongestRasReply) return fail(ErrorKind::kBadInput, "its reply is no line");
      const auto more = receive(until);
      if (!more) return fail(more.error());
      if (!*more) return fail(ErrorKind::kBadInput, "it closed the connection");
    }
  }

  // Sends a line and returns all until the server closes.
  Result<std::string> ask(std::string_view line) {
    const auto until = RasClock::now() + limits_.answer;
    RETURN_IF_ERROR(send_line(line, until));
    for (;;) {
      const auto more = receive(until);
      if (!more) return fail(more.error());
      if (!*more) return std::move(heard_);
      too_long_ = heard_.size() > limits_.bytes;
      if (too_long_)
        return fail(ErrorKind::kBadInput, fmt::format("its answer is longer than {} bytes", limits_.bytes));
    }
  }
  bool too_long() const { return too_long_; }
  const std::string& heard() const { return heard_; }

 private:
  Result<bool> send_line(std::string_view line, RasClock::time_point until) {
    const std::string text = std::string(line) + "\n";
    const Waited waited = wait_writable(fd_.get(), until, stop_);
    if (waited != Waited::kReady) return not_ready(waited);
    // A line fits into an empty socket.
    if (send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
      return fail(ErrorKind::kUnavailable, std::strerror(errno));
    return true;
  }
  // Returns false at the end of the stream.
  Result<bool> receive(RasClock::time_point until) {
    // A server that never stops sending keeps the socket readable, so the deadline is checked here, too.
    const Waited waited = RasClock::now() < until ? wait_readable(fd_.get(), until, stop_) : Waited::kTimeout;
    if (waited != Waited::kReady) return not_ready(waited);
    std::array<char, kChunkBytes> piece;
    const ssize_t got = recv(fd_.get(), piece.data(), piece.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got < 0) return fail(ErrorKind::kUnavailable, std::strerror(errno));
    heard_.append(piece.data(), static_cast<std::size_t>(got));
    return got > 0;
  }
  static tl::unexpected<Error> not_ready(Waited waited) {
    if (waited == Waited::kStopped) return fail(ErrorKind::kCancelled, "stopped");
    return fail(ErrorKind::kTimeout, "it does not answer");
  }

  Fd fd_;
  const RasLimits& limits_;
  std::stop_token stop_;
  std::string heard_;
  bool too_long_ = false;
};

Result<Fd> connect_to_ras(const RasAddress& at, const RasLimits& limits, const std::stop_token& stop) {
  std::string why = "its name is not known";
  for (const SocketAddress& address : addresses_of(at)) {
    Fd fd = stream_socket(address.family());
    int error = errno;
    if (fd && begin_connecting(fd.get(), address)) {
      const Waited waited = wait_writable(fd.get(), RasClock::now() + limits.greeting, stop);
      if (waited == Waited::kStopped) return fail(ErrorKind::kCancelled, "stopped");
      error = waited == Waited::kReady ? connect_error(fd.get()) : ETIMEDOUT;
      if (error == 0) return fd;
    } else if (fd) {
      error = errno;
    }
    why = std::strerror(error);
  }
  return fail(ErrorKind::kUnavailable, why);
}

// The result of one connection.
struct RasTurn {
  Result<diagnose::RasAnswer> answer;
  bool silent = false;      // nothing came at all
  bool wants_text = false;  // JSON is too long, and the text is shorter
};

RasTurn take_turn(Fd fd, bool json, const RasLimits& limits, const std::stop_token& stop) {
  RasConnection connection(std::move(fd), limits, stop);
  const auto greeting = connection.exchange("CLIENT PROTOCOL 2");
  if (!greeting) return {fail(greeting.error()), greeting.error().kind == ErrorKind::kTimeout};
  if (!greeting->starts_with("SERVER PROTOCOL "))
    return {
        fail(ErrorKind::kBadInput, fmt::format("this is not RAS: {}", printable(greeting->substr(0, 60))))};
  if (json) {
    const auto reply = connection.exchange("SET FORMAT json");
    if (!reply) return {fail(reply.error())};
    json = lower(*reply) == "ok";  // NCCL before 2.28.7: "ERROR: Unknown command …"
  }
  const auto text = connection.ask("VERBOSE STATUS");
  if (!text)
    return {fail(text.error()), false,
            json && connection.too_long() && diagnose::may_ask_for_ras_text(connection.heard())};
  return {json ? diagnose::read_ras_json(*text) : diagnose::read_ras_text(*text)};
}

// Two answers are about one job if they share a communicator. Texts name only communicators whose ranks differ, so they
// are compared by their number of processes.
bool is_same_job(const diagnose::RasAnswer& one, const diagnose::RasAnswer& other) {
  if (one.version != other.version) return false;
  if (!one.names_all) return one.processes == other.processes;
  if (one.communicators.empty() || other.communicators.empty()) return true;
  std::set<std::string_view> ids;
  for (const diagnose::RasCommunicator& communicator : one.communicators) ids.insert(communicator.id);
  return std::ranges::any_of(other.communicators, [&](const diagnose::RasCommunicator& communicator) {
    return ids.contains(communicator.id);
  });
}

}  // namespace

std::optional<RasAddress> RasAddress::parse(std::string_view text) {
  RasAddress at;
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    at.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && !port.starts_with(':')) return std::nullopt;
  } else if (std::ranges::count(text, ':') == 1) {
    at.host = text.substr(0, text.find(':'));
    port = text.substr(text.find(':'));
  } else {
    at.host = text;
  }
  if (!is_plain_word(at.host, 255)) return std::nullopt;
  if (port.empty()) return at;
  const auto number = is_digits(port.substr(1)) ? parse_number<int>(port.substr(1)) : std::nullopt;
  if (!number || *number < 1 || *number > 65535) return std::nullopt;
  at.port = *number;
  return at;
}

std::string RasAddress::to_text() const { return host_and_port(host, port); }

Result<diagnose::RasAnswer> ask_ras(const RasAddress& address, const RasLimits& limits,
                                    const std::stop_token& stop) {
  bool json = true;
  for (int silent = 0; silent < limits.tries;) {
    auto fd = connect_to_ras(address, limits, stop);
    if (!fd) return fail(fd.error(), address.to_text());
    RasTurn turn = take_turn(*std::move(fd), json, limits, stop);
    if (turn.silent) {
      ++silent;
    } else if (turn.wants_text) {
      json = false;
    } else {
      if (!turn.answer) return fail(turn.answer.error(), address.to_text());
      return std::move(turn.answer);
    }
  }
  return fail(
      ErrorKind::kTimeout,
      fmt::format(
          "{}: {} connections were accepted and none was answered: the processes that listen are stopped "
          "(ps shows T) or hang in the kernel (D), or this is not RAS",
          address.to_text(), limits.tries));
}

Result<RasLook> look_at_ras(const std::vector<RasAddress>& addresses, std::chrono::milliseconds apart,
                            const RasLimits& limits, const Caller& caller) {
  std::string tried;
  for (const RasAddress& address : addresses) {
    caller.progress(fmt::format("asking RAS at {}", address.to_text()));
    auto first = ask_ras(address, limits, caller.stop);
    if (!first) {
      if (first.error().kind == ErrorKind::kCancelled) return fail(first.error());
      tried += fmt::format("{}{}", tried.empty() ? "" : "\n", first.error().text);
      continue;
    }
    RasLook look{address.to_text(), {.first = *std::move(first)}};
    const auto began = RasClock::now();
    caller.progress(fmt::format("asking RAS at {} again in {:.0f} s", look.address,
                                std::chrono::duration<double>(apart).count()));
    if (!wait_unless_stopped(apart, caller.stop)) return fail(ErrorKind::kCancelled, "stopped");
    for (int i = 0; i < kAsksForSameJob; ++i) {
      look.pair.seconds = std::chrono::duration<double>(RasClock::now() - began).count();
      auto second = ask_ras(address, limits, caller.stop);
      if (!second) return fail(second.error(), "the second time");
      look.pair.second = *std::move(second);
      if (is_same_job(look.pair.first, look.pair.second)) return look;
    }
    return fail(
        ErrorKind::kUnavailable,
        fmt::format(
            "{}: two jobs answer there, or this one makes all its communicators anew. Jobs that share a "
            "node need a NCCL_RAS_ADDR each (NCCL_RAS_ADDR=localhost:28029)",
            look.address));
  }
  return fail(ErrorKind::kUnavailable, tried);
}

}  // namespace railbed
