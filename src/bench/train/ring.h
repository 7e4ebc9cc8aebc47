// A ring of ranks: each sends to the next and receives from the one before. Every wait is bounded.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

#include "bench/train/ring_links.h"
#include "results/measurement.h"

namespace railbed {

// One rank of a ring, for one thread.
class Ring {
 public:
  // `patience` is the longest time without any byte sent or received during an exchange.
  Ring(int rank, int ranks, std::unique_ptr<RingLinks> links, std::chrono::milliseconds patience,
       std::stop_token stop);

  // Sums `input` of all ranks into `output`, as unsigned integers of `word_bytes` (2 or 4) that wrap around:
  // a sum that can be checked to the last bit. Both spans must have one size, the same on every rank and a
  // multiple of 64 bytes. On failure returns false and sets failure().
  bool all_reduce(std::span<const std::byte> input, std::span<std::byte> output, int word_bytes);

  // Waits until all ranks have called it. Returns the argument of rank 0: true to continue. On failure
  // returns nothing and sets failure().
  std::optional<bool> agree(bool go_on);

  const std::optional<Failure>& failure() const { return failure_; }

 private:
  // Sends and receives at the same time. Meanwhile adds `own` to the received bytes, unless `own` is empty.
  bool exchange(std::span<const std::byte> send, std::span<std::byte> receive, std::span<const std::byte> own,
                int word_bytes);
  bool fail(Failure why);
  std::span<const std::byte> chunk(std::span<const std::byte> all, int index) const;
  std::span<std::byte> chunk(std::span<std::byte> all, int index) const;

  int rank_;
  int ranks_;
  std::unique_ptr<RingLinks> links_;
  std::chrono::milliseconds patience_;
  std::stop_token stop_;
  std::optional<Failure> failure_;
};

}  // namespace railbed
