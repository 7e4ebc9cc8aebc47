// Active probes of a watched machine: it answers its peers' and makes its own, round after round, and tells
// what they gave.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "campaign/caller.h"
#include "monitor/collector.h"
#include "monitor/job_gate.h"
#include "monitor/node_metrics.h"
#include "monitor/probe_responder.h"
#include "monitor/prober.h"

namespace railbed {

inline constexpr std::size_t kLeastProbeSecret = fleet::kLeastSecret;

struct ProbeOptions {
  std::string cluster;  // its file
  std::string node;     // this machine's name there
  std::string secret;   // that all monitors of the cluster know
  int port = kProbePort;
  std::chrono::seconds every{60};
  bool beside_jobs = false;
};

// A complaint where nothing could be probed: no cluster.yaml, no such node, no rail with addresses.
Result<ProbePlan> plan_probes(const ProbeOptions& options);
// One round, now, without answering anybody.
ProbeRound probe_once(const ProbePlan& plan, const ProbeOptions& options, const std::stop_token& stop);

class ProbeWatch {
 public:
  // The last look at the machine, for the least that a probe can take; null: there is none yet.
  using Look = std::function<std::shared_ptr<const NodeLook>()>;
  static Result<std::unique_ptr<ProbeWatch>> open(const ProbeOptions& options, Look look, Hear note);

  // Into what a scrape shows.
  void add_to(NodeState& state) const;

 private:
  struct Shared;
  ProbeWatch(std::shared_ptr<Shared> shared, const ProbeOptions& options, Hear note);

  std::shared_ptr<Shared> shared_;
  ProbeResponder responder_;
  Collector collector_;
};

}  // namespace railbed
