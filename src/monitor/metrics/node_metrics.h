// The response to a scrape of one node, as Prometheus text: a pure function of what was collected. Metrics
// have the names of node_exporter and dcgm-exporter if these have one, so that existing dashboards keep
// working. The others start with railbed_. docs/reference/metrics.md lists them all.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/reading.h"
#include "facts/bmc.h"
#include "facts/facts.h"
#include "facts/network/counts.h"
#include "facts/software/gpu_job.h"
#include "model/watched.h"
#include "monitor/events/events.h"
#include "monitor/injection.h"
#include "monitor/live/live_view.h"
#include "results/measurement.h"
#include "verify/verify.h"

namespace railbed {

// One end of a rail on this node.
struct RailView {
  std::string rail = {};
  std::string interface = {};
  std::string device = {};  // "mlx5_0"; empty if there is none
  int port = 0;
  std::string peer = {};             // the other node, if the rail has two; else empty
  std::optional<BitRate> rate = {};  // the rate that the port should have
  std::optional<int> mtu = {};       // the interface's MTU according to cluster.yaml
};

// The facts of one look at the machine, and their verdict.
struct NodeLook {
  Facts facts;
  Findings findings;
  std::vector<RailView> rails;
  double when = 0;                             // Unix seconds
  double seconds = 0;                          // duration of the look
  LiveView live = {};                          // its part of the live page
  std::string picture = {};
  std::shared_ptr<const Watched> watched = {};  // null if nothing was seen over time yet
  std::vector<std::string> not_injected = {};  // lines, of injections without a place
};

// Judges the evidence of exactly one node, and injects what is to be injected.
NodeLook judge_node(Evidence evidence, const std::vector<Injection>& injections = {});

// One measured bandwidth from the history, in bytes per second.
struct PastMeasurement {
  std::string peer = {};
  std::string rail = {};
  std::string operation = {};  // "rdma write", "tcp stream"
  double rate = 0;
  std::optional<double> ceiling = {};
  double when = 0;  // Unix seconds
};

// The result of a collector: whether it succeeded, and how long it took.
struct CollectorHealth {
  std::string name;
  bool success = false;
  double seconds = 0;
};

using GpuReadings = std::map<std::string, Reading<NvmlGpu>>;  // by PCI address

struct ProbeState;  // probe.h

// Everything that the metrics of a node are made from.
struct NodeState {
  std::shared_ptr<const NodeLook> look;  // null if there was no look yet
  bool look_failed = false;              // the last one failed
  std::shared_ptr<const Counts> counts;  // null if not read yet; the same holds for the next pointers
  std::shared_ptr<const GpuReadings> gpus;
  std::shared_ptr<const GpuActivities> activity;
  std::shared_ptr<const GpuJobs> jobs;
  // By interface; only those with a module that can be read.
  std::shared_ptr<const std::map<std::string, Optics>> optics;
  std::shared_ptr<const std::vector<PastMeasurement>> past;
  std::shared_ptr<const ProbeState> probes;  // null if there are no probes
  std::shared_ptr<const BmcFacts> bmc;       // null if the BMC is not read, or was not read yet
  std::vector<CollectorHealth> collectors;
  // Number of events of each kind since the start.
  std::map<std::string, std::uint64_t> events;
  std::map<std::pair<std::string, std::string>, double> since;  // rule, subject → Unix seconds
  // rule, subject → the event of a finding that flaps
  std::map<std::pair<std::string, std::string>, NodeEvent> flapping;
};

// Returns the text of all metrics.
std::string node_metrics(const NodeState& state);

}  // namespace railbed
