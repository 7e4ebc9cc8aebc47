// Watches a fleet from one place. Each node has its own thread, which mostly sleeps: it reads counters every
// few seconds, and facts once a minute or at once if a link or a device has changed. A node that does not
// respond, or whose response makes no sense, does not affect the others. It is reported with the reason, and
// tried again after a pause that doubles up to five minutes. One more thread judges all evidence whenever
// some of it is new, by the rules of `railbed verify`, and passes the findings to the publisher.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "campaign/caller.h"
#include "campaign/reach.h"
#include "inventory/cluster.h"
#include "monitor/events/event_desk.h"
#include "monitor/live/live_feed.h"

namespace railbed {

struct FleetWatchOptions {
  Cluster cluster;
  std::string root;  // folder with trees to read instead of live nodes; empty if live
  ReachOptions reach;
  std::chrono::milliseconds every{5000};  // interval of reading counters
};

// See the head of this file.
class FleetWatch {
 public:
  // Starts all threads. The publisher must outlive the watch. `note` receives messages for the user.
  FleetWatch(FleetWatchOptions options, EventDesk& desk, Hear note);
  ~FleetWatch();  // stops the threads and ends all agents

  // Returns what the live page shows now. For one thread at a time.
  LiveShown shown();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace railbed
