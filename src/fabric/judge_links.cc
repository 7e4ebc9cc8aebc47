// Rules on cables that carry less than they could, ports that are not active, and identities that occur
// twice.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "fabric/judging.h"

namespace railbed {
namespace {

// If at least this many cables are of a kind, and at least this share of them agree, the others should equal
// them.
constexpr std::size_t kFewestOfAKind = 3;
constexpr double kMostOfAKind = 2.0 / 3;
// Lanes of every cable that is sold; ports that could take 12 have no such cable.
constexpr int kUsualWidth = 4;

struct Cable {
  IbEnd one, other;
};

// Cables between the same two levels are of one kind.
using CableKind = std::pair<int, int>;

CableKind kind_of(const IbLayout& layout, const Cable& cable) {
  const int a = layout.level[static_cast<std::size_t>(cable.one.node)];
  const int b = layout.level[static_cast<std::size_t>(cable.other.node)];
  return {std::min(a, b), std::max(a, b)};
}

class Links {
 public:
  Links(const FabricEvidence& evidence, const IbLayout& layout, const PlannedLinks& planned,
        FabricFindings& findings)
      : fabric_(evidence.fabric), layout_(layout), planned_(planned), findings_(findings) {
    each_cable(fabric_, [&](const IbEnd& end, const IbEnd& other) { cables_.push_back({end, other}); });
    std::map<CableKind, std::map<std::pair<int, IbSpeed>, std::size_t>> kinds;
    std::map<CableKind, std::size_t> all;
    for (const Cable& cable : cables_) {
      const IbLink& link = fabric_.port(cable.one).active;
      if (link.width == 0) continue;
      ++kinds[kind_of(layout_, cable)][{link.width, link.speed}];
      ++all[kind_of(layout_, cable)];
    }
    for (const auto& [kind, links] : kinds) {
      const auto most = std::ranges::max_element(links, {}, [](const auto& entry) { return entry.second; });
      if (all[kind] >= kFewestOfAKind &&
          static_cast<double>(most->second) >= kMostOfAKind * static_cast<double>(all[kind]))
        usual_[kind] = {most->first.first, most->first.second};
    }
  }

  void judge() {
    for (const Cable& cable : cables_) judge(cable);
    const std::string cables = fmt::format("{} cables", cables_.size());
    findings_.pass_unless_red("fabric.width", cables);
    findings_.pass_unless_red("fabric.speed", cables);
    findings_.pass_unless_red("fabric.asymmetry", cables);
  }

 private:
  struct Wish {
    IbLink link;
    std::string_view why;
  };

  void judge(const Cable& cable) {
    const IbPort& port = fabric_.port(cable.one);
    const IbPort& other = fabric_.port(cable.other);
    if (port.active.width == 0 || other.active.width == 0) return;
    const std::string both =
        fmt::format("{} and {}", place_of(fabric_, cable.one), place_of(fabric_, cable.other));
    if (!(port.active == other.active)) {
      return findings_.fail(
          "fabric.asymmetry", place_of(fabric_, cable.one),
          {.message = fmt::format("the two ends of a cable disagree: {} says {}, {} says {}",
                                  place_of(fabric_, cable.one), port.active.to_text(),
                                  place_of(fabric_, cable.other), other.active.to_text()),
           .expected = "the same at both ends",
           .observed = fmt::format("{} and {}", port.active.to_text(), other.active.to_text()),
           .remedy = {
               "Pull the cable and plug it in again, so that both ends negotiate anew; then try another."}});
    }
    const Wish width = wish(cable, [](const IbLink& link) { return link.width; });
    const Wish speed = wish(cable, [](const IbLink& link) { return static_cast<int>(link.speed); });
    const IbLink whole{std::max(port.active.width, width.link.width),
                       std::max(port.active.speed, speed.link.speed)};
    const double lost = whole.gigabits() - port.active.gigabits();
    if (port.active.width < width.link.width) {
      findings_.fail(
          "fabric.width", place_of(fabric_, cable.one),
          {.message = fmt::format("the cable between {} runs on {} of {} lanes", both, port.active.width,
                                  width.link.width),
           .expected = fmt::format("{}x, {}", width.link.width, width.why),
           .observed = port.active.to_text(),
           .remedy = {
               "A lane of the cable or of a connector is broken: clean and reseat it, then swap it."}});
      findings_.slow_cable(cable.one, cable.other, lost);
    }
    if (port.active.speed < speed.link.speed) {
      findings_.fail(
          "fabric.speed", place_of(fabric_, cable.one),
          {.message = fmt::format("the cable between {} runs at {} instead of {}", both,
                                  word(port.active.speed), word(speed.link.speed)),
           .expected = fmt::format("{}, {}", word(speed.link.speed), speed.why),
           .observed = port.active.to_text(),
           .remedy = {"Clean and reseat the cable; see that it is made for this speed, and that no port "
                      "is set to a lower one (ibportstate)."}});
      if (port.active.width >= width.link.width) findings_.slow_cable(cable.one, cable.other, lost);
    }
  }

