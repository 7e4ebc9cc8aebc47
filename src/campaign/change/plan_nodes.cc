#include "campaign/change/plan_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apply/node_apply.h"
#include "base/json.h"
#include "base/wording.h"
#include "campaign/look/survey.h"
#include "configure/answers.h"
#include "fleet/fleet.h"
#include "host/open.h"
#include "inventory/hostlist.h"
#include "settings/render.h"

namespace railbed {
namespace {

constexpr std::chrono::seconds kFilesDeadline{20};

using StatesByNode = std::map<std::string, FileStates, std::less<>>;

// Reads the sources' files; fails if they have no cluster.
Result<Evidence> read_with_cluster(const Sources& sources) {
  auto evidence = read_sources(sources);
  if (!evidence) return evidence;
  if (evidence->cluster.nodes.empty())
    return fail(
        ErrorKind::kBadInput,
        "a cluster.yaml says what nodes shall have: name it; `railbed init HOST…` writes a first one");
  return evidence;
}

Evidence without_others(Evidence evidence, const Names& names) {
  std::erase_if(evidence.nodes, [&](const auto& one) { return !names.contains(one.first); });
  return evidence;
}

NodeSettings settings_of_node(const ClusterWide& wide, const NodeView& view, const std::set<Section>& only) {
  NodeSettings made{.node = *view.name};
  auto target = target_of(wide, view);
  if (!target) {
    made.error = target.error().text;
    return made;
  }
  made.settings = render_settings(*target, only);
  made.platform = std::move(target->platform);
  return made;
}

// The live nodes, with one fleet for facts and files.
class LiveNodes {
 public:
  LiveNodes(const Cluster& cluster, const Names& names, ReachOptions reach, const Caller& caller)
      : cluster_(cluster),
        caller_(caller),
        as_root_(reach.as_root),
        fleet_(open_fleet(cluster, {names.begin(), names.end()}, std::move(reach))) {}

  void add_facts(Evidence& evidence) {
    Cluster quiet = cluster_;  // a plan imports no PyTorch and starts no container
    for (Node& node : quiet.nodes) {
      node.expect.venv.reset();
      node.expect.container.reset();
    }
    Surveyed surveyed = survey_nodes(fleet_, caller_, {}, quiet);
    evidence.nodes = std::move(surveyed.facts);
    evidence.unreachable = std::move(surveyed.unreachable);
    evidence.clocks = std::move(surveyed.clocks);
  }

  StatesByNode files(const std::map<std::string, std::vector<std::string>, std::less<>>& paths) {
    const auto request = [&](const std::string& node) {
      const auto asked = paths.find(node);
      return json::dump(
          json::encode(FilesRequest{asked == paths.end() ? std::vector<std::string>{} : asked->second}));
    };
    const auto answers =
        fleet::gather(fleet_, "files", request, kFilesDeadline, caller_.stop,
                      [&](const fleet::Step& step) { caller_.progress("reading files: " + step.to_text()); });
    StatesByNode states;
    for (const fleet::Answer& answer : answers) {
      if (!answer.result) continue;  // the plan reports its files as unread
      if (auto read = json::read<FileStates>(*answer.result)) states.emplace(answer.node, std::move(*read));
    }
    caller_.progress("");
    return states;
  }

  // Replaces the plan of a node that is being changed just now by an error: it may still roll back by itself.
  // Only root can read this.
  void name_changing(std::map<std::string, NodePlan>& plans) {
    if (!as_root_) return;
    for (const fleet::Answer& answer :
         fleet::gather(fleet_, kApplyFree, std::string("{}"), kFilesDeadline, caller_.stop))
      if (const auto plan = plans.find(answer.node); !answer.result && plan != plans.end())
        plan->second = {.node = answer.node, .error = without_node(answer.result.error())};
  }

 private:
  const Cluster& cluster_;
  const Caller& caller_;
  const bool as_root_;
  fleet::Fleet fleet_;
};

StatesByNode files_of_root(const std::string& root,
                           const std::map<std::string, std::vector<std::string>, std::less<>>& paths) {
  StatesByNode states;
  auto hosts = open_nodes(root);
  if (!hosts) return states;
  for (NamedHost& host : *hosts)
    if (const auto asked = paths.find(host.node); asked != paths.end())
      states.emplace(host.node, collect_files(*host.host, asked->second));
  return states;
}

// Makes the plan of a node from its facts, its settings and the states of their files.
struct Planner {
  const ClusterWide& wide;
  const PlanRequest& request;

