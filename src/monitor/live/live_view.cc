#include "monitor/live/live_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/wording.h"
#include "model/expected_rate.h"
#include "model/survey.h"
#include "report/causes.h"
#include "report/picture/picture.h"
#include "report/report.h"
#include "report/troubles.h"

namespace railbed {
namespace {

constexpr std::size_t kMostUnnamedEnds = 64;  // limit for a node without named rails

bool is_red(Status status) { return severity(status) <= severity(Status::kUnknown); }

// Builds the ends of rails from one look.
class EndsOfRails {
 public:
  EndsOfRails(const Evidence& evidence, const Findings& findings)
      : survey_(evidence), rates_(survey_), troubles_(findings) {}

  const Troubles& troubles() const { return troubles_; }

  LiveEnd of(const RailEnd& found) const {
    LiveEnd end;
    end.node = *found.node;
    end.interface = found.name;
    if (found.rdma) {
      end.device = found.rdma_name();
      end.state = found.rdma.port->state.value_or("");
      if (found.rdma.port->rate) end.rate = *found.rdma.port->rate;
    }
    if (found.interface != nullptr) add_interface(*found.interface, end);
    const std::string rail = found.rail == nullptr ? "" : found.rail->name;
    if (found.rail != nullptr) end.expected_mtu = found.rail->mtu;
    if (const auto expected = rates_.of(found)) end.expected_rate = expected->rate;
    const Trouble trouble = troubles_.of_end(end.node, rail, end.interface, end.device);
    end.health = trouble.health;
    end.trouble = trouble.text;
    return end;
  }

  // Returns the node's end of the rail; null if the node has no facts or no such end.
  const RailEnd* find(const Rail& rail, const std::string& node) const {
    const NodeView* const view = survey_.find(node);
    if (view == nullptr) return nullptr;
    const auto found = std::ranges::find(view->ends, &rail, &RailEnd::rail);
    return found == view->ends.end() ? nullptr : &*found;
  }

  std::vector<LiveEnd> unnamed(const std::string& node) const {
    std::vector<LiveEnd> ends;
    if (const NodeView* const view = survey_.find(node))
      for (const RailEnd& end : view->ends)
        if (ends.size() < kMostUnnamedEnds) ends.push_back(of(end));
    return ends;
  }

 private:
  static void add_interface(const NetInterface& interface, LiveEnd& end) {
    if (interface.mtu) end.mtu = *interface.mtu;
    if (end.device.empty()) end.state = interface.operational_state.value_or("");
    if (!end.rate && interface.speed_mbps && *interface.speed_mbps > 0)
      end.rate = BitRate{*interface.speed_mbps * 1e6};
  }

