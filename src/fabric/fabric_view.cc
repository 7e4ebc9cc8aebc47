#include "fabric/fabric_view.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace railbed {
namespace {

// If at least this many cables are of a kind, and at least this share of them agree, the others should equal
// them.
constexpr std::size_t kFewestOfAKind = 3;
constexpr double kMostOfAKind = 2.0 / 3;
// Lanes of every cable that is sold; ports that could take 12 have no such cable.
constexpr int kUsualWidth = 4;

// Cables between the same two levels are of one kind.
using CableKind = std::pair<int, int>;

CableKind kind_of(const IbLayout& layout, const IbCable& cable) {
  const int a = layout.level[static_cast<std::size_t>(cable.end.node)];
  const int b = layout.level[static_cast<std::size_t>(cable.other.node)];
  return {std::min(a, b), std::max(a, b)};
}

// Returns the usual link of each kind of cable that has one.
std::map<CableKind, IbLink> usual_links(const FabricView& view) {
  std::map<CableKind, std::map<std::pair<int, IbSpeed>, std::size_t>> kinds;
  std::map<CableKind, std::size_t> all;
  for (const IbCable& cable : view.cables) {
    const IbLink& link = view.fabric.port(cable.end).active;
    if (link.width == 0) continue;
    ++kinds[kind_of(view.layout, cable)][{link.width, link.speed}];
    ++all[kind_of(view.layout, cable)];
  }
  std::map<CableKind, IbLink> usual;
  for (const auto& [kind, links] : kinds) {
    const auto most = std::ranges::max_element(links, {}, [](const auto& entry) { return entry.second; });
    if (all[kind] >= kFewestOfAKind &&
        static_cast<double>(most->second) >= kMostOfAKind * static_cast<double>(all[kind]))
      usual[kind] = {most->first.first, most->first.second};
  }
  return usual;
}

// Returns the link that a cable should have, the best by `measure` if it is not planned.
template <class Measure>
IbWantedLink wanted_link(const FabricView& view, const std::map<CableKind, IbLink>& usual,
                         const IbCable& cable, Measure measure) {
  if (view.compared)
    if (const auto planned = view.compared->links.find(std::min(cable.end, cable.other));
        planned != view.compared->links.end())
      return {planned->second, "as planned"};
  IbWantedLink best;
  const auto offer = [&](const IbLink& link, std::string_view why) {
    if (measure(link) > measure(best.link)) best = {link, why};
  };
  const IbLink a = view.fabric.port(cable.end).supported, b = view.fabric.port(cable.other).supported;
  if (a.width > 0 && b.width > 0)
    offer({std::min({a.width, b.width, kUsualWidth}), std::min(a.speed, b.speed)}, "which both ends support");
  // A splitter gives each of its ends two lanes; one lane is never intended.
  else if (view.fabric.port(cable.end).active.width == 1)
    offer({kUsualWidth, {}}, "as the cables that are sold have");
  if (const auto found = usual.find(kind_of(view.layout, cable)); found != usual.end())
    offer(found->second, "as most cables of its kind");
  return best;
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
  const auto usual = usual_links(*this);
  for (IbCable& cable : cables) {
    cable.wanted_width = wanted_link(*this, usual, cable, [](const IbLink& link) { return link.width; });
    cable.wanted_speed =
        wanted_link(*this, usual, cable, [](const IbLink& link) { return static_cast<int>(link.speed); });
  }
  std::ranges::copy_if(fabric.managers, std::back_inserter(masters),
                       [](const IbManager& manager) { return manager.state == IbManagerState::kMaster; });
}

}  // namespace railbed
