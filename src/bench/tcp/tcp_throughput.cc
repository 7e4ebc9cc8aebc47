// TCP bandwidth over several connections. Both sides have one thread for each stream; the calling thread
// keeps the time.
//
// The receiver's clock counts: every 100 ms the timekeeper reads the bytes that all streams have received,
// and each such interval gives one sample. The sender adds the numbers that only it has: retransmissions,
// round trip, path MTU. The run ends with a block that is marked as the last: the sender then closes its
// direction and waits until the receiver has read everything and closes. So a connection that closes before
// the last block is a failure.
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "bench/core/chained_stop.h"
#include "bench/core/clock.h"
#include "bench/core/thread_meter.h"
#include "bench/tcp/block.h"
#include "bench/tcp/tcp.h"
#include "bench/tcp/tcp_common.h"
#include "bench/tcp/zero_copy.h"

namespace railbed {
namespace {

constexpr double kInterval = 0.1;
// The sender continues a little longer than the measured time, so that the receiver's last interval is full.
// Seconds.
constexpr double kSlack = 0.15;

// The state that the threads of one side share.
class TcpRun {
 public:
  explicit TcpRun(std::stop_token outer) : stop_(std::move(outer)) {}

  Phase phase() const { return phase_.load(std::memory_order_relaxed); }
  void enter(Phase phase) { phase_.store(phase, std::memory_order_relaxed); }
  std::stop_token stop() const { return stop_.token(); }

  // Keeps the first failure, which is the cause, and stops the other streams.
  void report(Failure failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    stop_.request();
  }
  void stream_ended() {
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }
  // Sleeps until `deadline_ns` of now_ns(). Returns false if a stream ended or a stop was requested before.
  bool sleep_until(std::uint64_t deadline_ns) {
    std::unique_lock lock(mutex_);
    const std::uint64_t now = now_ns();
    if (deadline_ns <= now) return ended_ == 0 && !stop_.requested();
    changed_.wait_for(lock, stop_.token(), std::chrono::nanoseconds(deadline_ns - now),
                      [&] { return ended_ > 0; });
    return ended_ == 0 && !stop_.requested();
  }
  // To be called only after the threads were joined.
  std::optional<Failure> failure() const { return failure_; }

