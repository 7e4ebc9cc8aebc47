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
  std::vector<int> cpus;  // of the adapter's NUMA node, on which engines run; empty: on any
  std::string gpu = {};   // PCI address; empty: host memory
  std::vector<std::string> cuda_files = {};
  bool peer_memory = false;  // nvidia-peermem is loaded
};

// The lifecycle is open, connect, then for each run prepare followed by transfer, receive, ping or echo.
class RdmaSession {
 public:
  // Fails without a library, without the device, at the limit of locked memory. Errors include the remedy.
  static Result<std::shared_ptr<RdmaSession>> open(const RdmaSetUp& set_up);
  ~RdmaSession();

  RdmaEnd end() const;
  int inline_bytes() const;
  bool huge_pages() const;
  MemoryRoute route() const;
  const std::vector<std::string>& refusals() const;  // why better routes are not possible
  Result<void> connect(const RdmaConnect& request);

  // Fills the half to send from and poisons the half to receive into. For operations with a receiver also
  // posts receives, which a session can do only once. Fails for a run that the session cannot do.
  Result<void> prepare(const RdmaRun& run);
  // The functions below do not check the run. Callers must check this first.
  bool is_prepared_for(const RdmaRun& run) const;
  // Writes, reads or sends for the time of the run, then waits for the messages in flight.
  RdmaTransferred transfer(const RdmaRun& run, std::stop_token stop);
  // Receives messages until finish() sets their number and all have arrived.
  RdmaTransferred receive(const RdmaRun& run, std::stop_token stop);
  RdmaChecked check(const RdmaCheck& check) const;
  RdmaPinged ping(const RdmaRun& run, std::stop_token stop);
  // Returns each ping until finish() is called.
  RdmaDone echo(const RdmaRun& run, std::stop_token stop);
  void finish(std::vector<std::uint64_t> messages);
  // Waits until a stop is requested, or until the adapter reports an error: its port went down, or the
  // device failed. May run at the same time as the functions above.
  RdmaDone watch(std::stop_token stop) const;

  struct State;  // verbs_state.h
  const State& state() const { return *state_; }

 private:
  explicit RdmaSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace railbed