  Survey survey_;
  ExpectedRates rates_;
  Troubles troubles_;
};

Health worst_of(const std::vector<LiveEnd>& ends, Health worst) {
  for (const LiveEnd& end : ends) worst = std::max(worst, end.health);
  return worst;
}

LiveRail rail_of(const Rail& rail, const EndsOfRails& all, const std::vector<std::string>& names) {
  LiveRail view;
  view.name = rail.name;
  view.kind = kind_of(rail.fabric);
  for (const RailPort& port : rail.ports) {
    if (std::ranges::find(names, port.node) == names.end()) continue;
    if (const RailEnd* const found = all.find(rail, port.node)) {
      view.ends.push_back(all.of(*found));
    } else {
      LiveEnd& end = view.ends.emplace_back();
      end.node = port.node;
      end.interface = port.interface;
      end.expected_mtu = rail.mtu;
      end.expected_rate = rail.speed;
      end.health = Health::kUnreachable;
      end.trouble = "the node gave no facts";
    }
  }
  view.health = worst_of(view.ends, all.troubles().of("", {"rail:" + rail.name}).health);
  return view;
}

std::vector<LiveRail> rails_of(const Evidence& evidence, const EndsOfRails& all,
                               const std::vector<std::string>& names) {
  std::vector<LiveRail> rails;
  for (const Rail& rail : evidence.cluster.rails) {
    LiveRail view = rail_of(rail, all, names);
    if (!view.ends.empty()) rails.push_back(std::move(view));
  }
  if (!evidence.cluster.rails.empty()) return rails;
  LiveRail unnamed;
  for (const std::string& name : names)
    for (LiveEnd& end : all.unnamed(name)) unnamed.ends.push_back(std::move(end));
  unnamed.health = worst_of(unnamed.ends, Health::kGood);
  if (!unnamed.ends.empty()) rails.push_back(std::move(unnamed));
  return rails;
}

void add_facts(const Facts& facts, const Troubles& troubles, LiveNode& node) {
  node.reachable = true;
  node.health = troubles.of_node(node.name).health;
  const System& system = facts.system;
  node.system = system.os.name.value_or("");
  if (system.kernel.release) node.system += (node.system.empty() ? "" : " · ") + *system.kernel.release;
  for (const Gpu& gpu : items(facts.gpus.devices)) {
    LiveGpu& view = node.gpus.emplace_back();
    view.pci_address = gpu.pci_address;
    view.model = model_of(gpu);
    const Trouble trouble = troubles.of_gpu(node.name, gpu.pci_address);
    view.health = trouble.health;
    view.trouble = trouble.text;
  }
}

std::vector<LiveNode> nodes_of(const Evidence& evidence, const Troubles& troubles,
                               const std::vector<std::string>& names) {
  std::vector<LiveNode> nodes;
  for (const std::string& name : names) {
    LiveNode& node = nodes.emplace_back();
    node.name = name;
    if (const auto facts = evidence.nodes.find(name); facts != evidence.nodes.end()) {
      add_facts(facts->second, troubles, node);
      continue;
    }
    const auto missed = std::ranges::find(evidence.unreachable, name, &Unreachable::node);
    const bool asked = missed != evidence.unreachable.end();
    node.why = asked ? without_node(missed->error) : "not asked yet";
    node.health = asked ? Health::kUnreachable : Health::kUnknown;
  }
  return nodes;
}

void count_findings(const Findings& findings, LiveView& view) {
  const StatusCounts counts = findings.counts();
  view.failures = counts.fail;
  view.warnings = counts.warn;
  view.unknown = counts.unknown;
  view.passed = counts.pass;
  std::map<std::string_view, LiveNode*> nodes;
  for (LiveNode& node : view.nodes) nodes.emplace(node.name, &node);
  for (const Finding& finding : findings) {
    if (finding.caused_by || !is_red(finding.status)) continue;
    const auto node = nodes.find(finding.node);
    if (node == nodes.end()) continue;
    (finding.status == Status::kFail   ? node->second->failures
     : finding.status == Status::kWarn ? node->second->warnings
                                       : node->second->unknown)++;
  }
}

LiveFinding finding_of(const Cause& cause) {
  const Finding& root = *cause.root.example;
  LiveFinding finding;
  finding.rule = root.rule;
  finding.node = root.node;
  finding.nodes = cause.root.nodes;
  finding.subject = root.subject;
  finding.status = root.status;
  finding.headline = headline(cause.root);
  finding.message = root.message;
  finding.remedy = root.remedy.text;
  finding.commands.assign(root.remedy.commands.begin(), root.remedy.commands.end());
  finding.explains = cause.explained;
  return finding;
}

std::string things(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// Returns the sentence: the first finding, and how many others there are.
std::string sentence_of(const LiveView& view, std::size_t broken) {
  if (broken > 0) {
    std::string text = view.findings.front().headline;
    if (broken > 1)
      text +=
          fmt::format(". {} besides", things(broken - 1, "other thing is broken", "other things are broken"));
    return text;
  }
  const bool waits = std::ranges::any_of(view.nodes, [](const LiveNode& node) { return !node.reachable; });
  if (view.warnings > 0) return "Nothing is broken; " + things(view.warnings, "warning", "warnings");
  if (view.unknown > 0)
    return "Nothing found broken, but " + things(view.unknown, "thing", "things") + " could not be looked at";
  if (view.passed == 0) return "Nothing was looked at yet";
  return waits ? "Nothing found broken so far; not all nodes have answered yet"
               : "Everything that was checked is as it should be";
}

void add_findings(const Findings& findings, LiveView& view) {
  std::size_t broken = 0;
  for (const Cause& cause : root_causes(findings)) {
    if (!is_red(cause.root.example->status)) continue;
    if (cause.root.example->status == Status::kFail) ++broken;
    if (view.findings.size() < kLiveFindings)
      view.findings.push_back(finding_of(cause));
    else
      ++view.findings_left_out;
  }
  view.sentence = sentence_of(view, broken);
  view.health = view.failures > 0                      ? Health::kBad
                : view.warnings > 0                    ? Health::kWarn
                : view.unknown > 0 || view.passed == 0 ? Health::kUnknown
                                                       : Health::kGood;
}

}  // namespace

LiveView live_view(const Evidence& evidence, const Findings& findings,
                   const std::vector<std::string>& names) {
  LiveView view;
  view.title = !evidence.cluster.name.empty() ? evidence.cluster.name : names.empty() ? "" : names.front();
  const EndsOfRails ends(evidence, findings);
  view.nodes = nodes_of(evidence, ends.troubles(), names);
  view.rails = rails_of(evidence, ends, names);
  count_findings(findings, view);
  add_findings(findings, view);
  return view;
}

// A Report owns its data, so the large parts are moved into it and back.
std::string draw_live_picture(Evidence& evidence, Findings& findings, const std::vector<std::string>& names) {
  const auto is_other = [&](const auto& node) { return std::ranges::find(names, node) == names.end(); };
  Report report;
  report.cluster = evidence.cluster;
  std::erase_if(report.cluster.nodes, [&](const Node& node) { return is_other(node.name); });
  for (Rail& rail : report.cluster.rails)
    std::erase_if(rail.ports, [&](const RailPort& port) { return is_other(port.node); });
  std::erase_if(report.cluster.rails, [](const Rail& rail) { return rail.ports.empty(); });
  report.unreachable = evidence.unreachable;
  std::erase_if(report.unreachable,
                [&](const Unreachable& unreachable) { return is_other(unreachable.node); });
  report.facts.swap(evidence.nodes);
  report.verdict.findings = std::move(findings);
  std::string drawn = draw_cluster(scene_of(report)).markup;
  report.facts.swap(evidence.nodes);
  findings = std::move(report.verdict.findings);
  return drawn;
}

void add_story(LiveView& view, const std::vector<NodeEvent>& present, const std::vector<NodeEvent>& recent) {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::map<Key, const NodeEvent*> known;
  for (const NodeEvent& event : present) known.emplace(Key(event.rule, event.node, event.subject), &event);
  const auto story = [&](LiveFinding& finding, std::string_view node) {
    auto found = known.find(Key(finding.rule, node, finding.subject));
    if (found == known.end() || !found->second->since) return;
    const NodeEvent& event = *found->second;
    if (finding.since && *finding.since <= event.since->unix_seconds) return;
    finding.since = event.since->unix_seconds;
    finding.times_before = event.times_before;
    finding.flaps = event.flaps;
    if (event.flapping_since) finding.flapping_since = event.flapping_since->unix_seconds;
    finding.changes_before = event.changes_before;
  };
  for (LiveFinding& finding : view.findings) {
    // A finding on the cluster as a whole is known under the cluster's name, or under that of the watching
    // node.
    if (finding.nodes.empty()) story(finding, view.title);
    if (finding.nodes.empty() && view.nodes.size() == 1) story(finding, view.nodes.front().name);
    for (const std::string& node : finding.nodes) story(finding, node);
  }
  const std::size_t shown = std::min(recent.size(), kLiveEvents);
  view.events.assign(recent.rbegin(), recent.rbegin() + static_cast<std::ptrdiff_t>(shown));
}

}  // namespace railbed
