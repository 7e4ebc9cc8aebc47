// Watches this machine. Counters are read on request. The whole machine is inspected and judged at an
// interval, and at once if a link, a port or a device has changed.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "model/watched.h"
#include "monitor/metrics/node_metrics.h"

namespace railbed {

// Returns a text that changes if a link or a device comes or goes. A difference means that a look is due.
std::string signature_of(const Counts& counts);

struct WatchOptions {
  std::string cluster;                  // path of cluster.yaml; empty if nothing is expected
  std::string node;                     // this machine's name there
  std::string root;                     // a captured machine; empty for this machine
  std::string history;                  // file of measured runs; empty to show none
  std::vector<std::string> left_alone;  // devices that are not opened
  std::vector<Injection> injections = {};
  Watched watched = {};            // what the monitor before this one saw
  std::chrono::seconds every{60};  // interval of looks at the whole machine
  // Reads this node's BMC; empty if it is not read.
  std::function<BmcFacts(std::stop_token)> ask_bmc = {};
};

// Fails if cluster.yaml cannot be read or does not name this node.
Result<void> check_watched_node(const WatchOptions& options);

// See the head of this file.
class NodeWatch {
 public:
  // Callbacks: `seen` receives each look, `missed` each look that failed. They are called one at a time, on a
  // thread of the watch.
  struct Listener {
    std::function<void(const NodeLook&)> seen = [](const NodeLook&) {};
    std::function<void(const std::string& why, double now)> missed = [](const std::string&, double) {};
  };
  // Starts the collectors. Fails if cluster.yaml cannot be read or does not name this node.
  static Result<std::unique_ptr<NodeWatch>> open(WatchOptions options, Listener listener, Hear note);
  ~NodeWatch();

  // Returns what is known after at most `patience`. Thread-safe.
  NodeState state(std::chrono::milliseconds patience);
  // Waits until the BMC, if it is read, has responded and a look has used the result. Waits at most
  // `patience`.
  void await_bmc(std::chrono::milliseconds patience);
  // Returns the latest look; null if there was none yet.
  std::shared_ptr<const NodeLook> latest_look();

 private:
  struct Parts;
  explicit NodeWatch(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace railbed
