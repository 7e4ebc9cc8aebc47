#include "campaign/look/gather.h"

#include <fmt/format.h>

#include "base/json.h"
#include "campaign/look/choose_nodes.h"
#include "campaign/look/evidence.h"
#include "campaign/look/survey.h"
#include "host/open.h"
#include "host/without_devices.h"
#include "inventory/hostlist.h"
#include "inventory/load.h"
#include "os/process.h"

namespace railbed {
namespace {

void look_at_this_machine(const CollectOptions& collect, const Caller& caller, Evidence& evidence) {
  caller.progress(collect.load_seconds
                      ? fmt::format("looking at this machine, {} s of it under load", *collect.load_seconds)
                      : "looking at this machine");
  Facts facts = collect_facts(*open_this_machine(), collect);
  const std::string name = facts.system.os.hostname.value_or("localhost");
  evidence.nodes.emplace(name, std::move(facts));
}

// Collects facts from the nodes of the cluster, or from this machine if there is none.
void look(CollectOptions collect, ReachOptions reach, const Caller& caller, Evidence& evidence) {
  if (evidence.cluster.nodes.empty()) return look_at_this_machine(collect, caller, evidence);
  fleet::Fleet fleet = open_fleet(evidence.cluster, std::move(reach));
  collect.paths = asked_paths(evidence.cluster);
  Surveyed surveyed = survey_nodes(fleet, caller, collect, evidence.cluster);
  evidence.clocks = std::move(surveyed.clocks);
  evidence.nodes = std::move(surveyed.facts);
  evidence.unreachable = std::move(surveyed.unreachable);
}

// Returns the options of a health check: all that its rules need, within kHealthDeadline.
CollectOptions health_options(const Sources& sources, const Cluster& cluster) {
  CollectOptions options = sources.collect;
  options.load_seconds.reset();
  options.paths = asked_paths(cluster);
  options.venv_seconds = kHealthVenvSeconds;
  options.venv_on_gpu = false;  // a job may begin at that moment
  if (const Node* node = find_node(cluster, *sources.only)) options.venv = node->expect.venv.value_or("");
  return options;
}

// Keeps the evidence of these nodes of the cluster.
Result<void> keep_nodes(const std::string& list, Evidence& evidence) {
  ASSIGN_OR_RETURN(const auto names, named_hosts(list));
  ASSIGN_OR_RETURN(auto cluster, narrowed(std::move(evidence.cluster), names));
  evidence.cluster = std::move(cluster);
  std::erase_if(evidence.nodes,
                [&](const auto& node) { return find_node(evidence.cluster, node.first) == nullptr; });
  std::erase_if(evidence.unreachable,
                [&](const Unreachable& node) { return find_node(evidence.cluster, node.node) == nullptr; });
  return {};
}

}  // namespace

Result<Evidence> read_sources(const Sources& sources, const Hear& note) {
  Evidence evidence;
  if (!sources.cluster.empty()) {
    ASSIGN_OR_RETURN(auto cluster, load_cluster(sources.cluster));
    evidence.cluster = std::move(cluster);
  }
  if (!sources.root.empty())
    if (auto added = add_root(sources.root, evidence, note); !added)
      return fail(std::move(added.error()), "--root");
  for (const std::string& file : sources.facts) RETURN_IF_ERROR(add_facts_file(file, evidence));
  for (const std::string& file : sources.measurements) RETURN_IF_ERROR(add_measurements_file(file, evidence));
  return evidence;
}

Result<Evidence> gather_evidence(const Sources& sources, ReachOptions reach, const Caller& caller) {
  auto read = read_sources(sources, caller.note);
  if (!read) return read;
  Evidence& evidence = *read;
  if (sources.live() && (sources.only || !sources.containers))
    for (Node& node : evidence.cluster.nodes) {
      node.expect.container.reset();
      node.expect.gpudirect_storage.reset();
    }
  if (!sources.live() && !reach.nodelist.empty())
    if (auto kept = keep_nodes(reach.nodelist, evidence); !kept) return tl::unexpected<Error>(kept.error());
  if (sources.live() && !sources.only) {
    auto chosen = choose_nodes(std::move(evidence.cluster), reach, caller);
    if (!chosen) return tl::unexpected<Error>(chosen.error());
    evidence.cluster = std::move(*chosen);
  }
  if (!sources.only) {
    if (sources.live()) look(sources.collect, std::move(reach), caller, evidence);
    caller.progress("");
    return read;
  }
  if (sources.live()) {
    auto facts = look_within(kHealthDeadline, health_options(sources, evidence.cluster));
    if (!facts) return tl::unexpected<Error>(facts.error());
    evidence.nodes.emplace(*sources.only, std::move(*facts));
  }
  if (auto one = narrow_to(*sources.only, evidence); !one) return tl::unexpected<Error>(one.error());
  return read;
}

Result<Facts> look_within(std::chrono::milliseconds deadline, const CollectOptions& options) {
  const auto answer = ask_in_child(
      "verify",
      [&](const Say&) {
        return json::dump(
            json::encode(collect_facts(*without_devices(open_this_machine(), options.left_alone), options)));
      },
      deadline);
  if (!answer.ok()) return fail(ErrorKind::kTimeout, "this machine: " + describe(answer.miss(), ""));
  return facts_from_json(*answer);
}

Result<void> narrow_to(const std::string& node, Evidence& evidence) {
  if (evidence.nodes.size() != 1)
    return fail(ErrorKind::kBadInput,
                fmt::format("a health check is about one node; these are {}", evidence.nodes.size()));
  if (!evidence.cluster.nodes.empty() && find_node(evidence.cluster, node) == nullptr)
    return fail(no_such_node(evidence.cluster, node));
  auto own = evidence.nodes.extract(evidence.nodes.begin());
  own.key() = node;
  evidence.nodes.insert(std::move(own));
  evidence.unreachable.clear();
  return {};
}

}  // namespace railbed