 private:
  std::atomic<Phase> phase_{Phase::kWarmUp};
  ChainedStop stop_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  int ended_ = 0;
  std::optional<Failure> failure_;
};

// One stream of the sending side.
struct Outbound {
  ThreadMeter meter;
  std::uint64_t copied = 0;
};

// Sends blocks until the run is over, then the last block, and waits until the other side has read
// everything.
Break send_stream(TcpRun& run, int fd, Blocks& blocks, bool zero_copy, Outbound& outbound) {
  const std::stop_token stop = run.stop();
  ThreadMeter& meter = outbound.meter;
  std::optional<ZeroCopySender> without_copy;
  // One block may take several calls. Half of the kept blocks leaves room for that.
  if (zero_copy) without_copy.emplace(fd, Blocks::kKept / 2);
  const auto send = [&](std::span<iovec> parts) {
    return without_copy && without_copy->enabled() ? without_copy->send_all(parts, kSenderPatience, stop)
                                                   : send_all(fd, parts, kSenderPatience, stop);
  };
  while (run.phase() != Phase::kOver) {
    meter.follow(run.phase());
    if (stop.stop_requested()) return Break::kStopped;
    if (const Break why = send(blocks.next(false)); why != Break::kNone) return why;
  }
  meter.follow(Phase::kOver);
  // A stop ended the run early: do not send the last block, which would mark the run as complete.
  if (stop.stop_requested()) return Break::kStopped;
  if (const Break why = send(blocks.next(true)); why != Break::kNone) return why;
  if (without_copy) {
    if (const Break why = without_copy->drain(kSenderPatience, stop); why != Break::kNone) return why;
    outbound.copied = without_copy->copied();
  }
  shutdown(fd, SHUT_WR);
  const Break why = await_close(fd, kSenderPatience, stop);
  return why == Break::kClosed ? Break::kNone : why;
}

void add_tcp_info(TcpSent& sent, const std::vector<Socket>& sockets, int sign) {
  for (const Socket& socket : sockets) {
    const TcpInfo info = read_tcp_info(socket.get());
    sent.packets += static_cast<std::uint64_t>(sign) * info.segments_sent;
    sent.lost += static_cast<std::uint64_t>(sign) * info.retransmitted;
    sent.round_trip_us = info.round_trip_us;
    sent.mtu = info.mtu;
  }
}

// One stream of the receiving side. The thread that keeps the time reads `bytes` during the run, so it has a
// cache line of its own.
struct Inbound {
  alignas(64) std::atomic<std::uint64_t> bytes{0};
  std::uint64_t checked = 0;
  std::uint64_t wrong = 0;
  ThreadMeter meter;
};

Break receive_stream(TcpRun& run, int fd, Blocks& blocks, Inbound& inbound) {
  const std::stop_token stop = run.stop();
  std::vector<std::byte> block(blocks.size());
  while (true) {
    for (std::size_t filled = 0; filled < block.size();) {
      std::size_t got = 0;
      const Break why = receive_some(fd, std::span(block).subspan(filled), got, kReceiverPatience, stop);
      if (why != Break::kNone) return why;
      filled += got;
      inbound.bytes.fetch_add(got, std::memory_order_relaxed);
    }
    const Phase phase = run.phase();
    inbound.meter.follow(phase);
    const BlockCheck check = blocks.check(block);
    inbound.wrong += check.wrong;
    if (phase == Phase::kMeasuring) inbound.checked += check.checked;
    if (check.last) return Break::kNone;
    if (stop.stop_requested()) return Break::kStopped;
  }
}

// Reads the streams' counters every 100 ms until the measured time is over or a stream ends.
void keep_time(TcpRun& run, const TcpPlan& plan, std::deque<Inbound>& inbound, TcpReceived& received) {
  const auto total = [&] {
    std::uint64_t sum = 0;
    for (const Inbound& one : inbound) sum += one.bytes.load(std::memory_order_relaxed);
    return sum;
  };
  bool running = run.sleep_until(now_ns() + to_ns(plan.warmup));
  run.enter(Phase::kMeasuring);
  const std::uint64_t start = now_ns();
  const std::uint64_t end = start + to_ns(plan.seconds);
  std::uint64_t before_ns = start;
  std::uint64_t before_bytes = total();
  while (running && before_ns < end) {
    running = run.sleep_until(std::min(before_ns + to_ns(kInterval), end));
    const std::uint64_t now = now_ns();
    const std::uint64_t bytes = total();
    // An interval of less than half the length, at the end or because a stream ended, is not counted: it
    // would show a wrong rate.
    if (now - before_ns >= to_ns(kInterval / 2)) {
      received.intervals.push_back(static_cast<double>(bytes - before_bytes) * 8e9 /
                                   static_cast<double>(now - before_ns));
      received.bytes += bytes - before_bytes;
      received.seconds = static_cast<double>(now - start) / 1e9;
    }
    before_ns = now;
    before_bytes = bytes;
  }
  run.enter(Phase::kOver);
}

}  // namespace

void add_totals(TcpTotals& totals, const TcpInfo& info) {
  totals.sent_bytes += info.bytes_sent;
  totals.sent_segments += info.all_segments_sent;
  totals.received_bytes += info.bytes_received;
  totals.received_segments += info.all_segments_received;
}

TcpSent tcp_send(const TcpTarget& target, const TcpPlan& plan, std::stop_token stop) {
  TcpSent sent;
  TcpRun run(stop);
  std::vector<Socket> sockets;
  std::deque<Blocks> blocks;
  for (int i = 0; i < plan.streams; ++i) {
    auto socket =
        connect_stream(target.from, target.to, target.port, target.token, i, kConnectDeadline, stop);
    if (!socket) {
      sent.failure = connect_failure(target.peer, socket.error().text);
      return sent;
    }
    sockets.push_back(std::move(*socket));
    blocks.emplace_back(plan.message_bytes, plan.seed, i);
  }
  std::vector<Outbound> outbound(sockets.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < sockets.size(); ++i)
      threads.emplace_back([&, i] {
        const int fd = sockets[i].get();
        if (const Break why = send_stream(run, fd, blocks[i], plan.zero_copy, outbound[i]);
            why != Break::kNone)
          run.report(send_failure(target.peer, why, fd));
        outbound[i].meter.follow(Phase::kOver);
        run.stream_ended();
      });
    const std::uint64_t start = now_ns();
    if (run.sleep_until(start + to_ns(plan.warmup))) {
      add_tcp_info(sent, sockets, -1);
      run.enter(Phase::kMeasuring);
      run.sleep_until(start + to_ns(plan.warmup + plan.seconds + kSlack));
      add_tcp_info(sent, sockets, +1);
    }
    run.enter(Phase::kOver);
  }
  for (const Socket& socket : sockets) add_totals(sent.totals, read_tcp_info(socket.get()));
  for (const Outbound& one : outbound) {
    sent.cpu_seconds += one.meter.seconds();
    sent.copied += one.copied;
  }
  sent.failure = run.failure();
  return sent;
}

TcpReceived tcp_receive(const TcpDoor& door, const TcpPlan& plan, std::string_view peer,
                        std::stop_token stop) {
  TcpReceived received;
  TcpRun run(stop);
  auto sockets = accept_streams(door.listener, door.token, plan.streams, kConnectDeadline, stop);
  if (!sockets) {
    received.failure = connect_failure(peer, sockets.error().text);
    return received;
  }
  std::deque<Inbound> inbound(sockets->size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < sockets->size(); ++i)
      threads.emplace_back([&, i] {
        Blocks blocks(plan.message_bytes, plan.seed, static_cast<int>(i));
        if (const Break why = receive_stream(run, (*sockets)[i].get(), blocks, inbound[i]);
            why != Break::kNone)
          run.report(receive_failure(peer, why));
        inbound[i].meter.follow(Phase::kOver);
        run.stream_ended();
        (*sockets)[i] = Socket();
      });
    keep_time(run, plan, inbound, received);
  }
  for (const Inbound& one : inbound) {
    received.cpu_seconds += one.meter.seconds();
    received.checked_bytes += one.checked;
    received.wrong_bytes += one.wrong;
  }
  received.failure = run.failure();
  if (received.wrong_bytes > 0) received.failure = verify_failure(peer, received.wrong_bytes);
  return received;
}

}  // namespace railbed
