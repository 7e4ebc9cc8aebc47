// Ping-pong over one connection with TCP_NODELAY. Each message carries its number, and the other side returns
// it unchanged. The time from the send to the complete reply is one sample; half of it is the latency. The
// comparison of the reply with the message is outside the timed region.
#include <cstring>

#include "bench/core/clock.h"
#include "bench/core/pattern.h"
#include "bench/statistics/statistics.h"
#include "bench/tcp/tcp.h"
#include "bench/tcp/tcp_common.h"

namespace railbed {
namespace {

constexpr std::uint64_t kBatch = 100'000'000;

// Writes the number into the beginning of the message, as far as it fits. The rest stays pattern.
void number(std::span<std::byte> message, std::uint64_t sequence) {
  std::memcpy(message.data(), &sequence, std::min<std::size_t>(message.size(), sizeof sequence));
}

using Receive = Break (*)(int, std::span<std::byte>, std::chrono::nanoseconds, const std::stop_token&);

Receive receive_by(const TcpPlan& plan, int fd) {
  if (!plan.busy_poll) return receive_all;
  poll_adapter(fd);
  return receive_all_spinning;
}

Break trade(int fd, Receive receive, std::span<std::byte> out, std::span<std::byte> in,
            const std::stop_token& stop) {
  iovec part{out.data(), out.size()};
  if (const Break why = send_all(fd, {&part, 1}, kSenderPatience, stop); why != Break::kNone) return why;
  return receive(fd, in, kSenderPatience, stop);
}

// Pings until `end`, and compares each reply with its message. Without a sampler (in the warm-up) only wrong
// bytes are counted.
Break ping_until(std::uint64_t end, int fd, Receive receive, std::span<std::byte> message,
                 LatencySampler* sampler, TcpPinged& pinged, std::uint64_t& sequence,
                 const std::stop_token& stop) {
  std::vector<std::byte> reply(message.size());
  std::uint64_t batch_end = now_ns() + kBatch;
  for (std::uint64_t start = now_ns(); start < end; start = now_ns()) {
    if (stop.stop_requested()) return Break::kStopped;
    number(message, sequence++);
    const std::uint64_t sent = now_ns();
    if (const Break why = trade(fd, receive, message, reply, stop); why != Break::kNone) return why;
    const std::uint64_t done = now_ns();
    pinged.wrong_bytes += count_wrong(reply, message);
    if (sampler == nullptr) continue;
    sampler->add(done - sent);
    pinged.checked_bytes += reply.size();
    if (done > batch_end) {
      sampler->end_batch();
      batch_end = now_ns() + kBatch;
    }
  }
  return Break::kNone;
}

}  // namespace

TcpPinged tcp_ping(const TcpTarget& target, const TcpPlan& plan, std::stop_token stop) {
  TcpPinged pinged;
  auto socket = connect_stream(target.from, target.to, target.port, target.token, 0, kConnectDeadline, stop);
  if (!socket) {
    pinged.failure = connect_failure(target.peer, socket.error().text);
    return pinged;
  }
  const int fd = socket->get();
  const Receive receive = receive_by(plan, fd);
  std::vector<std::byte> message = make_pattern(plan.message_bytes, plan.seed);
  LatencySampler sampler;
  std::uint64_t sequence = 0;
  Break why =
      ping_until(now_ns() + to_ns(plan.warmup), fd, receive, message, nullptr, pinged, sequence, stop);
  const TcpInfo before = read_tcp_info(fd);
  const std::uint64_t start = now_ns();
  if (why == Break::kNone)
    why = ping_until(start + to_ns(plan.seconds), fd, receive, message, &sampler, pinged, sequence, stop);
  if (why != Break::kNone) pinged.failure = send_failure(target.peer, why, fd);
  pinged.seconds = static_cast<double>(now_ns() - start) / 1e9;
  const TcpInfo after = read_tcp_info(fd);
  pinged.packets = after.segments_sent - before.segments_sent;
  pinged.lost = after.retransmitted - before.retransmitted;
  pinged.mtu = after.mtu;
  add_totals(pinged.totals, after);
  pinged.summary = sampler.summary(true);
  if (pinged.wrong_bytes > 0) pinged.failure = verify_failure(target.peer, pinged.wrong_bytes);
  return pinged;
}

TcpEchoed tcp_echo(const TcpDoor& door, const TcpPlan& plan, std::string_view peer, std::stop_token stop) {
  TcpEchoed echoed;
  auto sockets = accept_streams(door.listener, door.token, 1, kConnectDeadline, stop);
  if (!sockets) {
    echoed.failure = connect_failure(peer, sockets.error().text);
    return echoed;
  }
  const int fd = sockets->front().get();
  const Receive receive = receive_by(plan, fd);
  std::vector<std::byte> message(plan.message_bytes);
  while (!stop.stop_requested()) {
    Break why = receive(fd, message, kReceiverPatience, stop);
    if (why == Break::kClosed) return echoed;  // the pinging side is done
    if (why != Break::kNone) {
      echoed.failure = receive_failure(peer, why);
      return echoed;
    }
    iovec part{message.data(), message.size()};
    why = send_all(fd, {&part, 1}, kSenderPatience, stop);
    if (why != Break::kNone) {
      echoed.failure = send_failure(peer, why, fd);
      return echoed;
    }
    ++echoed.messages;
  }
  return echoed;
}

}  // namespace railbed