  // Returns the link that a cable should have: the planned one; else the best of what both ends support and
  // what most cables of its kind have.
  template <class Measure>
  Wish wish(const Cable& cable, Measure measure) const {
    if (const auto planned = planned_.find(std::min(cable.one, cable.other)); planned != planned_.end())
      return {planned->second, "as planned"};
    Wish best{{}, ""};
    const auto offer = [&](const IbLink& link, std::string_view why) {
      if (measure(link) > measure(best.link)) best = {link, why};
    };
    const IbLink a = fabric_.port(cable.one).supported, b = fabric_.port(cable.other).supported;
    if (a.width > 0 && b.width > 0)
      offer({std::min({a.width, b.width, kUsualWidth}), std::min(a.speed, b.speed)},
            "which both ends support");
    // A splitter gives each of its ends two lanes; one lane is never intended.
    else if (fabric_.port(cable.one).active.width == 1)
      offer({kUsualWidth, {}}, "as the cables that are sold have");
    if (const auto usual = usual_.find(kind_of(layout_, cable)); usual != usual_.end())
      offer(usual->second, "as most cables of its kind");
    return best;
  }

  const IbFabric& fabric_;
  const IbLayout& layout_;
  const PlannedLinks& planned_;
  FabricFindings& findings_;
  std::vector<Cable> cables_;
  std::map<CableKind, IbLink> usual_;
};

// Reports the keys (GUIDs or LIDs) that several nodes claim. `claims` holds the nodes' names by key.
void claimed_twice(std::string_view rule, std::string_view what,
                   const std::map<std::string, std::vector<std::string>>& claims, const Remedy& remedy,
                   FabricFindings& findings) {
  for (const auto& [key, names] : claims) {
    if (names.size() < 2) continue;
    const std::string who = fmt::format("{} and {}", names[0], names[1]);
    findings.fail(
        rule, key,
        {.message = fmt::format("{} {} is claimed by {}{}", what, key, who,
                                names.size() > 2 ? fmt::format(" and {} more", names.size() - 2) : ""),
         .expected = "one owner",
         .observed = who,
         .remedy = remedy});
  }
}

void duplicate_lids(const IbFabric& fabric, FabricFindings& findings) {
  std::map<std::string, std::vector<std::string>> claims;
  std::unordered_map<unsigned, IbEnd> owners;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    for (const IbPort& port : fabric.nodes[n].ports) {
      if (port.lid == 0 || fabric.nodes[n].is_switch() != (port.number == 0)) continue;
      const IbEnd here{static_cast<int>(n), port.number};
      const auto [owner, fresh] = owners.emplace(port.lid, here);
      if (fresh) continue;
      auto& names = claims[std::to_string(port.lid)];
      if (names.empty()) names.push_back(name_of(fabric.at(owner->second)));
      names.push_back(name_of(fabric.nodes[n]));
    }
  claimed_twice(
      "fabric.duplicate-lid", "LID", claims,
      {"Restart the subnet manager so that it gives addresses anew, and see that there is one master."},
      findings);
}

std::map<std::string, std::vector<std::string>> same_guids(const IbFabric& fabric) {
  std::map<std::string, std::vector<std::string>> claims;
  std::unordered_map<std::uint64_t, std::size_t> owners;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n) {
    std::set<std::uint64_t> guids = {fabric.nodes[n].guid};
    for (const IbPort& port : fabric.nodes[n].ports) guids.insert(port.guid);
    guids.erase(0);
    for (const std::uint64_t guid : guids) {
      const auto [owner, fresh] = owners.emplace(guid, n);
      if (fresh) continue;
      auto& names = claims[guid_text(guid)];
      if (names.empty()) names.push_back(name_of(fabric.nodes[owner->second]));
      names.push_back(name_of(fabric.nodes[n]));
    }
  }
  return claims;
}

}  // namespace

void judge_links(const FabricEvidence& evidence, const IbLayout& layout, const PlannedLinks& planned,
                 FabricFindings& findings) {
  Links(evidence, layout, planned, findings).judge();
}

