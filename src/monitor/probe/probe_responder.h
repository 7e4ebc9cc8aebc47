// Responds to the probes of other monitors, on the address of each rail and nowhere else. A client without
// the secret receives one line and nothing more. A client with the secret may send the requests of
// probe_protocol.h. The number of connections and their duration are limited.
#pragma once

#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "campaign/caller.h"
#include "host/host.h"
#include "monitor/job_gate.h"
#include "monitor/probe/prober.h"

namespace railbed {

// See the head of this file. Thread-safe.
class ProbeResponder {
 public:
  // Starts to listen. If an address does not exist yet, tries again until it does. `note` receives messages
  // for the user, possibly from several threads.
  ProbeResponder(ProberOptions options, std::shared_ptr<Host> host, std::shared_ptr<JobGate> gate, Hear note);
  // Stops listening, and waits at most 2 seconds for open connections to end.
  ~ProbeResponder();

  // Returns the counters so far.
  ProbeService service() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::stop_source stop_;
  std::vector<std::jthread> doors_;
};

}  // namespace railbed
