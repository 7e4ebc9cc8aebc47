// Asynchronous reads past the page cache, by the kernel (io_submit(2)), which no thread waits for one by one.
#pragma once

#include <linux/aio_abi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace railbed {

inline constexpr std::size_t kReadBlock = 256 << 10;  // bytes of a read, which begins at a multiple of them
inline constexpr std::size_t kReadWords = kReadBlock / sizeof(std::uint64_t);
inline constexpr std::size_t kBatchBlocks = 16;

// Memory of blocks, aligned for direct reads and writes.
class DirectBlocks {
 public:
  explicit DirectBlocks(std::size_t count);
  ~DirectBlocks();
  DirectBlocks(const DirectBlocks&) = delete;
  DirectBlocks& operator=(const DirectBlocks&) = delete;
  bool is_there() const;
  std::span<std::uint64_t> block(std::size_t i) const;

 private:
  void* at_;
  std::size_t bytes_;
};

struct DirectSlot {
  std::size_t block = 0;  // of the file, counted in blocks
  std::span<std::uint64_t> memory = {};
  std::int64_t result = 0;  // bytes, or a negative errno
  iocb request = {};
};
inline bool is_whole(const DirectSlot& slot) { return slot.result == static_cast<std::int64_t>(kReadBlock); }
struct DirectBatch {
  std::array<DirectSlot, kBatchBlocks> slots;
  std::size_t used = 0;     // of the slots, from the first
  std::size_t pending = 0;  // reads in flight
};

// Reads of one file into batches that stay where they are. The destructor waits for what is in flight.
class DirectReads {
 public:
  DirectReads(int file, std::span<DirectBatch> batches);
  ~DirectReads();
  DirectReads(const DirectReads&) = delete;
  DirectReads& operator=(const DirectReads&) = delete;
  int error() const { return error_; }  // an errno if there are no such reads here; else 0

  // Starts the reads of a batch. One that cannot be started has its errno as its result.
  void submit(DirectBatch& batch) const;
  // Waits for all reads of a batch; those of others may complete meanwhile. Returns false if nothing completed for
  // `patience` seconds.
  bool wait(const DirectBatch& batch, double patience) const;

 private:
  void count(const DirectSlot* slot) const;

  const int file_;
  const std::span<DirectBatch> batches_;
  aio_context_t context_ = 0;
  int error_ = 0;
};

}  // namespace railbed
