// Rules on what the switch at the other end of a rail's cable announces by LLDP: its identity, the largest
// frame, and the lossless priorities.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

constexpr int kFrameAround = 18;  // Ethernet header and checksum; a VLAN tag is extra

// Returns the neighbor of the end's cable; null after ending the case with the reason if there is none.
const LldpNeighbour* neighbour_of(Case& verdict, const RailEnd& end) {
  if (verdict.lacks_interface(end)) return nullptr;
  const auto& lldp = end.facts->net.lldp;
  if (!lldp.ok() && (lldp.absent() || lldp.miss().missing == Missing::kUnsupported)) {
    verdict.not_applicable("no lldpd answers here");
    return nullptr;
  }
  const auto* heard = verdict.read(lldp);
  if (heard == nullptr) return nullptr;
  const NetInterface* carrier = carrier_of(end.facts->net, end.name);
  const std::string& cable = carrier == nullptr ? end.name : carrier->name;
  const auto found = std::ranges::find(*heard, cable, &LldpNeighbour::interface);
  if (found != heard->end()) return &*found;
  verdict.not_applicable("no switch was heard");
  return nullptr;
}

std::string switch_text(const LldpNeighbour& neighbour) {
  return neighbour.name.empty() ? neighbour.chassis : neighbour.name;
}

// Returns the switches that cluster.yaml names for a rail; empty if it names none.
std::vector<std::string> switches_meant(const Cluster& cluster, const Rail& rail) {
  std::vector<std::string> names;
  for (const ClusterPart& part : cluster.parts)
    if (part.kind == PartKind::kSwitch && !part.name.empty() &&
        std::ranges::find(part.rails, rail.name) != part.rails.end())
      names.push_back(part.name);
  return names;
}

// Number of ends of each rail by the switch that they are plugged into.
using EndsBySwitch = std::map<std::string, std::map<std::string, int>>;

EndsBySwitch ends_by_switch(const Survey& survey) {
  EndsBySwitch counts;
  for (const NodeView& node : survey.nodes) {
    const auto& lldp = node.facts->net.lldp;
    if (!lldp.ok()) continue;
    for (const RailEnd& end : node.ends) {
      if (end.rail == nullptr || end.infiniband()) continue;
      const auto found = std::ranges::find(*lldp, end.name, &LldpNeighbour::interface);
      if (found != lldp->end()) ++counts[switch_text(*found)][end.rail->name];
    }
  }
  return counts;
}

// Returns the other rail that owns the switch by a wide margin: it has three times as many ends on it as
// `rail`, whose ends on another switch outnumber those here by three to one. Empty if no rail does, since
// rails may share a switch, and a rail may have several.
std::string rail_of_switch(const EndsBySwitch& counts, const std::string& name, const Rail& rail) {
  const auto& here = counts.at(name);
  const int own = here.at(rail.name);
  const auto most = std::ranges::max_element(here, {}, [](const auto& entry) { return entry.second; });
  const bool elsewhere = std::ranges::any_of(counts, [&](const auto& entry) {
    const auto found = entry.second.find(rail.name);
    return entry.first != name && found != entry.second.end() && found->second >= 3 * own;
  });
  return most->first != rail.name && most->second >= 3 * own && elsewhere ? most->first : std::string();
}

Complaint miscabled(const RailEnd& end, const LldpNeighbour& neighbour, const std::string& wanted) {
  return {
      .message = fmt::format("{} is plugged into {}, port {}: its rail is {}, which {}", end.where(),
                             switch_text(neighbour), neighbour.port, end.rail->name, wanted),
      .expected = wanted,
      .observed = fmt::format("{} port {}", switch_text(neighbour), neighbour.port),
      .remedy = {"Find the two cables that were swapped, and swap them back. Until then this rail's traffic "
                 "crosses switches that it should not.",
                 {command("lldpcli show neighbors ports {}", end.name)}}};
}

void switch_of_rail(const Survey& survey, Judge& judge) {
  const EndsBySwitch counts = ends_by_switch(survey);
  each_rail_end(survey, judge, [&](Case& verdict, const RailEnd& end) {
    if (end.rail->topology == Topology::kBackToBack) return verdict.not_applicable("no switch");
    if (end.infiniband()) return verdict.not_applicable("InfiniBand");
    const LldpNeighbour* neighbour = neighbour_of(verdict, end);
    if (neighbour == nullptr) return;
    const auto meant = switches_meant(survey.evidence.cluster, *end.rail);
    if (!meant.empty() && std::ranges::find(meant, neighbour->name) == meant.end())
      return verdict.fail(miscabled(end, *neighbour, fmt::format("belongs to {}", fmt::join(meant, ", "))));
    const auto known = counts.find(switch_text(*neighbour));
    const std::string other = meant.empty() && known != counts.end() && known->second.contains(end.rail->name)
                                  ? rail_of_switch(counts, known->first, *end.rail)
                                  : std::string();
    if (!other.empty())
      return verdict.fail(
          miscabled(end, *neighbour, fmt::format("has another switch: this one is {}'s", other)));
    verdict.pass(fmt::format("{} port {}", switch_text(*neighbour), neighbour->port));
  });
}

