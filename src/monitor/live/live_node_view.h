// The view of one watched node, for a live page or a terminal.
#pragma once

#include "monitor/events/event_desk.h"
#include "monitor/live/live_feed.h"
#include "monitor/live/live_meter.h"
#include "monitor/node_watch.h"

namespace railbed {

// Builds the view. `watch` and `desk` must outlive it. For one thread at a time.
class LiveNodeView {
 public:
  LiveNodeView(NodeWatch& watch, const EventDesk& desk) : watch_(watch), desk_(desk) {}

  // Returns the current view. Reads the counters, which may take up to 3 seconds.
  LiveShown operator()();

 private:
  NodeWatch& watch_;
  const EventDesk& desk_;
  LiveMeter meter_;
  LiveCount count_;
};

}  // namespace railbed
