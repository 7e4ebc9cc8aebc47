// Formats events for people. Text that comes from a node is made printable here.
#pragma once

#include <string>
#include <vector>

#include "monitor/events/events.h"

namespace railbed {

// Returns a duration as text: "45 s", "13 min", "2 h 5 min", "3 d 4 h".
std::string span_text(double seconds);

// Returns how often a flapping finding has changed: "5 changes since 2026-11-24 03:07:11", in local time; empty of
// one that does not flap.
std::string flaps_text(const NodeEvent& event);

// Returns one line: "gpu01 rdma.port-state mlx5_0/1 fails: … (2 times before)".
std::string event_summary(const NodeEvent& event);

// Returns one line for each event with its local time and its subject, followed by the changes before it and
// the remedy. Keeps the order of the events.
std::string events_text(const std::vector<NodeEvent>& events);

}  // namespace railbed
