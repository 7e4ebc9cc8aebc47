// One end of an RDMA measurement: device, memory and queue pairs, from open to close.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/verbs/rdma.h"

namespace railbed {

struct RdmaSetUp {
  std::string device;
  int port = 1;
  std::size_t half_bytes = 0;
  int queue_pairs = 1;
  int depth = 128;
  int slots = 128;
  bool datagrams = false;
  int threads = 1;        // that move data; queue pairs belong to them in turn
  std::vector<int> cpus;  // of the adapter's NUMA node; engines run there. Empty: anywhere
  std::string gpu = {};   // PCI address; empty: host memory
  std::vector<std::string> cuda_files = {};
  bool peer_memory = false;  // nvidia-peermem is loaded
};

class RdmaSession {
 public:
  // Errors say what to do: no library, no such device, locked-memory limit …
  static Result<std::shared_ptr<RdmaSession>> open(const RdmaSetUp& set_up);
  ~RdmaSession();

  RdmaEnd end() const;
  int inline_bytes() const;
  bool huge_pages() const;
  MemoryRoute route() const;
  const std::vector<std::string>& refusals() const;  // of routes that would have been better
  Result<void> connect(const RdmaConnect& request);

  // Fills the half that is sent from, poisons the half that is received into and posts receives for sends,
  // which a session can do once.
  Result<void> prepare(const RdmaRun& run);
  // The others refuse nothing: ask this first.
  bool is_prepared_for(const RdmaRun& run) const;
  // Writes, reads or sends for the time of the run, then waits for what is under way.
  RdmaTransferred transfer(const RdmaRun& run, std::stop_token stop);
  // Takes what the other sends until finish() says how much there is.
  RdmaTransferred receive(const RdmaRun& run, std::stop_token stop);
  RdmaChecked check(const RdmaCheck& check) const;
  RdmaPinged ping(const RdmaRun& run, std::stop_token stop);
  // Until finish().
  RdmaDone echo(const RdmaRun& run, std::stop_token stop);
  void finish(std::vector<std::uint64_t> messages);
  // Until stopped, or until the adapter tells of trouble: its port went down, the device died.
  RdmaDone watch(std::stop_token stop) const;

  struct State;  // verbs_state.h
  const State& state() const { return *state_; }

 private:
  explicit RdmaSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace railbed
