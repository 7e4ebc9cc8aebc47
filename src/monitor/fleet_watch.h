// A fleet, watched from one place. Each node is asked by a thread of its own, which mostly sleeps: counts
// every few seconds, facts once a minute and at once where a link or a device is not as it was. One that
// does not answer, or answers nonsense, costs nobody else anything: it is named with the reason, and asked
// again after a pause that doubles up to five minutes. Another thread judges all evidence whenever some of it
// is new, by the same rules as `railbed verify`, and tells the event desk.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "campaign/caller.h"
#include "campaign/reach.h"
#include "inventory/cluster.h"
#include "monitor/event_desk.h"
#include "monitor/live_feed.h"

namespace railbed {

struct FleetWatchOptions {
  Cluster cluster;
  std::string root;  // trees instead of live nodes
  ReachOptions reach;
  std::chrono::milliseconds every{5000};  // between counts
};

class FleetWatch {
 public:
  // Begins at once. The desk must outlive it.
  FleetWatch(FleetWatchOptions options, EventDesk& desk, Hear note);
  ~FleetWatch();  // ends all agents

  // For one thread at a time.
  LiveShown shown();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace railbed
