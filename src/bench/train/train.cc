#include "bench/train/train.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "bench/core/clock.h"
#include "bench/core/pattern.h"
#include "bench/tcp/tcp_common.h"
#include "bench/train/ring.h"

namespace railbed {
namespace {

constexpr std::size_t kBufferLine = 64;
constexpr std::uint64_t kLargestBucket = std::uint64_t{256} << 20;
constexpr std::size_t kMostBuckets = 100'000;
constexpr double kLongestStepSeconds = 600;
// Buckets begin at different places of the gradients, so that the bytes of an earlier bucket are not taken
// for the sum.
constexpr std::size_t kTrainShifts = 61;
// One line in this many is compared in each bucket; the next round compares others.
constexpr std::size_t kCheckStride = 64;

// Sleeps until `deadline_ns` of now_ns(), or until a stop is requested. This simulates the GPU's computing,
// during which the processor is free for the network.
void wait_until(std::uint64_t deadline_ns, const std::stop_token& stop) {
  constexpr std::uint64_t kSlice = 50'000'000;
  for (std::uint64_t now = now_ns(); now < deadline_ns && !stop.stop_requested(); now = now_ns()) {
    const timespec left{0, static_cast<long>(std::min(deadline_ns - now, kSlice))};
    nanosleep(&left, nullptr);
  }
}

std::size_t padded(std::uint64_t bytes) {
  return (static_cast<std::size_t>(bytes) + kBufferLine - 1) / kBufferLine * kBufferLine;
}

template <class Word>
void scale(std::vector<std::byte>& words, std::uint64_t factor) {
  for (std::size_t at = 0; at + sizeof(Word) <= words.size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, words.data() + at, sizeof word);
    word = static_cast<Word>(word * factor);
    std::memcpy(words.data() + at, &word, sizeof word);
  }
}

std::uint64_t largest_bucket(const TrainRun& run) {
  std::uint64_t largest = 0;
  for (const Bucket& bucket : run.step.buckets) largest = std::max(largest, bucket.bytes);
  return largest;
}

// Gradients with a known sum: rank r holds r + 1 times a pattern that all n ranks compute from the seed, so
// the sum is n (n + 1) / 2 times the pattern.
class Gradients {
 public:
  explicit Gradients(const TrainRun& run) {
    const std::uint64_t largest = largest_bucket(run);
    const std::size_t size = padded(largest) + kTrainShifts * kBufferLine;
    own_ = make_pattern(size, run.seed);
    sum_ = own_;
    const auto ranks = static_cast<std::uint64_t>(run.ranks);
    multiply(run.word_bytes, own_, static_cast<std::uint64_t>(run.rank) + 1);
    multiply(run.word_bytes, sum_, ranks * (ranks + 1) / 2);
    got_.resize(padded(largest));
  }
  std::span<const std::byte> own(std::size_t bucket, std::uint64_t bytes) const {
    return std::span(own_).subspan(shift(bucket), padded(bytes));
  }
  std::span<std::byte> got(std::uint64_t bytes) { return std::span(got_).first(padded(bytes)); }
  // Compares every kCheckStride-th line.
  void check(std::size_t bucket, std::uint64_t bytes, std::size_t round, TrainRan& ran) const {
    const std::size_t size = padded(bytes);
    for (std::size_t at = (round % kCheckStride) * kBufferLine; at < size; at += kCheckStride * kBufferLine) {
      ran.checked_bytes += kBufferLine;
      ran.wrong_bytes += count_wrong(std::span(got_).subspan(at, kBufferLine),
                                     std::span(sum_).subspan(shift(bucket) + at, kBufferLine));
    }
  }

