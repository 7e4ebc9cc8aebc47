#include "fabric/managers.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/result.h"
#include "base/text.h"

namespace railbed {
namespace {

// The paths of Debian's and NVIDIA's packages, and of RHEL.
constexpr std::array<std::string_view, 2> kConfigurations = {"/etc/opensm/opensm.conf",
                                                             "/etc/rdma/opensm.conf"};

}  // namespace

Reading<std::string> configured_routing(Host& host) {
  for (const std::string_view path : kConfigurations) {
    const auto text = host.read(path);
    if (text.absent()) continue;
    if (!text.ok()) return Reading<std::string>(text.miss(), text.from());
    for (const std::string_view line : lines(*text)) {
      const auto parts = words(line);
      if (parts.size() > 1 && parts[0] == "routing_engine" && parts[1] != "(null)")
        return {printable(trim(line.substr(line.find(parts[0]) + parts[0].size()))), text.from()};
    }
    return {Miss{Missing::kAbsent, "it does not say: minhop"}, text.from()};
  }
  return {Miss{Missing::kAbsent, "no configuration of OpenSM on this host"},
          std::string(kConfigurations.front())};
}

ManagerLook look_at_managers(const IbFabric& before, const IbFabric& after, double seconds) {
  ManagerLook look;
  look.seconds = seconds;
  const IbLayout layout = layout_of(after);
  look.shape = describe(after, layout);
  look.advice = routing_for(layout);
  for (std::size_t i = 0; i < after.managers.size(); ++i) {
    const IbManager& now = after.managers[i];
    look.managers.push_back({now, before.managers[i].activity, name_of(after.at(now.end))});
  }
  for (const IbEnd& end : after.mute_managers) look.mute.push_back(place_of(after, end));
  std::ranges::stable_sort(look.managers, [](const ManagerSeen& a, const ManagerSeen& b) {
    return std::pair{a.manager.state, a.manager.priority} > std::pair{b.manager.state, b.manager.priority};
  });
  return look;
}

bool ManagerLook::routes_as_advised() const {
  const std::string first = routing.ok() ? std::string(split(*routing, ',').front()) : "minhop";
  return advice.engines.find(trim(first)) != std::string_view::npos;
}

int ManagerLook::exit_code() const {
  const auto masters = std::ranges::count_if(
      managers, [](const ManagerSeen& seen) { return seen.manager.state == IbManagerState::kMaster; });
  if (masters != 1 || !mute.empty()) return kExitFailures;
  const bool stuck = seconds > 0 && !managers.front().moves();
  return stuck || (routing.ok() && !routes_as_advised()) ? kExitWarnings : kExitClean;
}

}  // namespace railbed
