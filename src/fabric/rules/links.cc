// Rules on cables that carry less than they could, ports that are not active,
// identities that occur twice, and subnet managers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/wording.h"
#include "fabric/fabric_rules.h"

namespace railbed {
namespace {

std::string ends_text(const FabricView& view, const IbCable& cable) {
  return fmt::format("{} and {}", place_of(view.fabric, cable.end), place_of(view.fabric, cable.other));
}

// Returns ", plane 3 has no link" of a port in planes that lacks some; empty of another.
std::string dark_planes(const IbPort& port) {
  std::vector<int> planes;
  for (int plane = 1; plane <= kMostIbPlanes; ++plane)
    if ((port.dark_planes >> (plane - 1) & 1U) != 0) planes.push_back(plane);
  if (planes.empty()) return "";
  return fmt::format(", {} {} no link", planes.size() == 1 ? "plane" : "planes",
                     fmt::format("{} {}", fmt::join(planes, ", "), planes.size() == 1 ? "has" : "have"));
}

// Returns the remedy for a link that is less than it should be: of the end whose settings allow no more, else `otherwise`.
template <class AllowsNoMore>
Remedy remedy_of(const FabricView& view, const IbCable& cable, AllowsNoMore allows_no_more,
                 std::string otherwise) {
  for (const IbEnd& end : {cable.end, cable.other})
    if (const IbLink& allowed = view.fabric.port(end).enabled; allowed.width > 0 && allows_no_more(allowed))
      return {
          fmt::format("{} is set to {} at most: set it to all that it supports (ibportstate, width and speed "
                      "or espeed), and find what set it.",
                      place_of(view.fabric, end), allowed.to_text())};
  return {std::move(otherwise)};
}

void judge_width(const FabricView& view, Judge& judge) {
  for (const IbCable& cable : view.cables) {
    const IbLink* link = cable.link(view.fabric);
    const IbWantedLink& wanted = cable.wanted_width;
    if (link != nullptr && cable.lone_pair) {
      on_port(view, judge, cable.end)
          .warn({.message = fmt::format("the cable between {} runs on 2 lanes, "
                                        "and no other cable there does",
                                        ends_text(view, cable)),
                 .expected = "4x, or 2x by a splitter or an adapter for half "
                             "the speed (HDR100, NDR200)",
                 .observed = link->to_text(),
                 .remedy = {"If it is meant, `railbed fabric verify --learn` keeps it "
                            "as the plan. Else two lanes "
                            "are broken: clean and reseat the cable, then swap it."}});
      continue;
    }
    if (link == nullptr || link->width >= wanted.link.width) continue;
    on_port(view, judge, cable.end)
        .fail({.message = fmt::format("the cable between {} runs on {} of {} lanes", ends_text(view, cable),
                                      link->width, wanted.link.width),
               .expected = fmt::format("{}x, {}", wanted.link.width, wanted.why),
               .observed = link->to_text() + dark_planes(view.fabric.port(cable.end)),
               .remedy = remedy_of(
                   view, cable, [&](const IbLink& allowed) { return allowed.width <= link->width; },
                   "A lane of the cable or of a connector is broken: clean and reseat it, then swap it.")});
  }
  pass_cables_unless_found(view, judge);
}

void judge_speed(const FabricView& view, Judge& judge) {
  for (const IbCable& cable : view.cables) {
    const IbLink* link = cable.link(view.fabric);
    const IbWantedLink& wanted = cable.wanted_speed;
    if (link == nullptr || link->speed >= wanted.link.speed) continue;
    on_port(view, judge, cable.end)
        .fail({.message = fmt::format("the cable between {} runs at {} instead of {}", ends_text(view, cable),
                                      word(link->speed), word(wanted.link.speed)),
               .expected = fmt::format("{}, {}", word(wanted.link.speed), wanted.why),
               .observed = link->to_text(),
               .remedy = remedy_of(
                   view, cable, [&](const IbLink& allowed) { return allowed.speed <= link->speed; },
                   "Clean and reseat the cable; see that it is made for this speed, and that no port "
                   "is set to a lower one (ibportstate).")});
  }
  pass_cables_unless_found(view, judge);
}

void judge_asymmetry(const FabricView& view, Judge& judge) {
  for (const IbCable& cable : view.cables) {
    const IbLink& link = view.fabric.port(cable.end).active;
    const IbLink& other = view.fabric.port(cable.other).active;
    if (link.width == 0 || other.width == 0 || link == other) continue;
    on_port(view, judge, cable.end)
        .fail({.message = fmt::format("the two ends of a cable disagree: {} says {}, {} says {}",
                                      place_of(view.fabric, cable.end), link.to_text(),
                                      place_of(view.fabric, cable.other), other.to_text()),
               .expected = "the same at both ends",
               .observed = fmt::format("{} and {}", link.to_text(), other.to_text()),
               .remedy = {"Pull the cable and plug it in again, so that both "
                          "ends negotiate anew; then try another."}});
  }
  pass_cables_unless_found(view, judge);
}

// Ends the rule as not applicable and returns true if the subnet was read from
// a file, which lacks `what`.
bool is_from_file(const FabricView& view, Judge& judge, std::string_view what) {
  if (!view.fabric.live) on_subnet(view, judge).not_applicable(fmt::format("a file has no {}", what));
  return !view.fabric.live;
}

// Returns whether a port has a link and no subnet manager has activated it.
bool is_waiting(const IbPort& port) { return port.state == IbState::kInit || port.state == IbState::kArmed; }

void judge_port_states(const FabricView& view, Judge& judge) {
  if (!view.fabric.states && is_from_file(view, judge, "states of ports")) return;
  std::vector<IbCable> waiting;
  std::ranges::copy_if(view.cables, std::back_inserter(waiting), [&](const IbCable& cable) {
    return is_waiting(view.fabric.port(cable.end)) || is_waiting(view.fabric.port(cable.other));
  });
  // Without a manager they all wait for one: one finding, which
  // fabric.no-manager explains. A file does not state its managers.
  if (view.fabric.live && view.masters.empty() && !waiting.empty())
    return on_subnet(view, judge)
        .fail({.message = fmt::format("{} for a subnet manager",
                                      counted(waiting.size(), "cable waits", "cables wait")),
               .expected = "ACTIVE",
               .observed = "INIT"});
  for (const IbCable& cable : waiting)
    on_port(view, judge, cable.end)
        .fail({.message =
                   fmt::format("the cable between {} has a link that is not active", ends_text(view, cable)),
               .expected = "ACTIVE",
               .observed = fmt::format("{} and {}", word(view.fabric.port(cable.end).state),
                                       word(view.fabric.port(cable.other).state)),
               .remedy = {"See the subnet manager's log for this port; it may "
                          "not reach it, or be waiting."}});
  // Some outputs show a port without the other end of its cable.
  for (std::size_t n = 0; view.fabric.states && n < view.fabric.nodes.size(); ++n)
    for (const IbPort& port : view.fabric.nodes[n].ports)
      if (is_waiting(port) && !port.peer && (port.number > 0 || !view.fabric.nodes[n].is_switch()))
        on_port(view, judge, {static_cast<int>(n), port.number})
            .fail(
                {.message = fmt::format("{} has a link that is not active",
                                        place_of(view.fabric, {static_cast<int>(n), port.number})),
                 .expected = "ACTIVE",
                 .observed = std::string(word(port.state)),
                 .remedy = {
                     "A subnet manager sets the state. See that one runs (sminfo), and its log for this port."}});
  pass_unless_found(view, judge, counted(view.fabric.nodes.size(), "node"));
}

void judge_silence(const FabricView& view, Judge& judge) {
  if (is_from_file(view, judge, "states of ports")) return;
  for (const IbSilence& silence : view.fabric.silent) {
    const std::string place = place_of(view.fabric, silence.end);
    on_port(view, judge, silence.end)
        .fail({.message = fmt::format("{} has a link, and what is behind it does not answer: {}", place,
                                      silence.text),
               .expected = "an answer",
               .observed = silence.text,
               .remedy = {"Its firmware hangs, or the cable loses packets: "
                          "restart what is behind it."}});
  }
  pass_unless_found(view, judge, counted(view.fabric.nodes.size(), "node"));
}

// The names of the nodes that claim a GUID or LID, by its text.
using Claims = std::map<std::string, std::vector<std::string>>;

// Fails each identity that several nodes claim.
void fail_claimed_twice(const FabricView& view, Judge& judge, std::string_view what, const Claims& claims,
                        const Remedy& remedy) {
  for (const auto& [key, names] : claims) {
    if (names.size() < 2) continue;
    const std::string claimants = fmt::format("{} and {}", names[0], names[1]);
    on_part(view, judge, key)
        .fail({.message = fmt::format("{} {} is claimed by {}{}", what, key, claimants,
                                      names.size() > 2 ? fmt::format(" and {} more", names.size() - 2) : ""),
               .expected = "one owner",
               .observed = claimants,
               .remedy = remedy});
  }
}

Claims shared_guids(const IbFabric& fabric) {
  Claims claims;
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

void judge_guids(const FabricView& view, Judge& judge) {
  const Remedy remedy = {
      "Give one of them the GUID of its label (mstflint), "
      "or take it out: packets for one reach "
      "the other."};
  Claims claims = shared_guids(view.fabric);
  std::set<std::string> reported;
  for (const IbConflict& conflict : view.fabric.conflicts) {
    const std::string guid = guid_text(conflict.guid);
    if (claims.contains(guid) || !reported.insert(guid).second) continue;
    on_part(view, judge, guid)
        .fail({.message = fmt::format("two nodes have the GUID {}: {}", guid, conflict.text),
               .expected = "one owner",
               .observed = conflict.text,
               .remedy = remedy});
  }
  // Two nodes that share a GUID share those of its ports as well: one finding
  // is enough.
  std::erase_if(claims, [kept = std::set<std::vector<std::string>>()](const auto& claim) mutable {
    return !kept.insert(claim.second).second;
  });
  fail_claimed_twice(view, judge, "the GUID", claims, remedy);
  pass_unless_found(view, judge, counted(view.fabric.nodes.size(), "node"));
}

void judge_lids(const FabricView& view, Judge& judge) {
  Claims claims;
  std::unordered_map<unsigned, IbEnd> owners;
  for (std::size_t n = 0; n < view.fabric.nodes.size(); ++n) {
    const IbNode& node = view.fabric.nodes[n];
    for (const IbPort& port : node.ports) {
      if (port.lid == 0 || node.is_switch() != (port.number == 0)) continue;
      const auto [owner, fresh] = owners.emplace(port.lid, IbEnd{static_cast<int>(n), port.number});
      if (fresh || owner->second.node == static_cast<int>(n)) continue;  // planes of an adapter share one
      auto& names = claims[std::to_string(port.lid)];
      if (names.empty()) names.push_back(name_of(view.fabric.at(owner->second)));
      names.push_back(name_of(node));
    }
  }
  fail_claimed_twice(view, judge, "LID", claims,
                     {"Restart the subnet manager so that it gives addresses "
                      "anew, and see that there is one master."});
  pass_unless_found(view, judge, counted(view.fabric.nodes.size(), "node"));
}

void judge_manager(const FabricView& view, Judge& judge) {
  if (is_from_file(view, judge, "subnet managers")) return;
  if (!view.masters.empty()) return on_subnet(view, judge).pass("one is master");
  on_subnet(view, judge)
      .fail({.message = "no subnet manager is master: ports get no addresses, "
                        "and no new link comes up",
             .expected = "one master",
             .observed = fmt::format("{} managers answer, none of them master", view.fabric.managers.size()),
             .remedy = {"Start OpenSM on the hosts that cluster.yaml names, or "
                        "the switch's own manager.",
                        {"systemctl start opensm"}}});
}

void judge_mute_managers(const FabricView& view, Judge& judge) {
  if (is_from_file(view, judge, "subnet managers")) return;
  for (const IbEnd& end : view.fabric.mute_managers) {
    const std::string host = host_of(view.fabric.at(end));
    on_part(view, judge, place_of(view.fabric, end), {thing_of(view, end), "subnet"})
        .fail({.message = fmt::format("{} has a subnet manager (IsSM) that does not answer",
                                      place_of(view.fabric, end)),
               .expected = "an answer to SMInfo",
               .observed = "none",
               .remedy = {fmt::format("The manager on {} hangs, or it was "
                                      "killed while its port stayed marked: "
                                      "restart it there.",
                                      host),
                          {"systemctl restart opensm"}}});
  }
  pass_unless_found(view, judge, fmt::format("{} managers", view.fabric.managers.size()));
}

void judge_second_manager(const FabricView& view, Judge& judge) {
  if (is_from_file(view, judge, "subnet managers")) return;
  if (view.masters.size() < 2) return on_subnet(view, judge).pass("one at most is master");
  std::vector<std::string> masters;
  for (const IbManager& master : view.masters)
    masters.push_back(fmt::format("{} (priority {})", name_of(view.fabric.at(master.end)), master.priority));
  on_subnet(view, judge)
      .fail({.message = fmt::format("{} subnet managers are master at once: {}", masters.size(),
                                    fmt::join(masters, ", ")),
             .expected = "one master, others standby",
             .observed = fmt::format("{}", fmt::join(masters, ", ")),
             .remedy = {"Stop one of them. They do not see each other, or hold "
                        "different keys (sm_key)."}});
}

}  // namespace

std::span<const Rule> ib_link_rules() {
  static const Rule kRules[] = {
      {.id = "fabric.width",
       .title = "Every cable runs on all its lanes",
       .why = "A 4x cable on one lane has a quarter of its speed.",
       .source = "PortInfo of both ends, or a dump of ibnetdiscover",
       .standard = "The plan; else what both ends support; in a dump, as most "
                   "cables between such devices",
       .remedy = "Clean and reseat the cable, then swap it.",
       .fixture = "one-lane",
       .explained_by = {},
       .check = judge_width},
      {.id = "fabric.speed",
       .title = "Every cable runs at its full speed",
       .why = "One slow cable slows every collective that crosses it.",
       .source = "PortInfo of both ends, or a dump of ibnetdiscover",
       .standard = "The plan; else what both ends support; in a dump, as most "
                   "cables between such devices",
       .remedy = "Clean and reseat the cable; see that it is made for this "
                 "speed, and that no port is set lower.",
       .fixture = "slow-cable",
       .explained_by = {},
       .check = judge_speed},
      {.id = "fabric.asymmetry",
       .title = "Both ends of a cable agree",
       .why = "One of the two drops what the other sends.",
       .source = "PortInfo of both ends, or a dump of ibnetdiscover",
       .standard = "Equal width and speed at both ends",
       .remedy = "Make both negotiate anew.",
       .fixture = "unequal-ends",
       .explained_by = {},
       .check = judge_asymmetry},
      {.id = "fabric.port-state",
       .title = "Every port with a link is active",
       .why = "Without it nothing but management passes.",
       .source = "PortInfo of both ends",
       .standard = "ACTIVE (InfiniBand specification, 7.2.7)",
       .remedy = "Read the subnet manager's log: it says why.",
       .fixture = "port-in-init",
       .explained_by = {"fabric.no-manager"},
       .check = judge_port_states},
  };
  return kRules;
}

std::span<const Rule> ib_subnet_rules() {
  static const Rule kRules[] = {
      {.id = "fabric.silent",
       .title = "What has a link answers",
       .why = "Firmware that hangs, or a cable that loses every packet.",
       .source = "NodeInfo, asked three times",
       .standard = "An answer",
       .remedy = "Restart what is behind the port.",
       .fixture = "silent-node",
       .explained_by = {},
       .check = judge_silence},
      {.id = "fabric.duplicate-guid",
       .title = "No GUID is there twice",
       .why = "Packets for the one reach the other.",
       .source = "NodeInfo and NodeDescription of every node, or a dump of "
                 "ibnetdiscover",
       .standard = "One owner",
       .remedy = "Give one the GUID of its label.",
       .fixture = "shared-guid",
       .explained_by = {},
       .check = judge_guids},
      {.id = "fabric.duplicate-lid",
       .title = "No LID is there twice",
       .why = "Packets for the one reach the other.",
       .source = "PortInfo of both ends, or a dump of ibnetdiscover",
       .standard = "One owner",
       .remedy = "Restart the subnet manager; see that there is one.",
       .fixture = "shared-lid",
       .explained_by = {},
       .check = judge_lids},
      {.id = "fabric.mute-manager",
       .title = "Every subnet manager answers",
       .why = "A manager that hangs brings up no port, and keeps a standby "
              "from it if it still holds the subnet.",
       .source = "IsSM of every port's PortInfo, SMInfo of those",
       .standard = "An answer",
       .remedy = "Restart it.",
       .fixture = "mute-manager",
       .explained_by = {},
       .check = judge_mute_managers},
      {.id = "fabric.no-manager",
       .title = "A subnet manager is master",
       .why = "Without one no port gets an address or becomes active.",
       .source = "SMInfo of every port that says IsSM",
       .standard = "One master",
       .remedy = "Start OpenSM where it belongs.",
       .fixture = "no-master",
       .explained_by = {"fabric.mute-manager"},
       .check = judge_manager},
      {.id = "fabric.two-managers",
       .title = "One subnet manager at most is master",
       .why = "Two of them give addresses against each other.",
       .source = "SMInfo of every port that says IsSM",
       .standard = "One master, others standby",
       .remedy = "Stop one; see that their keys agree.",
       .fixture = "two-masters",
       .explained_by = {},
       .check = judge_second_manager},
  };
  return kRules;
}

}  // namespace railbed
