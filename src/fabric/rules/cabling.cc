// Rules on nodes and cables against a plan. plan_comparison.cc finds the mistakes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/wording.h"
#include "fabric/fabric_rules.h"

namespace railbed {
namespace {

using Kind = CablingMistake::Kind;

constexpr std::size_t kCablesNamed = 3;

std::string far_end(const FabricView& view, const IbEnd& end) {
  return fmt::format("{} port {}", name_of(view.fabric.at(end)), end.port);
}

std::string cable_text(const FabricView& view, const IbEnd& end, const IbEnd& other) {
  return fmt::format("{} and {}", place_of(view.fabric, end), place_of(view.fabric, other));
}

const IbNode& planned_node(const FabricView& view, int planned) {
  return view.evidence.plan->nodes[static_cast<std::size_t>(planned)];
}

// Ends the rule as not applicable and returns true if there is no plan of this subnet.
bool lacks_plan(const FabricView& view, Judge& judge) {
  if (!view.compared)
    on_subnet(view, judge).not_applicable("no plan: --plan names one, --learn writes one");
  else if (view.compared->of_another_subnet())
    on_subnet(view, judge).not_applicable("the plan is of another subnet");
  return judge.has_findings();
}

void fail_missing_switch(const FabricView& view, Judge& judge, const PlanComparison::MissingSwitch& missing) {
  const IbNode& node = planned_node(view, missing.node);
  const auto cables = static_cast<std::size_t>(
      std::ranges::count_if(node.ports, [](const IbPort& port) { return bool(port.peer); }));
  std::string message = fmt::format("the switch {} is not in the subnet: its {} dark", name_of(node),
                                    cables == 1 ? "cable is" : fmt::format("{} cables are", cables));
  if (missing.behind > 0)
    message += fmt::format(", and {} behind it cannot be reached", counted(missing.behind, "node", "nodes"));
  on_part(view, judge, name_of(node))
      .fail({.message = std::move(message),
             .expected = fmt::format("{} ({})", name_of(node), guid_text(node.guid)),
             .observed = "no answer",
             .remedy = {fmt::format("Look at {}'s power supplies and its console.", name_of(node))}});
}

// Returns where the plan has the node's cables: "port 7 of leaf03".
std::string holes_of(const FabricView& view, int planned) {
  std::vector<std::string> holes;
  for (const IbPort& port : planned_node(view, planned).ports)
    if (port.peer) holes.push_back(place_of(*view.evidence.plan, port.peer));
  return fmt::format("{}", fmt::join(holes, " and "));
}

// Returns what is in the holes of a missing node.
std::string observed_of(const FabricView& view, int planned) {
  for (const IbPort& port : planned_node(view, planned).ports) {
    const IbEnd hole = port.peer ? view.compared->to_actual(view.fabric, port.peer) : IbEnd{};
    if (hole && view.fabric.port(hole).peer)
      return fmt::format("{} is there", far_end(view, view.fabric.port(hole).peer));
  }
  return "no link";
}

void fail_missing_hca(const FabricView& view, Judge& judge, int planned) {
  const IbNode& node = planned_node(view, planned);
  const std::string name = name_of(node), holes = holes_of(view, planned);
  on_part(view, judge, name)
      .fail({.message =
                 holes.empty()
                     ? fmt::format("{} is not in the subnet", name)
                     : fmt::format("{} is not in the subnet: nothing of it is in {}, where the plan wants it",
                                   name, holes),
             .expected = fmt::format("{} ({})", name, guid_text(node.guid)),
             .observed = observed_of(view, planned),
             .remedy = {fmt::format("See that {} is on; then reseat the cable at both ends, and try another.",
                                    host_of(node))}});
}

void fail_missing_host(const FabricView& view, Judge& judge, const PlanComparison::MissingHcas& missing) {
  std::vector<std::string> holes;
  for (const int node : missing.nodes) holes.push_back(holes_of(view, node));
  on_part(view, judge, missing.host)
      .fail({.message = fmt::format("{} is not in the subnet: none of its {} HCAs answers", missing.host,
                                    missing.nodes.size()),
             .expected = fmt::format("cables in {}", fmt::join(holes, ", ")),
             .observed = "no link",
             .remedy = {fmt::format("Look whether {} is powered on and has started its RDMA driver.",
                                    missing.host)}});
}

// Judges the nodes of the plan. A host whose HCAs are all missing is off; one that lacks some of them has bad
// cables or cards.
void judge_planned_nodes(const FabricView& view, Judge& judge) {
  if (view.compared->of_another_subnet())
    return on_part(view, judge, "plan")
        .fail({.message = "no node of the plan is in this subnet: is it the plan of another?",
               .expected = counted(view.evidence.plan->nodes.size(), "node", "nodes"),
               .observed = "none of them",
               .remedy = {"Name the plan of this subnet, or write one with --learn once it is healthy."}});
  for (const auto& missing : view.compared->missing_switches) fail_missing_switch(view, judge, missing);
  for (const auto& missing : view.compared->missing_hcas) {
    if (missing.whole_host)
      fail_missing_host(view, judge, missing);
    else
      for (const int node : missing.nodes) fail_missing_hca(view, judge, node);
  }
}

// Judges the hosts of cluster.yaml. Those that the plan has were judged by it.
void judge_expected_hosts(const FabricView& view, Judge& judge) {
  std::set<std::string> known;
  const auto add_hosts = [&](const IbFabric& fabric) {
    for (const IbNode& node : fabric.nodes) {
      const std::string name = host_of(node);
      known.insert(name);
      known.insert(name.substr(0, name.find('.')));
    }
  };
  add_hosts(view.fabric);
  if (view.compared && !view.compared->of_another_subnet()) add_hosts(*view.evidence.plan);
  for (const std::string& host : view.evidence.hosts) {
    if (known.contains(host)) continue;
    on_part(view, judge, host)
        .fail({.message = fmt::format("{} of cluster.yaml has no HCA in this subnet", host),
               .expected = fmt::format("an HCA that calls itself {}", host),
               .observed = "none",
               .remedy = {fmt::format("See that {} is on and cabled, and that its HCAs call themselves \"{} "
                                      "DEVICE\" (rdma-ndd does that).",
                                      host, host)}});
  }
}

void judge_missing_nodes(const FabricView& view, Judge& judge) {
  if (!view.compared && view.evidence.hosts.empty()) return void(lacks_plan(view, judge));
  if (view.compared) judge_planned_nodes(view, judge);
  judge_expected_hosts(view, judge);
  pass_unless_found(view, judge, view.compared ? "as planned" : "every node of cluster.yaml is in it");
}

void judge_missing_links(const FabricView& view, Judge& judge) {
  if (lacks_plan(view, judge)) return;
  const auto state = [&](const IbEnd& end) {
    const IbPort& port = view.fabric.port(end);
    return fmt::format(
        "{} {}", place_of(view.fabric, end),
        port.state == IbState::kNotSaid ? "has no link" : fmt::format("is {}", word(port.state)));
  };
  for (const CablingMistake& mistake : view.compared->mistakes) {
    if (mistake.kind != Kind::kMissing) continue;
    const IbEnd end = mistake.ends[0], other = mistake.ends[1];
    on_port(view, judge, end)
        .fail({.message = fmt::format("there is no link between {}, which the plan wants",
                                      cable_text(view, end, other)),
               .expected = far_end(view, other),
               .observed = fmt::format("{}, {}", state(end), state(other)),
               .remedy = {"Plug the cable in, or reseat both its ends; if it stays dark, try another."}});
  }
  pass_unless_found(view, judge, "as planned");
}

void fail_moved(const FabricView& view, Judge& judge, const IbEnd& wanted, const IbEnd& stays,
                const IbEnd& instead) {
  const std::string there = place_of(view.fabric, wanted), here = place_of(view.fabric, instead);
  on_port(view, judge, instead)
      .fail({.message = fmt::format("the cable of {} is in {}; the plan wants it in {}: move it there",
                                    far_end(view, stays), here, there),
             .expected = there,
             .observed = here,
             .remedy = {fmt::format("Move the cable from {} to {}.", here, there)}});
}

// A swap of two cables between the same two nodes harms nothing.
void judge_swapped(const FabricView& view, Judge& judge, const std::vector<IbEnd>& e) {
  const bool harmless = e[0].node == e[2].node && e[1].node == e[3].node;
  const std::string here = place_of(view.fabric, e[0]), there = far_end(view, view.fabric.port(e[0]).peer);
  const std::string other =
      e[0].node == e[2].node ? fmt::format("port {}", e[2].port) : place_of(view.fabric, e[2]);
  on_port(view, judge, e[0])
      .red(harmless ? Status::kWarn : Status::kFail,
           {.message = fmt::format("the cable in {} goes to {}; the plan wants {} there: swap it with the "
                                   "cable in {}",
                                   here, there, far_end(view, e[1]), other),
            .expected = far_end(view, e[1]),
            .observed = there,
            .remedy = {fmt::format("Swap the cables in {} and {}.", here, place_of(view.fabric, e[2]))}});
}

void fail_mixed_up(const FabricView& view, Judge& judge, const std::vector<IbEnd>& ends) {
  std::vector<std::string> cables;
  std::size_t wrong = 0;
  for (const IbEnd& end : ends) {
    const IbEnd wanted = view.compared->wanted_at(end), there = view.fabric.port(end).peer;
    if (!wanted || wanted == there || !view.fabric.at(end).is_switch()) continue;
    ++wrong;
    if (cables.size() < kCablesNamed)
      cables.push_back(fmt::format("{} goes to {} and should go to {}", place_of(view.fabric, end),
                                   there ? far_end(view, there) : "nothing", far_end(view, wanted)));
  }
  on_port(view, judge, ends.front())
      .fail({.message = fmt::format("{} not where the plan wants them: {}{}",
                                    counted(wrong, "cable is", "cables are"), fmt::join(cables, "; "),
                                    wrong > cables.size() ? "; …" : ""),
             .expected = "the plan",
             .observed = counted(wrong, "hole with another cable", "holes with other cables"),
             .remedy = {"Put each of them where the plan wants it."}});
}

void judge_misplaced_cables(const FabricView& view, Judge& judge) {
  if (lacks_plan(view, judge)) return;
  for (const auto& [kind, ends] : view.compared->mistakes) {
    if (kind == Kind::kMoved) fail_moved(view, judge, ends[0], ends[1], ends[2]);
    if (kind == Kind::kSwapped) judge_swapped(view, judge, ends);
    if (kind == Kind::kMixedUp) fail_mixed_up(view, judge, ends);
  }
  pass_unless_found(view, judge, "as planned");
}

void judge_unplanned(const FabricView& view, Judge& judge) {
  if (lacks_plan(view, judge)) return;
  for (std::size_t n = 0; n < view.fabric.nodes.size(); ++n) {
    if (view.compared->planned_of[n] >= 0) continue;
    const IbNode& node = view.fabric.nodes[n];
    std::vector<std::string> holes;
    for (const IbPort& port : node.ports)
      if (port.peer && holes.size() < kCablesNamed) holes.push_back(place_of(view.fabric, port.peer));
    on_part(view, judge, name_of(node))
        .warn({.message = fmt::format("{} is not in the plan; it is cabled to {}", name_of(node),
                                      fmt::join(holes, ", ")),
               .expected = "only what is planned",
               .observed = fmt::format("{} ({})", name_of(node), guid_text(node.guid)),
               .remedy = {"If it belongs there, write the plan anew with --learn."}});
  }
  for (const CablingMistake& mistake : view.compared->mistakes) {
    if (mistake.kind != Kind::kExtra) continue;
    const IbEnd end = mistake.ends[0], other = mistake.ends[1];
    on_port(view, judge, end)
        .warn({.message = fmt::format("a cable between {} is not in the plan", cable_text(view, end, other)),
               .expected = "no cable",
               .observed = far_end(view, other),
               .remedy = {"Pull it, or write the plan anew with --learn."}});
  }
  pass_unless_found(view, judge, "as planned");
}

void judge_replaced(const FabricView& view, Judge& judge) {
  if (lacks_plan(view, judge)) return;
  for (std::size_t n = 0; n < view.evidence.plan->nodes.size(); ++n) {
    const int at = view.compared->actual_of[n];
    if (at < 0) continue;
    const IbNode& planned = view.evidence.plan->nodes[n];
    const IbNode& actual = view.fabric.nodes[static_cast<std::size_t>(at)];
    if (planned.guid == actual.guid) continue;
    on_part(view, judge, name_of(actual))
        .warn(
            {.message = fmt::format("{} has another GUID than in the plan: it was replaced", name_of(actual)),
             .expected = guid_text(planned.guid),
             .observed = guid_text(actual.guid),
             .remedy = {"If that was meant, write the plan anew with --learn."}});
  }
  pass_unless_found(view, judge, "as planned");
}

}  // namespace

std::span<const Rule> ib_cabling_rules() {
  static const Rule kRules[] = {
      {.id = "fabric.missing-node",
       .title = "Every planned switch and HCA is in the subnet",
       .why = "What is dark carries nothing; a dead switch takes all that is behind it along.",
       .source = "NodeInfo and NodeDescription of every node, or a dump of ibnetdiscover",
       .standard = "the plan (--plan), as --learn wrote it of the healthy subnet; every node of cluster.yaml",
       .remedy = "Look at its power and its console, then at the cable.",
       .fixture = "dead-leaf",
       .explained_by = {},
       .check = judge_missing_nodes},
      {.id = "fabric.missing-link",
       .title = "Every planned cable has a link",
       .why = "The others carry its share, and a tree that lacks one is uneven.",
       .source = "PortInfo of both ends, or a dump of ibnetdiscover",
       .standard = "the plan (--plan), as --learn wrote it of the healthy subnet",
       .remedy = "Plug the cable in or reseat it, then swap it.",
       .fixture = "cable-out",
       .explained_by = {},
       .check = judge_missing_links},
      {.id = "fabric.cabling",
       .title = "Every cable is in the hole that the plan says",
       .why = "Cables in wrong holes break rails and the balance of a tree, and look healthy to each port.",
       .source = "PortInfo of both ends, or a dump of ibnetdiscover",
       .standard = "the plan (--plan), as --learn wrote it of the healthy subnet",
       .remedy = "Move or swap the cables that the finding names.",
       .fixture = "swapped-cables",
       .explained_by = {},
       .check = judge_misplaced_cables},
      {.id = "fabric.unplanned",
       .title = "Nothing is in the subnet that the plan does not know",
       .why = "It takes addresses and bandwidth, and may be what is missing elsewhere.",
       .source = "NodeInfo and NodeDescription of every node, or a dump of ibnetdiscover",
       .standard = "the plan (--plan), as --learn wrote it of the healthy subnet",
       .remedy = "Unplug it, or learn a new plan (--learn).",
       .fixture = "guest",
       .explained_by = {},
       .check = judge_unplanned},
      {.id = "fabric.replaced",
       .title = "Nodes have the GUIDs of the plan",
       .why = "Partitions, routing and licences may name the old GUID.",
       .source = "NodeInfo and NodeDescription of every node, or a dump of ibnetdiscover",
       .standard = "the plan (--plan), as --learn wrote it of the healthy subnet",
       .remedy = "Learn a new plan (--learn).",
       .fixture = "replaced-hca",
       .explained_by = {},
       .check = judge_replaced},
  };
  return kRules;
}

}  // namespace railbed
