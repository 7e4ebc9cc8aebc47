// What a session holds of libibverbs, for the verbs_*.cc files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/rdma_session.h"
#include "bench/slots.h"
#include "bench/verbs_library.h"
#include "bench/verbs_memory.h"

namespace railbed {

inline constexpr std::size_t kSignalRoom = 64;

struct RdmaSession::State {
  const VerbsLibrary* verbs = nullptr;
  RdmaSetUp set_up;
  int lid = 0;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  PinnedMemory memory;
  ibv_mr* mr = nullptr;
  std::vector<ibv_qp*> queue_pairs;
  std::vector<std::uint32_t> psns;
  std::uint32_t inline_bytes = 0;
  std::string peer;
  RdmaEnd remote;
  int mtu = 0;
  RdmaRun prepared;  // the run that memory was filled for

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  std::span<std::byte> outgoing() const { return memory.bytes().first(set_up.half_bytes); }
  std::span<std::byte> incoming() const {
    return memory.bytes().subspan(set_up.half_bytes, set_up.half_bytes);
  }
  // Latency runs poll two places of the incoming half: the last byte of a message, and a word at the end
  // that says that there will be no more.
  std::byte* last_byte(std::size_t message_bytes) const { return &incoming()[message_bytes - 1]; }
  std::byte* end_word() const { return &incoming()[set_up.half_bytes - kSignalRoom]; }
  void clear_signals(std::size_t message_bytes) const {
    *last_byte(message_bytes) = std::byte{0};
    std::fill_n(end_word(), 8, std::byte{0});
  }
  Slots slots(std::span<std::byte> half, const RdmaRun& run) const {
    return Slots(half, run.message_bytes, set_up.queue_pairs, set_up.depth, mtu, run.seed);
  }
};

// Runs the calling thread on these processors; empty: leaves it where it is.
void pin_to(const std::vector<int>& cpus);

// The first sign of trouble that the adapter has told of since it was last asked, if any; waits at most
// `wait_ms` for one.
std::optional<Failure> adapter_trouble(const RdmaSession::State& state, int wait_ms);

// The completion queue, and the patience of whoever waits for it.
class Completions {
 public:
  Completions(const RdmaSession::State& state, std::stop_token stop);

  // Takes at most one batch; `done` counts messages per queue pair. False once a write failed or a stop was
  // requested.
  bool poll(std::vector<std::uint64_t>& done);
  // For when there was nothing to do. False when nothing has completed for too long.
  bool wait();
  // Why poll() or wait() said no.
  Failure failure() const;

 private:
  void note(const ibv_wc& completion);
  Failure completion_failure() const;
  const RdmaSession::State& state_;
  std::stop_token stop_;
  bool yields_;
  std::uint64_t idle_polls_ = 0;
  std::uint64_t last_completion_;
  std::uint64_t silent_ns_ = 0;
  std::optional<ibv_wc_status> status_;
  std::uint32_t vendor_error_ = 0;
  std::optional<Failure> trouble_;
};

// Below this many processors a spinning thread takes time from the very network stack that it waits for (in
// virtual machines with software RDMA, say), so it yields.
bool few_processors();

// wr_id: queue pair in the upper 16 bits, messages posted so far in the lower 48.
constexpr std::uint64_t work_id(std::size_t queue_pair, std::uint64_t posted) {
  return static_cast<std::uint64_t>(queue_pair) << 48 | posted;
}

}  // namespace railbed
