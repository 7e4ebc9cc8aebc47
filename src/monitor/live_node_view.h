// One watched node as a live page or a terminal shows it.
#pragma once

#include "monitor/event_desk.h"
#include "monitor/live_feed.h"
#include "monitor/live_meter.h"
#include "monitor/node_watch.h"

namespace railbed {

// Both must outlive it. For one thread at a time.
class LiveNodeView {
 public:
  LiveNodeView(NodeWatch& watch, const EventDesk& desk) : watch_(watch), desk_(desk) {}

  LiveShown operator()();

 private:
  NodeWatch& watch_;
  const EventDesk& desk_;
  LiveMeter meter_;
  LiveCount count_;
};

}  // namespace railbed
