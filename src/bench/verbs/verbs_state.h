// What a session holds of libibverbs, for the verbs_*.cc files.
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

// Before every datagram: ibv_post_recv(3).
inline constexpr std::uint32_t kGlobalHeader = 40;
inline constexpr std::size_t kHeaderRoom = 64;

// A completion queue and the channel that tells of its completions.
struct CompletionQueue {
  ibv_cq* cq = nullptr;
  ibv_comp_channel* channel = nullptr;
};

// A thread's share of a session: queues of its own, so that no thread waits for another.
struct Lane {
  CompletionQueue sends;  // writes and reads too
  CompletionQueue receives;
};

struct RdmaSession::State {
  const VerbsLibrary* verbs = nullptr;
  RdmaSetUp set_up;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  std::vector<Lane> lanes;  // queue pair i belongs to lane i modulo their number
  PinnedMemory memory;
  std::unique_ptr<GpuMemory> gpu;  // what messages lie in, if any; `memory` then is its image in host memory
  MemoryRoute route = MemoryRoute::kHost;
  std::vector<std::string> refusals;
  std::uint64_t shift = 0;  // from a place in `memory` to where the adapter finds it
  ibv_mr* mr = nullptr;
  std::vector<ibv_qp*> queue_pairs;
  std::vector<std::uint32_t> psns;
  std::vector<ibv_ah*> ways;  // of datagrams, one a queue pair
  std::uint32_t inline_bytes = 0;
  int reads = 1;  // at once
  std::string peer;
  RdmaEnd remote;
  int mtu = 0;
  RdmaRun prepared;  // the run that memory was filled for
  bool receives_posted = false;
  // What finish() said; receive() and echo() look at the flag now and then.
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
  // Whether the processor sees messages where the adapter does, and may number them.
  bool in_host_memory() const { return gpu == nullptr; }
  bool staged() const { return route == MemoryRoute::kStaged; }
  std::uint64_t address_of(std::span<const std::byte> bytes) const {
    return reinterpret_cast<std::uint64_t>(bytes.data()) + shift;
  }
  ibv_sge piece(std::span<const std::byte> bytes) const {
    return {address_of(bytes), static_cast<std::uint32_t>(bytes.size()), mr->lkey};
  }
  // Where the network header of a datagram goes.
  std::span<std::byte> header_room() const {
    return memory.bytes().subspan(2 * set_up.half_bytes, kHeaderRoom);
  }
  MessageSlots slots(std::span<std::byte> half, const RdmaRun& run) const {
    return MessageSlots(half, run.message_bytes, set_up.queue_pairs, set_up.slots, mtu, run.seed);
  }
  // Receives that are posted on each queue pair.
  std::uint64_t receive_depth(const MessageSlots& slots) const {
    return static_cast<std::uint64_t>(std::min(slots.count(), set_up.depth));
  }
  // Posts receives for the messages from `first` on.
  void post_receives(const MessageSlots& slots, std::size_t queue_pair, std::uint64_t first,
                     std::uint64_t count) const;
  // Says what to do on that queue pair, `remote` bytes into the other end's half.
  void address(ibv_send_wr& request, RdmaOperation operation, std::size_t queue_pair,
               std::size_t remote) const;
};

// verbs_register.cc: maps or allocates memory and registers it.
Result<void> register_memory(RdmaSession::State& state);
Result<void> allowed_by_route(const RdmaSession::State& state, RdmaOperation operation);
// Copies both halves into the GPU's memory.
Result<void> fill_gpu(RdmaSession::State& state);
// A call that failed, in the system's words, and what to do about too little locked memory.
tl::unexpected<Error> failed(std::string_view what, int error);

// Runs the calling thread on these processors; empty: leaves it where it is.
void pin_to(const std::vector<int>& cpus);

// The first sign of trouble that the adapter has told of since it was last asked, if any; waits at most
// `wait_ms` for one.
std::optional<Failure> adapter_trouble(const RdmaSession::State& state, int wait_ms);

inline constexpr std::uint64_t kLongestSilence = 10'000'000'000;  // ns
inline constexpr std::uint64_t kNoLimit = UINT64_MAX;             // the caller's own patience ends the wait

// A completion queue, and the patience of whoever waits for it.
class Completions {
 public:
  // `doing` goes before the peer's name in complaints: "writing to". `longest_silence`: ns.
  Completions(const RdmaSession::State& state, const CompletionQueue& queue, std::string_view doing,
              std::stop_token stop, std::uint64_t longest_silence = kLongestSilence);

  // Takes at most one batch and hands each good one to `take`. False once one failed or a stop was requested.
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
  // The same, where `done` counts messages per queue pair.
  bool poll(std::vector<std::uint64_t>& done) {
    return poll([&](const ibv_wc& one) {
      auto& counted = done[one.wr_id >> 48];
      counted = std::max(counted, one.wr_id & 0xffff'ffff'ffff);
    });
  }
  // For when there was nothing to do: poll again afterwards. False when nothing has completed for too long.
  bool wait();
  // Why poll() or wait() said no.
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

// Cuts a transfer in intervals, which end where a message does: else slow links with large messages would
// seem to go in steps.
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
