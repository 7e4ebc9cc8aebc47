// Events as people read them. Formatters only; what comes from a node is made harmless here.
#pragma once

#include <string>
#include <vector>

#include "monitor/events.h"

namespace railbed {

// "45 s", "13 min", "2 h 5 min", "3 d 4 h".
std::string span_text(double seconds);

// One line: "gpu01 rdma.port-down mlx5_0/1 fails: … (for the third time)".
std::string event_summary(const NodeEvent& event);

// Each with its local time, what it is about and what changed before it; the newest last.
std::string events_text(const std::vector<NodeEvent>& events);

}  // namespace railbed
