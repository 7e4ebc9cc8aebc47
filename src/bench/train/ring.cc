// The ring all-reduce: n ranks have the same number of bytes each, and all need the sum. The bytes are
// divided into n chunks. In each step every rank sends to the next and receives from the one before, all at
// the same time.
//
// Reduce-scatter, n − 1 steps: each rank sends a chunk, and adds the bytes that arrive to its own copy of the
// chunk before; in the next step it sends that sum. So a chunk travels around the ring and collects one
// rank's part at each stop. At the end every rank holds one complete chunk. All-gather, n − 1 more steps: the
// complete chunks go around once and are copied.
//
// So each rank sends 2 (n − 1) / n times the bytes, which is less than twice for any number of ranks, and
// every link is busy all the time. This is why NCCL and Gloo do the same, and why this time is comparable
// with theirs. The additions run during the transfer, on the bytes that have arrived so far.
#include "bench/train/ring.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "bench/core/clock.h"

namespace railbed {
namespace {

constexpr std::size_t kLine = 64;

// Adds one line at a time, so that the compiler can use vector instructions.
template <class Word>
void add_lines(std::span<const std::byte> own, std::span<std::byte> sum) {
  using Line = std::array<Word, kLine / sizeof(Word)>;
  for (std::size_t at = 0; at + kLine <= sum.size(); at += kLine) {
    Line a;
    Line b;
    std::memcpy(a.data(), own.data() + at, kLine);
    std::memcpy(b.data(), sum.data() + at, kLine);
    for (std::size_t i = 0; i < a.size(); ++i) b[i] = static_cast<Word>(a[i] + b[i]);
    std::memcpy(sum.data() + at, b.data(), kLine);
  }
}

void add(std::span<const std::byte> own, std::span<std::byte> sum, int word_bytes) {
  if (word_bytes == 2)
    add_lines<std::uint16_t>(own, sum);
  else
    add_lines<std::uint32_t>(own, sum);
}

}  // namespace

Ring::Ring(int rank, int ranks, std::unique_ptr<RingLinks> links, std::chrono::milliseconds patience,
           std::stop_token stop)
    : rank_(rank), ranks_(ranks), links_(std::move(links)), patience_(patience), stop_(std::move(stop)) {}

std::span<const std::byte> Ring::chunk(std::span<const std::byte> all, int index) const {
  const auto ranks = static_cast<std::size_t>(ranks_);
  const std::size_t lines = all.size() / kLine;
  const std::size_t i = static_cast<std::size_t>((index % ranks_ + ranks_) % ranks_);
  const std::size_t begin = lines * i / ranks * kLine;
  return all.subspan(begin, lines * (i + 1) / ranks * kLine - begin);
}

std::span<std::byte> Ring::chunk(std::span<std::byte> all, int index) const {
  const auto found = chunk(std::span<const std::byte>(all), index);
  return all.subspan(static_cast<std::size_t>(found.data() - all.data()), found.size());
}

bool Ring::all_reduce(std::span<const std::byte> input, std::span<std::byte> output, int word_bytes) {
  // After step s a rank holds the sum of chunk rank − s − 1 over s + 2 ranks.
  for (int s = 0; s + 1 < ranks_; ++s) {
    const int sent = rank_ - s;
    const auto send = s == 0 ? chunk(input, sent) : std::span<const std::byte>(chunk(output, sent));
    if (!exchange(send, chunk(output, sent - 1), chunk(input, sent - 1), word_bytes)) return false;
  }
  for (int s = 0; s + 1 < ranks_; ++s) {
    const int sent = rank_ + 1 - s;
    if (!exchange(chunk(output, sent), chunk(output, sent - 1), {}, word_bytes)) return false;
  }
  return true;
}

std::optional<bool> Ring::agree(bool go_on) {
  // The word goes around twice: once to find that all ranks have arrived, once more to release them.
  std::byte word{static_cast<unsigned char>(go_on ? 1 : 0)};
  for (int round = 0; round < 2; ++round) {
    const bool first = rank_ == 0;
    if (first && !exchange({&word, 1}, {}, {}, 1)) return std::nullopt;
    if (!exchange({}, {&word, 1}, {}, 1)) return std::nullopt;
    if (!first && !exchange({&word, 1}, {}, {}, 1)) return std::nullopt;
  }
  return word != std::byte{0};
}

bool Ring::exchange(std::span<const std::byte> send, std::span<std::byte> receive,
                    std::span<const std::byte> own, int word_bytes) {
  std::size_t sent = 0;
  std::size_t received = 0;
  std::size_t added = 0;
  std::uint64_t last = now_ns();
  while (sent < send.size() || received < receive.size()) {
    const auto moved = links_->move(send.subspan(sent), receive.subspan(received));
    if (stop_.stop_requested()) return fail(stopped_failure());
    if (!moved) return fail(links_->broken());
    sent += moved->sent;
    received += moved->received;
    if (!own.empty()) {
      const std::size_t whole = received / kLine * kLine;
      add(own.subspan(added, whole - added), receive.subspan(added, whole - added), word_bytes);
      added = whole;
    }
    if (moved->sent + moved->received > 0) last = now_ns();
    if (now_ns() - last > static_cast<std::uint64_t>(patience_.count()) * 1'000'000)
      return fail(links_->stalled(sent < send.size(), patience_));
  }
  return true;
}

bool Ring::fail(Failure why) {
  failure_ = std::move(why);
  return false;
}

}  // namespace railbed