void judge_identities(const FabricEvidence& evidence, FabricFindings& findings) {
  const IbFabric& fabric = evidence.fabric;
  const Remedy remedy = {
      "Give one of them the GUID of its label (mstflint), or take it out: packets for one reach "
      "the other."};
  auto claims = same_guids(fabric);
  std::set<std::string> said;
  for (const IbConflict& conflict : fabric.conflicts)
    if (!claims.contains(guid_text(conflict.guid)) && said.insert(guid_text(conflict.guid)).second)
      findings.fail(
          "fabric.duplicate-guid", guid_text(conflict.guid),
          {.message = fmt::format("two nodes have the GUID {}: {}", guid_text(conflict.guid), conflict.text),
           .expected = "one owner",
           .observed = conflict.text,
           .remedy = remedy});
  // Two nodes that share a GUID share those of its ports as well: one finding is enough.
  if (claims.size() > 1)
    std::erase_if(claims, [kept = std::set<std::vector<std::string>>()](const auto& claim) mutable {
      return !kept.insert(claim.second).second;
    });
  claimed_twice("fabric.duplicate-guid", "the GUID", claims, remedy, findings);
  findings.pass_unless_red("fabric.duplicate-guid", fmt::format("{} nodes", fabric.nodes.size()));
  duplicate_lids(fabric, findings);
  findings.pass_unless_red("fabric.duplicate-lid", fmt::format("{} nodes", fabric.nodes.size()));
}

void judge_managers(const FabricEvidence& evidence, FabricFindings& findings) {
  const IbFabric& fabric = evidence.fabric;
  if (!fabric.live) {
    for (const std::string_view rule : {"fabric.no-manager", "fabric.two-managers"})
      findings.calm(Status::kNotApplicable, rule, "a file says nothing of subnet managers");
    return;
  }
  std::vector<std::string> masters;
  for (const IbManager& manager : fabric.managers)
    if (manager.state == IbManagerState::kMaster)
      masters.push_back(fmt::format("{} (priority {})", name_of(fabric.at(manager.end)), manager.priority));
  if (masters.empty())
    findings.fail(
        "fabric.no-manager", "subnet",
        {.message = "no subnet manager is master: ports get no addresses, and no new link comes up",
         .expected = "one master",
         .observed = fmt::format("{} managers, none of them master", fabric.managers.size()),
         .remedy = {"Start OpenSM on the hosts that cluster.yaml names, or the switch's own manager.",
                    {"systemctl start opensm"}}});
  if (masters.size() > 1)
    findings.fail(
        "fabric.two-managers", "subnet",
        {.message = fmt::format("{} subnet managers are master at once: {}", masters.size(),
                                fmt::join(masters, ", ")),
         .expected = "one master, others standby",
         .observed = fmt::format("{}", fmt::join(masters, ", ")),
         .remedy = {"Stop one of them. They do not see each other, or hold different keys (sm_key)."}});
  findings.pass_unless_red("fabric.no-manager", "one is master");
  findings.pass_unless_red("fabric.two-managers", "one at most is master");
}

void judge_states(const FabricEvidence& evidence, FabricFindings& findings) {
  const IbFabric& fabric = evidence.fabric;
  if (!fabric.live) {
    for (const std::string_view rule : {"fabric.port-state", "fabric.silent"})
      findings.calm(Status::kNotApplicable, rule, "a file says nothing of the states of ports");
    return;
  }
  for (const IbSilence& silence : fabric.silent)
    findings.fail("fabric.silent", place_of(fabric, silence.end),
                  {.message = fmt::format("{} has a link, and what is behind it does not answer: {}",
                                          place_of(fabric, silence.end), silence.text),
                   .expected = "an answer",
                   .observed = silence.text,
                   .remedy = {"Its firmware hangs, or the cable loses packets: restart what is behind it."}});
  std::optional<std::size_t> no_manager;
  for (std::size_t i = 0; i < findings.list().size(); ++i)
    if (findings.list()[i].rule == "fabric.no-manager" && findings.list()[i].status == Status::kFail)
      no_manager = i;
  std::vector<Cable> waiting;
  each_cable(fabric, [&](const IbEnd& end, const IbEnd& other) {
    const auto idle = [](const IbPort& port) {
      return port.state == IbState::kInit || port.state == IbState::kArmed;
    };
    if (idle(fabric.port(end)) || idle(fabric.port(other))) waiting.push_back({end, other});
  });
  if (no_manager && !waiting.empty()) {
    findings.fail("fabric.port-state", "subnet",
                  {.message = fmt::format("{} cables wait for a subnet manager", waiting.size()),
                   .expected = "ACTIVE",
                   .observed = "INIT",
                   .remedy = {}});
    findings.list().back().caused_by = no_manager;
    return;
  }
  for (const Cable& cable : waiting) {
    const IbPort& port = fabric.port(cable.one);
    findings.fail(
        "fabric.port-state", place_of(fabric, cable.one),
        {.message = fmt::format("the cable between {} and {} has a link that is not active",
                                place_of(fabric, cable.one), place_of(fabric, cable.other)),
         .expected = "ACTIVE",
         .observed = fmt::format("{} and {}", word(port.state), word(fabric.port(cable.other).state)),
         .remedy = {"See the subnet manager's log for this port; it may not reach it, or be waiting."}});
  }
  const std::string nodes = fmt::format("{} nodes", fabric.nodes.size());
  findings.pass_unless_red("fabric.silent", nodes);
  findings.pass_unless_red("fabric.port-state", nodes);
}

}  // namespace railbed
