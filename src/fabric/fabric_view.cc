#include "fabric/fabric_view.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

namespace railbed {
namespace {

// In a dump, which does not have what ports support: if at least this many
// cables are of a kind, and at least this share of them agree, the others
// should equal them.
constexpr std::size_t kFewestOfAKind = 3;
constexpr double kMostOfAKind = 2.0 / 3;
// Lanes of every cable that is sold; ports that could take 12 have no such
// cable.
constexpr int kUsualWidth = 4;

// Cables between the same two levels, with the same devices at their ends, are
// of one kind: a storage server's EDR adapter is no HDR adapter.
using EndKinds = std::array<std::pair<int, unsigned>, 2>;

EndKinds kind_of(const FabricView& view, const IbCable& cable) {
  const auto side = [&](const IbEnd& end) {
    return std::pair{view.layout.level[static_cast<std::size_t>(end.node)], view.fabric.at(end).device};
  };
  const auto a = side(cable.end), b = side(cable.other);
  return {std::min(a, b), std::max(a, b)};
}

// Returns the usual link of each kind of cable that has one.
std::map<EndKinds, IbLink> usual_links(const FabricView& view) {
  std::map<EndKinds, std::map<std::pair<int, IbSpeed>, std::size_t>> kinds;
  std::map<EndKinds, std::size_t> all;
  for (const IbCable& cable : view.cables) {
    const IbLink& link = view.fabric.port(cable.end).active;
    if (link.width == 0) continue;
    ++kinds[kind_of(view, cable)][{link.width, link.speed}];
    ++all[kind_of(view, cable)];
  }
  std::map<EndKinds, IbLink> usual;
  for (const auto& [kind, links] : kinds) {
    const auto most = std::ranges::max_element(links, {}, [](const auto& entry) { return entry.second; });
    if (all[kind] >= kFewestOfAKind &&
        static_cast<double>(most->second) >= kMostOfAKind * static_cast<double>(all[kind]))
      usual[kind] = {most->first.first, most->first.second};
  }
  return usual;
}

// Returns the link that a cable should have: as planned, else the best of what
// both ends support, else, if that is not known, as most cables of its kind.
std::pair<IbLink, std::string_view> wanted_link(const FabricView& view,
                                                const std::map<EndKinds, IbLink>& usual,
                                                const IbCable& cable) {
  if (view.compared)
    if (const auto planned = view.compared->links.find(std::min(cable.end, cable.other));
        planned != view.compared->links.end())
      return {planned->second, "as planned"};
  const IbLink a = view.fabric.port(cable.end).supported, b = view.fabric.port(cable.other).supported;
  if (a.width > 0 && b.width > 0)
    return {{std::min({a.width, b.width, kUsualWidth}), std::min(a.speed, b.speed)},
            "which both ends support"};
  if (const auto found = usual.find(kind_of(view, cable)); found != usual.end())
    return {found->second, "as most cables between such devices"};
  return {};
}

// Returns the numbers of cables on two lanes by switch.
std::map<int, int> two_lane_cables(const FabricView& view) {
  std::map<int, int> count;
  for (const IbCable& cable : view.cables)
    if (const IbLink* link = cable.link(view.fabric); link != nullptr && link->width == 2)
      for (const IbEnd& end : {cable.end, cable.other})
        if (view.fabric.at(end).is_switch()) ++count[end.node];
  return count;
}

void set_wanted_links(FabricView& view) {
  const auto usual = usual_links(view);
  const auto two_lanes = two_lane_cables(view);
  const auto beside_others = [&](const IbEnd& end) {
    const auto found = two_lanes.find(end.node);
    return found != two_lanes.end() && found->second > 1;
  };
  for (IbCable& cable : view.cables) {
    const auto [link, why] = wanted_link(view, usual, cable);
    cable.wanted_width = cable.wanted_speed = {link, why};
    const int lanes = view.fabric.port(cable.end).active.width;
    if (why == "as planned") continue;
    // A splitter, and an adapter for half the speed (HDR100), give each of its
    // ends two lanes, though both ports support four. One lane is never
    // intended.
    if (lanes == 2 && link.width > 2) {
      cable.wanted_width.link.width = 2;
      cable.lone_pair = !beside_others(cable.end) && !beside_others(cable.other);
    }
    // A lane of XDR is a whole link where it is one of several planes, which merge_planes() could not join here.
    if (lanes == 1 && view.fabric.port(cable.end).active.speed == IbSpeed::kXdr)
      cable.wanted_width.link.width = 1;
    else if (lanes == 1 && link.width <= 1)
      cable.wanted_width = {{kUsualWidth, {}}, "as the cables that are sold have"};
  }
}

}  // namespace

const IbLink* IbCable::link(const IbFabric& fabric) const {
  const IbLink& active = fabric.port(end).active;
  return active.width > 0 && active == fabric.port(other).active ? &active : nullptr;
}

double IbCable::lost_gigabits(const IbFabric& fabric) const {
  const IbLink* active = link(fabric);
  if (active == nullptr) return 0;
  const IbLink whole{std::max(active->width, wanted_width.link.width),
                     std::max(active->speed, wanted_speed.link.speed)};
  return whole.gigabits() - active->gigabits();
}

FabricView::FabricView(const FabricEvidence& from)
    : evidence(from), fabric(from.fabric), layout(layout_of(fabric)) {
  each_cable(fabric, [&](const IbEnd& end, const IbEnd& other) { cables.push_back({end, other, {}, {}}); });
  if (evidence.plan) compared = compare_with_plan(fabric, *evidence.plan);
  set_wanted_links(*this);
  std::ranges::copy_if(fabric.managers, std::back_inserter(masters),
                       [](const IbManager& manager) { return manager.state == IbManagerState::kMaster; });
}

}  // namespace railbed
