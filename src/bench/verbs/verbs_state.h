// The objects of libibverbs that a session holds, for the verbs_*.cc files.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/verbs/gpu_memory.h"
#include "bench/verbs/message_slots.h"
#include "bench/verbs/rdma_session.h"
#include "bench/verbs/verbs_library.h"
#include "bench/verbs/verbs_memory.h"

namespace railbed {

// The bytes that the adapter puts before every received datagram: ibv_post_recv(3).
inline constexpr std::uint32_t kGlobalHeader = 40;
inline constexpr std::size_t kHeaderRoom = 64;

// A completion queue and the channel that reports its completions.
struct CompletionQueue {
  ibv_cq* cq = nullptr;
  ibv_comp_channel* channel = nullptr;
};

// A thread's part of a session: queues of its own, so that no thread waits for another.
struct Lane {
  CompletionQueue sends;  // of sends, writes and reads
  CompletionQueue receives;
};

struct RdmaSession::State {
  const VerbsLibrary* verbs = nullptr;
  RdmaSetUp set_up;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  std::vector<Lane> lanes;  // queue pair i belongs to lane i modulo their number
  PinnedMemory memory;
  std::unique_ptr<GpuMemory> gpu;  // holds the messages; `memory` is its image. Null: `memory` holds them
  MemoryRoute route = MemoryRoute::kHost;
  std::vector<std::string> refusals;
  std::uint64_t shift = 0;  // adapter's address of a byte − its address in `memory`, modulo 2^64
  ibv_mr* mr = nullptr;
  std::vector<ibv_qp*> queue_pairs;
  std::vector<std::uint32_t> psns;
  std::vector<ibv_ah*> ways;  // address handles of datagrams, one for each queue pair
  std::uint32_t inline_bytes = 0;
  int reads = 1;  // RDMA reads at the same time on a queue pair
  std::string peer;
  RdmaEnd remote;
  int mtu = 0;
  RdmaRun prepared;  // the run for which memory was filled
  bool receives_posted = false;
  // The argument of finish(). receive() and echo() check the flag from time to time.
  std::atomic<bool> finished{false};
  std::mutex finish_mutex;
  std::vector<std::uint64_t> finish_messages;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  std::span<std::byte> outgoing() const { return memory.bytes().first(set_up.half_bytes); }
  std::span<std::byte> incoming() const {
    return memory.bytes().subspan(set_up.half_bytes, set_up.half_bytes);
  }
  // Returns whether messages are in host memory, where the processor can read and number them.
  bool in_host_memory() const { return gpu == nullptr; }
  bool staged() const { return route == MemoryRoute::kStaged; }
  std::uint64_t address_of(std::span<const std::byte> bytes) const {
    return reinterpret_cast<std::uint64_t>(bytes.data()) + shift;
  }
  ibv_sge piece(std::span<const std::byte> bytes) const {
    return {address_of(bytes), static_cast<std::uint32_t>(bytes.size()), mr->lkey};
  }
  // The place for the network headers of received datagrams, which are not read.
  std::span<std::byte> header_room() const {
    return memory.bytes().subspan(2 * set_up.half_bytes, kHeaderRoom);
  }
  MessageSlots slots(std::span<std::byte> half, const RdmaRun& run) const {
    return MessageSlots(half, run.message_bytes, set_up.queue_pairs, set_up.slots, mtu, run.seed);
  }
  // Returns the number of receives that are posted on each queue pair.
  std::uint64_t receive_depth(const MessageSlots& slots) const {
    return static_cast<std::uint64_t>(std::min(slots.count(), set_up.depth));
  }
  // Posts receives for `count` messages, from number `first`.
  void post_receives(const MessageSlots& slots, std::size_t queue_pair, std::uint64_t first,
                     std::uint64_t count) const;
  // Sets the request's operation and destination: `remote` bytes into the other end's half.
  void address(ibv_send_wr& request, RdmaOperation operation, std::size_t queue_pair,
               std::size_t remote) const;
};

// verbs_register.cc: maps or allocates memory and registers it.
Result<void> register_memory(RdmaSession::State& state);
// Fails if the operation is not possible with the route of the session's memory.
Result<void> allowed_by_route(const RdmaSession::State& state, RdmaOperation operation);
// Copies both halves into the GPU's memory. Overwrites the sending half of the image.
Result<void> fill_gpu(RdmaSession::State& state);
// Returns the error of a failed call with the system's text; for ENOMEM, also the remedy for too little
// locked memory.
tl::unexpected<Error> failed(std::string_view what, int error);

// Restricts the calling thread to these processors. Does nothing if the list is empty.
void pin_to(const std::vector<int>& cpus);

// Returns the first error that the adapter reported since the last call; empty if there is none. Waits at
// most `wait_ms` for one.
std::optional<Failure> adapter_trouble(const RdmaSession::State& state, int wait_ms);

inline constexpr std::uint64_t kLongestSilence = 10'000'000'000;  // ns
inline constexpr std::uint64_t kNoLimit = UINT64_MAX;             // the caller's own timeout ends the wait

// Polls a completion queue, and limits the time without a completion. For one thread.
class Completions {
 public:
  // `doing` precedes the peer's name in error messages: "writing to". `longest_silence` is in ns.
  Completions(const RdmaSession::State& state, const CompletionQueue& queue, std::string_view doing,
              std::stop_token stop, std::uint64_t longest_silence = kLongestSilence);

