// This machine, watched: what counts is read when somebody asks, the whole machine is looked at and judged
// now and then, and at once when a link, a port or a device is not as it was.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "monitor/node_metrics.h"

namespace railbed {

// What the coming and going of a link or a device changes: where it differs, a look is due.
std::string signature_of(const Counts& counts);

struct WatchOptions {
  std::string cluster;                  // its file; empty: nothing is expected
  std::string node;                     // this machine's name there
  std::string root;                     // a captured machine instead; empty: this one
  std::string history;                  // file of measured runs; empty: none is shown
  std::vector<std::string> left_alone;  // devices that are not opened
  std::chrono::seconds every{60};       // between looks at the whole machine
};

class NodeWatch {
 public:
  // `seen` hears of each look, and `missed` of each that gave nothing, one at a time, on a thread of ours.
  struct Listener {
    std::function<void(const NodeLook&)> seen = [](const NodeLook&) {};
    std::function<void(const std::string& why, double now)> missed = [](const std::string&, double) {};
  };
  static Result<std::unique_ptr<NodeWatch>> open(WatchOptions options, Listener listener, Hear note);
  ~NodeWatch();

  // All that can be told within `patience`. Callable from several threads.
  NodeState state(std::chrono::milliseconds patience);

 private:
  struct Parts;
  explicit NodeWatch(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace railbed