 private:
  static std::size_t shift(std::size_t bucket) { return bucket % kTrainShifts * kBufferLine; }
  static void multiply(int word_bytes, std::vector<std::byte>& words, std::uint64_t factor) {
    if (word_bytes == 2)
      scale<std::uint16_t>(words, factor);
    else
      scale<std::uint32_t>(words, factor);
  }
  std::vector<std::byte> own_;
  std::vector<std::byte> sum_;
  std::vector<std::byte> got_;
};

// The number of buckets that the computing thread has made ready for the exchanging one. Thread-safe.
class Ready {
 public:
  void set(std::size_t count) {
    const std::lock_guard lock(mutex_);
    count_ = count;
    changed_.notify_all();
  }
  // Returns false if a stop was requested before.
  bool wait_for(std::size_t count, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    return changed_.wait(lock, stop, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::size_t count_ = 0;
};

class Rehearsal {
 public:
  Rehearsal(const TrainRun& run, std::unique_ptr<RingLinks> links, std::stop_token stop)
      : run_(run),
        stop_(stop),
        ring_(run.rank, run.ranks, std::move(links), ring_patience(run.step), stop),
        gradients_(run) {}

  TrainRan rehearse() {
    const std::uint64_t end = now_ns() + to_ns(run_.seconds);
    for (int round = 0; round < kMostRounds; ++round) {
      const auto go_on = ring_.agree(round <= kFewestRounds || now_ns() < end);
      if (!go_on || !*go_on || !one_round(round)) break;
    }
    ran_.failure = ring_.failure();
    if (!ran_.failure && stop_.stop_requested()) ran_.failure = stopped_failure();
    if (ran_.wrong_bytes > 0) ran_.failure = verify_failure("the ring", ran_.wrong_bytes);
    if (ran_.failure) ran_.kind = ran_.failure->kind;
    return std::move(ran_);
  }

 private:
  // Runs one round. Round 0 is the warm-up and is not kept.
  bool one_round(int round) {
    round_ = static_cast<std::size_t>(round);
    const auto seconds_of = [](const auto& part) -> std::optional<double> {
      const std::uint64_t start = now_ns();
      if (!part(start)) return std::nullopt;
      return static_cast<double>(now_ns() - start) / 1e9;
    };
    const auto step = seconds_of([this](std::uint64_t start) { return whole_step(start); });
    if (!step || !ring_.agree(true)) return false;
    const auto exchange = seconds_of([this](std::uint64_t) { return exchange_all(); });
    if (!exchange || !ring_.agree(true)) return false;
    const auto compute = seconds_of([this](std::uint64_t start) { return compute_all(start); });
    if (!compute) return false;
    if (round == 0) return true;
    ran_.step.push_back(*step);
    ran_.exchange.push_back(*exchange);
    ran_.compute.push_back(*compute);
    return true;
  }

  bool exchange_all() {
    ready_.set(run_.step.buckets.size());
    return exchange();
  }

  bool compute_all(std::uint64_t start) {
    wait_until(start + to_ns(run_.step.compute), stop_);
    return !stop_.stop_requested();
  }

  bool whole_step(std::uint64_t start) {
    ready_.set(0);
    bool exchanged = false;
    std::stop_source over;  // ends the waits of this step if the exchange has failed
    {
      const std::jthread exchanging([&] {
        exchanged = exchange();
        if (!exchanged) over.request_stop();
      });
      std::size_t count = 0;
      for (const Bucket& bucket : run_.step.buckets) {
        wait_until(start + to_ns(bucket.ready), over.get_token());
        ready_.set(++count);
      }
      wait_until(start + to_ns(run_.step.compute), over.get_token());
    }
    return exchanged && !stop_.stop_requested();
  }

  // Exchanges and checks every bucket as soon as it is ready.
  bool exchange() {
    const auto& buckets = run_.step.buckets;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      if (!ready_.wait_for(i + 1, stop_)) return false;
      const auto got = gradients_.got(buckets[i].bytes);
      if (!ring_.all_reduce(gradients_.own(i, buckets[i].bytes), got, run_.word_bytes)) return false;
      gradients_.check(i, buckets[i].bytes, round_, ran_);
    }
    return true;
  }

  const TrainRun& run_;
  std::stop_token stop_;
  Ring ring_;
  Gradients gradients_;
  Ready ready_;
  TrainRan ran_;
  std::size_t round_ = 0;
};

}  // namespace

std::chrono::milliseconds ring_patience(const Step& step) {
  return kReceiverPatience + std::chrono::milliseconds(static_cast<std::int64_t>(step.compute * 2000));
}

// The rank's own gradients, the expected sums and the received sums.
std::uint64_t memory_of(const TrainRun& run) {
  return 3 * (padded(largest_bucket(run)) + kTrainShifts * kBufferLine);
}

Result<void> check_run(const TrainRun& run) {
  const auto refuse = [](std::string text) { return fail(ErrorKind::kBadInput, std::move(text)); };
  if (run.ranks < 2 || run.ranks > kMostRanks || run.rank < 0 || run.rank >= run.ranks)
    return refuse(fmt::format("ranks: 2 to {}", kMostRanks));
  if (run.word_bytes != 2 && run.word_bytes != 4) return refuse("bytes of a gradient: 2 or 4");
  if (!(run.seconds > 0 && run.seconds <= 3600)) return refuse("duration: more than 0, at most 3600 s");
  if (!(run.step.compute >= 0 && run.step.compute <= kLongestStepSeconds))
    return refuse(fmt::format("computing time of a step: at most {} s", kLongestStepSeconds));
  if (run.step.buckets.empty() || run.step.buckets.size() > kMostBuckets)
    return refuse(
        fmt::format("{} buckets: 1 to {}; fewer by larger --buckets", run.step.buckets.size(), kMostBuckets));
  double before = 0;
  for (const Bucket& bucket : run.step.buckets) {
    if (bucket.bytes == 0 || bucket.bytes > kLargestBucket)
      return refuse(fmt::format("bytes of a bucket: 1 to {}", kLargestBucket));
    if (!(bucket.ready >= before && bucket.ready <= kLongestStepSeconds))
      return refuse("buckets: not in order");
    before = bucket.ready;
  }
  return {};
}

TrainRan train_over(std::unique_ptr<RingLinks> links, const TrainRun& run, std::stop_token stop) {
  return Rehearsal(run, std::move(links), std::move(stop)).rehearse();
}

TrainRan train_over_tcp(const TcpDoor& door, const TrainRun& run, std::stop_token stop) {
  TrainRan ran;
  auto next =
      connect_stream(run.next.from, run.next.to, run.next.port, run.next.token, 0, kConnectDeadline, stop);
  if (!next) {
    ran.failure = connect_failure(run.next.peer, next.error().text);
    return ran;
  }
  auto previous = accept_streams(door.listener, door.token, 1, kConnectDeadline, stop);
  if (!previous) {
    ran.failure = connect_failure(run.previous, previous.error().text);
    return ran;
  }
  return train_over(
      tcp_ring_links(std::move(*next), std::move(previous->front()), {run.next.peer, run.previous}), run,
      stop);
}

}  // namespace railbed
