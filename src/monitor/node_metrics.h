// What a scrape of one node shows, as Prometheus' text: a pure function of what was collected. Names are
// node_exporter's and dcgm-exporter's where they have one, so that dashboards which exist go on working;
// what they lack begins with railbed_. docs/reference/metrics.md lists them all.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/reading.h"
#include "facts/counts.h"
#include "facts/facts.h"
#include "monitor/live_view.h"
#include "results/measurement.h"
#include "verify/verify.h"

namespace railbed {

// One end of a rail as this node has it.
struct RailView {
  std::string rail = {};
  std::string interface = {};
  std::string device = {};  // "mlx5_0"; empty: none is behind it
  int port = 0;
  std::string peer = {};             // the other node, where the rail has two; else empty
  std::optional<BitRate> rate = {};  // that the port should run at
  std::optional<int> mtu = {};       // of the interface, as cluster.yaml wants it
};

// The whole machine, looked at and judged.
struct NodeLook {
  Facts facts;
  Findings findings;
  std::vector<RailView> rails;
  double when = 0;     // Unix seconds
  double seconds = 0;  // that it took
  LiveView live = {};  // what a live page shows of it
  std::string picture = {};
};

// Of evidence about one node.
NodeLook judge_node(Evidence evidence);

// One measured number of the history, in bytes a second.
struct PastMeasurement {
  std::string peer = {};
  std::string rail = {};
  std::string operation = {};  // "rdma write", "tcp stream"
  double rate = 0;
  std::optional<double> ceiling = {};
  double when = 0;  // Unix seconds
};

struct CollectorHealth {
  std::string name;
  bool success = false;
  double seconds = 0;
};

using GpuReadings = std::map<std::string, Reading<NvmlGpu>>;  // by PCI address

struct NodeState {
  std::shared_ptr<const NodeLook> look;  // null: none has come back yet
  bool look_failed = false;              // the last one
  std::shared_ptr<const Counts> counts;  // null: likewise, as the next
  std::shared_ptr<const GpuReadings> gpus;
  std::shared_ptr<const std::map<std::string, Optics>>
      optics;  // by interface; those that have a module which tells
  std::shared_ptr<const std::vector<PastMeasurement>> past;
  std::vector<CollectorHealth> collectors;
  std::map<std::string, std::uint64_t> events;                  // kind → how many since the start
  std::map<std::pair<std::string, std::string>, double> since;  // rule, subject → Unix seconds
};

std::string node_metrics(const NodeState& state);

}  // namespace railbed
