#include "bench/burn/direct_reads.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "bench/core/clock.h"

namespace railbed {

DirectBlocks::DirectBlocks(std::size_t count)
    : at_(mmap(nullptr, count * kReadBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
      bytes_(count * kReadBlock) {}

DirectBlocks::~DirectBlocks() {
  if (is_there()) munmap(at_, bytes_);
}

bool DirectBlocks::is_there() const { return at_ != MAP_FAILED; }

std::span<std::uint64_t> DirectBlocks::block(std::size_t i) const {
  return {static_cast<std::uint64_t*>(at_) + i * kReadWords, kReadWords};
}

DirectReads::DirectReads(int file, std::span<DirectBatch> batches) : file_(file), batches_(batches) {
  if (syscall(SYS_io_setup, batches.size() * kBatchBlocks, &context_) != 0) error_ = errno;
}

DirectReads::~DirectReads() {
  if (error_ == 0) syscall(SYS_io_destroy, context_);
}

void DirectReads::submit(DirectBatch& batch) const {
  std::array<iocb*, kBatchBlocks> requests{};
  for (std::size_t i = 0; i < batch.used; ++i) {
    DirectSlot& slot = batch.slots[i];
    slot.request = {};
    slot.request.aio_lio_opcode = IOCB_CMD_PREAD;
    slot.request.aio_fildes = static_cast<std::uint32_t>(file_);
    slot.request.aio_buf = reinterpret_cast<std::uintptr_t>(slot.memory.data());
    slot.request.aio_nbytes = kReadBlock;
    slot.request.aio_offset = static_cast<std::int64_t>(slot.block * kReadBlock);
    slot.request.aio_data = reinterpret_cast<std::uintptr_t>(&slot);
    requests[i] = &slot.request;
  }
  std::size_t sent = 0;
  while (sent < batch.used) {
    const long taken = syscall(SYS_io_submit, context_, batch.used - sent, requests.data() + sent);
    if (taken < 0 && errno == EINTR) continue;
    if (taken <= 0) break;
    sent += static_cast<std::size_t>(taken);
  }
  const int why = errno;
  for (std::size_t i = sent; i < batch.used; ++i) batch.slots[i].result = -why;
  batch.pending = sent;
}

void DirectReads::count(const DirectSlot* slot) const {
  for (DirectBatch& batch : batches_)
    if (slot >= batch.slots.data() && slot < batch.slots.data() + batch.slots.size()) --batch.pending;
}

bool DirectReads::wait(const DirectBatch& batch, double patience) const {
  std::uint64_t last = now_ns();
  while (batch.pending > 0) {
    std::array<io_event, 2 * kBatchBlocks> events{};
    timespec limit{1, 0};
    const long count_of = syscall(SYS_io_getevents, context_, 1, events.size(), events.data(), &limit);
    if (count_of < 0 && errno != EINTR) return false;
    for (long i = 0; i < count_of; ++i) {
      const io_event& event = events[static_cast<std::size_t>(i)];
      auto* const slot = reinterpret_cast<DirectSlot*>(event.data);
      slot->result = event.res;
      count(slot);
    }
    const std::uint64_t now = now_ns();
    if (count_of > 0) last = now;
    if (static_cast<double>(now - last) * 1e-9 > patience) return false;
  }
  return true;
}

}  // namespace railbed
