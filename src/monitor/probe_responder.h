// Answers other monitors' probes, on the address of each rail and nowhere else. Strangers get a line and
// nothing more; whoever knows the secret gets what probe_protocol.h lists, a few at a time, for a short
// while.
#pragma once

#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "campaign/caller.h"
#include "host/host.h"
#include "monitor/job_gate.h"
#include "monitor/prober.h"

namespace railbed {

class ProbeResponder {
 public:
  // An address that is not there yet is waited for.
  ProbeResponder(ProberOptions options, std::shared_ptr<Host> host, std::shared_ptr<JobGate> gate, Hear note);
  ~ProbeResponder();

  ProbeService service() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::stop_source stop_;
  std::vector<std::jthread> doors_;
};

}  // namespace railbed