  NodePlan plan(const NodeSettings& made, const StatesByNode& states) const {
    if (!made.error.empty()) return {.node = made.node, .error = made.error};
    static const FileStates kNone;
    const auto own = states.find(made.node);
    const Target target{wide, *wide.survey.find(made.node), made.platform};
    NodePlan plan = plan_node(target, made.settings, own == states.end() ? kNone : own->second,
                              {.take_over = request.take_over, .leftovers = request.only.empty()});
    const auto& clocks = wide.survey.evidence.clocks;
    if (const auto clock = clocks.find(made.node); clock != clocks.end())
      plan.clock_offset = clock->second.offset_seconds;
    return plan;
  }
};

// Returns the plans in the order of cluster.yaml, with an error for each node that has none.
ClusterPlan assemble(const Evidence& evidence, const Names& names, std::map<std::string, NodePlan> plans) {
  ClusterPlan all{.cluster = evidence.cluster.name};
  for (const Unreachable& unreachable : evidence.unreachable)
    plans.emplace(unreachable.node,
                  NodePlan{.node = unreachable.node, .error = without_node(unreachable.error)});
  for (const Node& node : evidence.cluster.nodes) {
    if (!names.contains(node.name)) continue;
    const auto found = plans.find(node.name);
    all.nodes.push_back(found != plans.end()
                            ? std::move(found->second)
                            : NodePlan{.node = node.name, .error = "there are no facts of it"});
  }
  return all;
}

}  // namespace

Result<Names> chosen_nodes(const std::vector<std::string>& lists, const Cluster& cluster) {
  Names names;
  ASSIGN_OR_RETURN(const auto named, named_hosts(lists));
  for (const std::string& name : named) {
    if (find_node(cluster, name) == nullptr) return fail(no_such_node(cluster, name));
    names.insert(name);
  }
  if (lists.empty())
    for (const Node& node : cluster.nodes) names.insert(node.name);
  return names;
}

Result<std::vector<NodeSettings>> render_nodes(const PlanRequest& request) {
  ASSIGN_OR_RETURN(auto evidence, read_with_cluster(request.sources));
  ASSIGN_OR_RETURN(const auto names, chosen_nodes(request.nodes, evidence.cluster));
  for (const Node& node : evidence.cluster.nodes) evidence.nodes.try_emplace(node.name);
  const Survey survey(evidence);
  const ClusterWide wide(survey);
  std::vector<NodeSettings> all;
  for (const Node& node : evidence.cluster.nodes)
    if (names.contains(node.name))
      all.push_back(settings_of_node(wide, *survey.find(node.name), request.only));
  return all;
}

Result<ClusterPlan> plan_nodes(const PlanRequest& request, ReachOptions reach, const Caller& caller) {
  ASSIGN_OR_RETURN(auto evidence, read_with_cluster(request.sources));
  ASSIGN_OR_RETURN(const auto names, chosen_nodes(request.nodes, evidence.cluster));
  std::optional<LiveNodes> live;
  if (request.sources.live())
    live.emplace(evidence.cluster, names, std::move(reach), caller).add_facts(evidence);
  const Evidence own = without_others(std::move(evidence), names);
  const Survey survey(own);
  const ClusterWide wide(survey);
  std::vector<NodeSettings> settings;
  std::map<std::string, std::vector<std::string>, std::less<>> paths;
  for (const NodeView& view : survey.nodes) {
    if (view.wanted == nullptr) continue;  // a machine that cluster.yaml does not describe
    settings.push_back(settings_of_node(wide, view, request.only));
    paths.emplace(*view.name, files_of(settings.back().settings));
  }
  const StatesByNode states = live ? live->files(paths) : files_of_root(request.sources.root, paths);
  std::map<std::string, NodePlan> plans;
  for (const NodeSettings& made : settings)
    plans.emplace(made.node, Planner{wide, request}.plan(made, states));
  if (live) live->name_changing(plans);
  ClusterPlan plan = assemble(own, names, std::move(plans));
  return request.fix ? answers_to(verify(own).findings, std::move(plan), {request.rules, request.only})
                     : std::move(plan);
}

}  // namespace railbed
