// Where a watched fleet's nodes are: behind ssh, or as trees in a folder. A node is asked by one thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "campaign/reach.h"
#include "facts/counts.h"
#include "monitor/node_metrics.h"

namespace railbed {

struct NodeCounts {
  Counts counts;
  std::optional<GpuReadings> gpus = {};  // where they were asked for
};

class NodeSource {
 public:
  virtual ~NodeSource() = default;
  virtual Result<Facts> facts(std::stop_token stop) = 0;
  // Of what these facts know.
  virtual Result<NodeCounts> counts(const Facts& known, bool with_gpus, std::stop_token stop) = 0;
  // Whether facts should be asked again, so long after they were.
  virtual bool is_due(std::chrono::seconds age) = 0;
  virtual void renew() = 0;  // after a failure: the next question is asked on a new connection
};

// One a node of the cluster, in its order. With a root its trees: ROOT/NODE.tree, or the folder ROOT/NODE.
std::vector<std::unique_ptr<NodeSource>> open_sources(const Cluster& cluster, const std::string& root,
                                                      ReachOptions reach);

}  // namespace railbed
