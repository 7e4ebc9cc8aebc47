// Probes the rails of a watched machine: responds to the probes of its peers, makes its own round after
// round, and exports the results.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "campaign/caller.h"
#include "monitor/job_gate.h"
#include "monitor/metrics/collector.h"
#include "monitor/metrics/node_metrics.h"
#include "monitor/probe/probe_responder.h"
#include "monitor/probe/prober.h"

namespace railbed {

inline constexpr std::size_t kLeastProbeSecret = fleet::kLeastSecret;

struct ProbeOptions {
  std::string cluster;  // path of cluster.yaml
  std::string node;     // this machine's name there
  std::string secret;   // shared by all monitors of the cluster
  int port = kProbePort;
  std::chrono::seconds every{60};
  bool beside_jobs = false;
};

// Returns the plan. Fails if nothing could be probed: no cluster.yaml, no such node, or no rail with
// addresses.
Result<ProbePlan> plan_probes(const ProbeOptions& options);
// Makes one round now, without responding to others.
ProbeRound probe_once(const ProbePlan& plan, const ProbeOptions& options, const std::stop_token& stop);

// See the head of this file.
class ProbeWatch {
 public:
  // Returns the last look at the machine, from which the lower bound of a round trip is computed; null if
  // there is none.
  using Look = std::function<std::shared_ptr<const NodeLook>()>;
  // Starts the responder and the rounds.
  static Result<std::unique_ptr<ProbeWatch>> open(const ProbeOptions& options, Look look, Hear note);

  // Adds the probes and the health of the collector to the state that a scrape exports.
  void add_to(NodeState& state) const;

 private:
  struct Shared;
  ProbeWatch(std::shared_ptr<Shared> shared, const ProbeOptions& options, Hear note);

  std::shared_ptr<Shared> shared_;
  ProbeResponder responder_;
  Collector collector_;
};

}  // namespace railbed
