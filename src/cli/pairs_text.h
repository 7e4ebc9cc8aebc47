// What `railbed bench pairs` found on one rail, for people.
#pragma once

#include <string>
#include <vector>

#include "bench/slow.h"
#include "facts/measurement.h"
#include "report/heat_map.h"

namespace railbed {

struct RailReport {
  std::string rail;
  Engine engine = Engine::kTcp;
  std::vector<std::string> nodes;  // the report's numbers count these
  SlowReport report;
  std::vector<std::string> failures;  // "gpu03 → gpu07: cause", one a direction that has no number
  static void fields(auto&& field) {
    field("rail", &RailReport::rail);
    field("engine", &RailReport::engine);
    field("nodes", &RailReport::nodes);
    field("report", &RailReport::report);
    field("failures", &RailReport::failures);
  }
};

HeatMap heat_map_of(const RailReport& rail);
std::string pairs_text(const RailReport& rail);

}  // namespace railbed