void switch_frame(const Survey& survey, Judge& judge) {
  each_rail_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    const LldpNeighbour* neighbour = neighbour_of(verdict, end);
    if (neighbour == nullptr) return;
    if (!neighbour->max_frame)
      return verdict.not_applicable("the switch does not say how large a frame may be");
    const int* mtu = verdict.read(end.interface->mtu);
    if (mtu == nullptr) return;
    if (*neighbour->max_frame >= *mtu + kFrameAround)
      return verdict.pass(fmt::format("{} bytes", *neighbour->max_frame));
    // Some switches announce the MTU of their IP interface here.
    verdict.red(
        *neighbour->max_frame < *mtu ? Status::kFail : Status::kWarn,
        {.message =
             fmt::format("{} sends frames of up to {} bytes, and port {} of {} takes {}: what is larger "
                         "is dropped there without a word",
                         end.where(), *mtu + kFrameAround, neighbour->port, switch_text(*neighbour),
                         *neighbour->max_frame),
         .expected = fmt::format("at least {} bytes", *mtu + kFrameAround),
         .observed = fmt::format("{} bytes", *neighbour->max_frame),
         .remedy = {"Raise the port's MTU on the switch, 9216 on most; or lower the rail's on all its ends.",
                    {command("lldpcli show neighbors ports {} details", end.name)}}});
  });
}

std::string priorities_text(const std::vector<int>& priorities) {
  return priorities.empty() ? "no priority" : fmt::format("priority {}", fmt::join(priorities, ", "));
}

void switch_pfc(const Survey& survey, Judge& judge) {
  each_rail_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (!end.roce()) return verdict.not_applicable("no RoCE");
    const LldpNeighbour* neighbour = neighbour_of(verdict, end);
    if (neighbour == nullptr) return;
    if (!neighbour->lossless) return verdict.not_applicable("the switch says nothing of PFC");
    const Priorities* own = verdict.read_if_there(end.interface->priorities, "priorities were not recorded");
    if (own == nullptr) return;
    if (own->lossless == *neighbour->lossless) return verdict.pass(priorities_text(own->lossless));
    verdict.fail(
        {.message = fmt::format("{} has PFC on {}, and port {} of {} on {}: where one end does not stop, "
                                "RoCE loses packets",
                                end.where(), priorities_text(own->lossless), neighbour->port,
                                switch_text(*neighbour), priorities_text(*neighbour->lossless)),
         .expected = priorities_text(own->lossless),
         .observed = priorities_text(*neighbour->lossless),
         .remedy = {"Give the switch's port the same lossless priority, and no other.",
                    {command("lldpcli show neighbors ports {} details", end.name)}}});
  });
}

}  // namespace

std::span<const Rule> lldp_rules() {
  static const Rule kRules[] = {
      {.id = "net.switch-of-rail",
       .title = "rail is plugged into its own switch",
       .why =
           "Rails keep their switches apart so that GPUs of one number meet on one. A swapped cable works, and "
           "sends two rails over links between switches.",
       .source = "lldpcli -f json0 show neighbors details",
       .standard =
           "the switches that parts names for the rail; without a plan, no switch most of whose ends are "
           "another rail's while this rail's others are elsewhere (3 to 1: ours)",
       .remedy = "Swap the cables back.",
       .fixture = "h100-lldp-swapped",
       .explained_by = {},
       .check = switch_of_rail},
      {.id = "net.switch-frame",
       .title = "switch takes the rail's largest frame",
       .why =
           "A switch port drops what is larger than it takes, and counts it where nobody looks: small messages "
           "pass, large ones hang.",
       .source = "lldpcli -f json0 show neighbors details: Maximum Frame Size",
       .standard = "the interface's MTU and 18 bytes (IEEE 802.3)",
       .remedy = "Raise the MTU of the switch's port.",
       .fixture = "h100-lldp-frame",
       .explained_by = {},
       .check = switch_frame},
      {.id = "rdma.switch-pfc",
       .title = "switch has PFC on the same priorities",
       .why = "A priority is lossless only where both ends of each link stop for it.",
       .source = "lldpcli -f json0 show neighbors details: PFC Configuration; DCB netlink",
       .standard = "the same on both ends (IEEE 802.1Qaz)",
       .remedy = "Switch PFC on for the same priority on the switch's port.",
       .fixture = "h100-lldp-pfc",
       .explained_by = {"rdma.pfc"},
       .check = switch_pfc},
  };
  return kRules;
}

}  // namespace railbed
