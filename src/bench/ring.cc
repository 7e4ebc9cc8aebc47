#include "bench/ring.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "bench/clock.h"

namespace railbed {
namespace {

constexpr int kSliceMs = 50;
constexpr std::size_t kLine = 64;

// A line at a time, so that the compiler turns it into vector instructions
// without being asked to.
template <class Word>
void add_lines(std::span<const std::byte> own, std::span<std::byte> sum) {
  using Line = std::array<Word, kLine / sizeof(Word)>;
  for (std::size_t at = 0; at + kLine <= sum.size(); at += kLine) {
    Line a;
    Line b;
    std::memcpy(a.data(), own.data() + at, kLine);
    std::memcpy(b.data(), sum.data() + at, kLine);
    for (std::size_t i = 0; i < a.size(); ++i)
      b[i] = static_cast<Word>(a[i] + b[i]);
    std::memcpy(sum.data() + at, b.data(), kLine);
  }
}

void add(std::span<const std::byte> own, std::span<std::byte> sum,
         int word_bytes) {
  if (word_bytes == 2)
    add_lines<std::uint16_t>(own, sum);
  else
    add_lines<std::uint32_t>(own, sum);
}

// What moved, 0 when nothing could yet; nothing when the connection is done
// for, with the reason in `why`.
std::optional<std::size_t> moved(ssize_t count, bool receiving, Break &why) {
  if (count > 0)
    return static_cast<std::size_t>(count);
  if (count == 0 && receiving) {
    why = Break::kClosed;
    return std::nullopt;
  }
  if (count == 0 || errno == EAGAIN || errno == EINTR)
    return 0;
  why = errno == EPIPE || errno == ECONNRESET ? Break::kClosed : Break::kError;
  return std::nullopt;
}

} // namespace

Ring::Ring(RingLinks links, std::chrono::milliseconds patience,
           std::stop_token stop)
    : links_(std::move(links)), patience_(patience), stop_(std::move(stop)) {}

std::span<const std::byte> Ring::chunk(std::span<const std::byte> all,
                                       int index) const {
  const auto ranks = static_cast<std::size_t>(links_.ranks);
  const std::size_t lines = all.size() / kLine;
  const std::size_t i = static_cast<std::size_t>(
      (index % links_.ranks + links_.ranks) % links_.ranks);
  const std::size_t begin = lines * i / ranks * kLine;
  return all.subspan(begin, lines * (i + 1) / ranks * kLine - begin);
}

std::span<std::byte> Ring::chunk(std::span<std::byte> all, int index) const {
  const auto found = chunk(std::span<const std::byte>(all), index);
  return all.subspan(static_cast<std::size_t>(found.data() - all.data()),
                     found.size());
}

bool Ring::all_reduce(std::span<const std::byte> input,
                      std::span<std::byte> output, int word_bytes) {
  // After step s a rank holds the sum over s + 2 ranks of chunk rank − s − 1.
  for (int s = 0; s + 1 < links_.ranks; ++s) {
    const int sent = links_.rank - s;
    const auto send = s == 0 ? chunk(input, sent)
                             : std::span<const std::byte>(chunk(output, sent));
    if (!exchange(send, chunk(output, sent - 1), chunk(input, sent - 1),
                  word_bytes))
      return false;
  }
  for (int s = 0; s + 1 < links_.ranks; ++s) {
    const int sent = links_.rank + 1 - s;
    if (!exchange(chunk(output, sent), chunk(output, sent - 1), {}, word_bytes))
      return false;
  }
  return true;
}

std::optional<bool> Ring::agree(bool go_on) {
  // Once around to gather everybody, once more to let them go.
  std::byte word{static_cast<unsigned char>(go_on ? 1 : 0)};
  for (int round = 0; round < 2; ++round) {
    const bool first = links_.rank == 0;
    if (first && !exchange({&word, 1}, {}, {}, 1))
      return std::nullopt;
    if (!exchange({}, {&word, 1}, {}, 1))
      return std::nullopt;
    if (!first && !exchange({&word, 1}, {}, {}, 1))
      return std::nullopt;
  }
  return word != std::byte{0};
}

bool Ring::exchange(std::span<const std::byte> send,
                    std::span<std::byte> receive,
                    std::span<const std::byte> own, int word_bytes) {
  const int out = links_.to_next.fd();
  const int in = links_.from_previous.fd();
  std::size_t sent = 0;
  std::size_t received = 0;
  std::size_t added = 0;
  std::uint64_t last = now_ns();
  while (sent < send.size() || received < receive.size()) {
    std::array<pollfd, 2> waiting{
        {{sent < send.size() ? out : -1, POLLOUT, 0},
         {received < receive.size() ? in : -1, POLLIN, 0}}};
    if (poll(waiting.data(), waiting.size(), kSliceMs) < 0 && errno != EINTR)
      return fail(true, Break::kError);
    if (stop_.stop_requested())
      return fail(false, Break::kStopped);
    Break why = Break::kNone;
    std::size_t progress = 0;
    if (waiting[0].revents != 0) {
      const auto count =
          moved(::send(out, send.data() + sent, send.size() - sent,
                       MSG_DONTWAIT | MSG_NOSIGNAL),
                false, why);
      if (!count)
        return fail(true, why);
      sent += *count;
      progress += *count;
    }
    if (waiting[1].revents != 0) {
      const auto count = moved(recv(in, receive.data() + received,
                                    receive.size() - received, MSG_DONTWAIT),
                               true, why);
      if (!count)
        return fail(false, why);
      received += *count;
      progress += *count;
      if (!own.empty()) {
        const std::size_t whole = received / kLine * kLine;
        add(own.subspan(added, whole - added),
            receive.subspan(added, whole - added), word_bytes);
        added = whole;
      }
    }
    if (progress > 0)
      last = now_ns();
    if (now_ns() - last >
        static_cast<std::uint64_t>(patience_.count()) * 1'000'000)
      return fail(sent < send.size(), Break::kStalled);
  }
  return true;
}

bool Ring::fail(bool sending, Break why) {
  const std::string &peer = sending ? links_.next : links_.previous;
  const double seconds = std::chrono::duration<double>(patience_).count();
  const std::string link = "look at both ends' link (ip -s link), cable and "
                           "switch port, and ping one end from the other";
  if (why == Break::kStopped)
    failure_ = Failure{"run", "stopped on request", ""};
  else if (why == Break::kClosed)
    failure_ = Failure{
        "run", fmt::format("{} closed the connection before the end", peer),
        fmt::format("see whether the railbed agent on {} was killed", peer)};
  else if (why == Break::kError)
    failure_ = Failure{
        "run",
        fmt::format("connection with {}: {}", peer, std::strerror(errno)),
        link};
  else if (!sending)
    failure_ = Failure{
        "run", fmt::format("no data from {} for {:.3g} s", peer, seconds),
        link};
  else if (const TcpInfo info = read_tcp_info(links_.to_next.fd());
           info.unanswered > 0)
    failure_ = Failure{"run",
                       fmt::format("no acknowledgement from {} for {:.3g} s "
                                   "({} retransmissions unanswered)",
                                   peer, seconds, info.unanswered),
                       link};
  else
    failure_ = Failure{
        "run", fmt::format("{} stopped reading for {:.3g} s", peer, seconds),
        fmt::format(
            "see whether {} is overloaded or its railbed agent is stopped",
            peer)};
  return false;
}

} // namespace railbed