  // Takes at most one batch of completions and passes each good one to `take`. Returns false once a
  // completion has failed or a stop was requested.
  template <class Take>
  bool poll(Take take) {
    std::array<ibv_wc, kBatch> batch;
    const int count = ibv_poll_cq(queue_.cq, kBatch, batch.data());
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = batch[static_cast<std::size_t>(i)];
      if (note(completion)) take(completion);
    }
    return count >= 0 && !status_ && !stop_.stop_requested();
  }
  // The same, but sets `done[queue pair]` to the largest number of messages that has completed.
  bool poll(std::vector<std::uint64_t>& done) {
    return poll([&](const ibv_wc& completion) {
      auto& counted = done[completion.wr_id >> 48];
      counted = std::max(counted, completion.wr_id & 0xffff'ffff'ffff);
    });
  }
  // To be called when poll() found nothing; the caller then polls again. Returns false if nothing has
  // completed for too long, or if the adapter reported an error.
  bool wait();
  // Returns why poll() or wait() returned false.
  Failure failure() const;

 private:
  static constexpr int kBatch = 32;
  bool note(const ibv_wc& completion);
  void sleep();
  Failure completion_failure() const;
  const RdmaSession::State& state_;
  const CompletionQueue& queue_;
  std::string_view doing_;
  std::stop_token stop_;
  std::uint64_t longest_silence_;
  bool sleeps_;
  bool armed_ = false;
  std::uint64_t idle_polls_ = 0;
  std::uint64_t last_completion_;
  std::uint64_t silent_ns_ = 0;
  std::optional<ibv_wc_status> status_;
  std::uint32_t vendor_error_ = 0;
  std::optional<Failure> trouble_;
};

// Divides a transfer into intervals of at least 100 ms. Each ends with a message; otherwise slow links with
// large messages would seem to transfer in steps.
class IntervalMeter {
 public:
  void begin(std::uint64_t now, std::uint64_t messages);
  void progress(std::uint64_t now, std::uint64_t messages, std::uint64_t message_bytes,
                std::vector<double>& intervals);

 private:
  std::uint64_t since_ = 0;
  std::uint64_t messages_ = 0;
};

// wr_id: queue pair in the upper 16 bits, messages posted so far in the lower 48.
constexpr std::uint64_t work_id(std::size_t queue_pair, std::uint64_t posted) {
  return static_cast<std::uint64_t>(queue_pair) << 48 | posted;
}

}  // namespace railbed
