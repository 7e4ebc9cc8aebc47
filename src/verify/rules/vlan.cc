// Rails on VLANs: the tag that both ends use, and the interface below.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Ends of a rail by their VLAN; 0 if untagged.
using EndsByVlan = std::map<int, std::vector<const RailEnd*>>;

EndsByVlan ends_by_vlan(const Survey& survey, const Rail& rail) {
  EndsByVlan ends;
  for (const RailEnd* end : survey.ends_of(rail)) {
    if (end->interface == nullptr || !end->facts->net.vlans.ok()) continue;
    const Vlan* vlan = find_vlan(end->facts->net, end->name);
    ends[vlan == nullptr ? 0 : vlan->id].push_back(end);
  }
  // A switch may remove the tag, or add it.
  if (rail.topology == Topology::kSwitch) ends.erase(0);
  return ends;
}

std::string vlan_text(int id) { return id == 0 ? "no VLAN" : fmt::format("VLAN {}", id); }

void vlan_equal(const Survey& survey, Judge& judge) {
  each_rail(survey, judge, [&](Case& verdict, const Rail& rail) {
    const EndsByVlan ends = ends_by_vlan(survey, rail);
    if (ends.empty() || (ends.size() == 1 && ends.begin()->first == 0))
      return verdict.not_applicable("no end of this rail is on a VLAN");
    for (const auto& [id, members] : ends)
      for (const RailEnd* end : members) {
        verdict.seen(end->facts->net.vlans);
        if (ends.size() > 1) verdict.touch("node:" + *end->node);
      }
    if (ends.size() == 1) return verdict.pass(vlan_text(ends.begin()->first));
    const auto most =
        std::ranges::max_element(ends, {}, [](const auto& group) { return group.second.size(); });
    std::vector<std::string> odd;
    for (const auto& [id, members] : ends) {
      if (id == most->first) continue;
      for (const RailEnd* end : members)
        odd.push_back(fmt::format("{} is in {}", end->where(), vlan_text(id)));
    }
    const std::string observed = fmt::format("{}", fmt::join(odd, ", "));
    verdict.fail(
        {.message =
             fmt::format("{}, the other end{} of {} in {}: what one sends, the other never sees", observed,
                         most->second.size() == 1 ? "" : "s", rail.name, vlan_text(most->first)),
         .expected = "the same VLAN at every end",
         .observed = observed,
         .remedy = {"Give every end the VLAN that the switch carries for this rail; an interface keeps its "
                    "VLAN for life, so the wrong one is made anew, in the network configuration too.",
                    {"ip -d link show type vlan"}}});
  });
}

void vlan_parent_mtu(const Survey& survey, Judge& judge) {
  each_rail_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (verdict.lacks_interface(end)) return;
    const auto* vlans = verdict.read_if_there(end.facts->net.vlans, "not recorded");
    if (vlans == nullptr) return;
    const Vlan* vlan = find_vlan(end.facts->net, end.name);
    if (vlan == nullptr) return verdict.not_applicable("not a VLAN");
    const NetInterface* parent = find_interface(end.facts->net, vlan->parent);
    if (parent == nullptr) return verdict.not_applicable("its parent is in another network namespace");
    const int* below = verdict.read(parent->mtu);
    if (below == nullptr) return;
    const int want = end.rail->mtu ? *end.rail->mtu : end.interface->mtu.value_or(0);
    if (*below >= want) return verdict.pass(fmt::format("{} has {}", parent->name, *below));
    verdict.fail({.message = fmt::format("{} has MTU {}: {} on it cannot have {}", parent->name, *below,
                                         end.where(), want),
                  .expected = fmt::format("{} or more", want),
                  .observed = std::to_string(*below),
                  .remedy = {"Raise the parent's first, then the VLAN's, and in the network configuration.",
                             {command("ip link set {} mtu {}", parent->name, want),
                              command("ip link set {} mtu {}", end.name, want)}}});
  });
}

}  // namespace

std::span<const Rule> vlan_rules() {
  static const Rule kRules[] = {
      {.id = "net.vlan",
       .title = "ends of a rail are in one VLAN",
       .why = "A frame with another tag is dropped without a word: the link is up, and nobody answers.",
       .source = "ip -d -j link show type vlan",
       .standard = "the same id at every end that has one; back to back at every end",
       .remedy = "Give every end the same VLAN.",
       .fixture = "v100-vlan-differs",
       .explained_by = {"net.interface"},
       .check = vlan_equal},
      {.id = "net.vlan-mtu",
       .title = "VLAN's parent has its MTU",
       .why =
           "The kernel refuses a VLAN an MTU above its parent's (vlan_dev_change_mtu): large frames find no "
           "way out.",
       .source = "ip -d -j link show type vlan, /sys/class/net/PARENT/mtu",
       .standard = "the rail's mtu in cluster.yaml, else the VLAN's own",
       .remedy = "ip link set PARENT mtu, then the VLAN's.",
       .fixture = "v100-vlan-mtu",
       .explained_by = {"net.interface"},
       .settings = {"network/rails"},
       .check = vlan_parent_mtu},
  };
  return kRules;
}

}  // namespace railbed
