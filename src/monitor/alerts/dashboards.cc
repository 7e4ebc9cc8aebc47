#include "monitor/alerts/dashboards.h"

namespace railbed {
namespace {

constexpr std::string_view kFleet =
#include "monitor/dashboards/railbed-fleet.json.text"
    ;

constexpr std::string_view kNode =
#include "monitor/dashboards/railbed-node.json.text"
    ;

constexpr std::string_view kRail =
#include "monitor/dashboards/railbed-rail.json.text"
    ;

constexpr std::string_view kGpu =
#include "monitor/dashboards/railbed-gpu.json.text"
    ;

}  // namespace

std::span<const Dashboard> dashboards() {
  // The newline that each literal begins with is not the file's.
  static constexpr Dashboard kDashboards[] = {{"railbed-fleet.json", kFleet.substr(1)},
                                              {"railbed-node.json", kNode.substr(1)},
                                              {"railbed-rail.json", kRail.substr(1)},
                                              {"railbed-gpu.json", kGpu.substr(1)}};
  return kDashboards;
}

}  // namespace railbed
