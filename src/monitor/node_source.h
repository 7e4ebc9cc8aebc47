// The source of a watched node's facts and counters: an agent behind ssh, or a tree in a folder. Each source
// is used by one thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "campaign/reach.h"
#include "facts/network/counts.h"
#include "facts/network/optics.h"
#include "monitor/metrics/node_metrics.h"

namespace railbed {

struct NodeCounts {
  Counts counts;
  std::optional<GpuReadings> gpus = {};    // only if requested
  GpuJobs jobs = {};                       // that hold these GPUs
  std::optional<LinkReadings> links = {};  // likewise
};

// What to read besides the counters.
struct AlsoRead {
  bool gpus = false;
  bool links = false;  // the modules and the error correction of interfaces that carry RDMA: takes a second
};

// See the head of this file. All calls may block until their deadline.
class NodeSource {
 public:
  virtual ~NodeSource() = default;
  // Reads all facts of the node.
  virtual Result<Facts> facts(std::stop_token stop) = 0;
  // Reads the counters of the devices that `known` lists.
  virtual Result<NodeCounts> counts(const Facts& known, AlsoRead also, std::stop_token stop) = 0;
  // Returns whether the facts should be read again, if they are `age` old.
  virtual bool is_due(std::chrono::seconds age) = 0;
  // Discards the connection after a failure. The next call opens a new one.
  virtual void renew() = 0;
};

// Returns one source for each node of the cluster, in the same order. If `root` is not empty, a source reads
// the tree ROOT/NODE.tree, or the folder ROOT/NODE.
std::vector<std::unique_ptr<NodeSource>> open_sources(const Cluster& cluster, const std::string& root,
                                                      ReachOptions reach);

}  // namespace railbed
