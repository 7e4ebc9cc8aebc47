// How long a plan takes over N nodes of eight rails, once facts and files were read: of nodes that
// have none of the files, and of nodes that have all.

// Rooms: report configure verify host facts inventory
#include <benchmark/benchmark.h>

#include <optional>

#include "composed_nodes.h"
#include "configure/plan.h"
#include "report/text/plan_text.h"
#include "settings/files.h"
#include "settings/render.h"

namespace railbed {
namespace {

// With what the captured machine and its cluster.yaml do not say.
Evidence evidence_to_plan(int nodes) {
  Evidence evidence = composed_evidence(nodes);
  for (auto& [name, facts] : evidence.nodes)
    facts.system.hosts =
        Reading<std::vector<HostsEntry>>({{*IpAddress::parse("127.0.0.1"), {"localhost"}}}, "/etc/hosts");
  for (std::size_t i = 0; i < evidence.cluster.nodes.size(); ++i) {
    Configuration& configure = evidence.cluster.nodes[i].configure;
    configure.user = "ops";
    configure.packages = true;
    configure.exporters = true;
    configure.management_interface = "eno1";
    configure.management_address =
        InterfaceAddress::parse(fmt::format("10.9.{}.{}/16", i / 250, i % 250 + 1));
  }
  return evidence;
}

FileStates states_of(const std::vector<Setting>& settings, bool configured) {
  FileStates states;
  for (const std::string& path : files_of(settings))
    states[path] = {Miss{Missing::kAbsent, "No such file or directory"}, path};
  if (configured)
    for (const Setting& setting : settings)
      for (const DesiredFile& file : setting.files)
        states[file.path] = {FileState{content_after(file, std::nullopt), file.mode}, file.path};
  return states;
}

// One survey and all settings of all nodes, as campaign/change/plan_nodes.cc has them.
struct Rendered {
  explicit Rendered(const Evidence& evidence) : survey(evidence), wide(survey) {
    for (const NodeView& view : survey.nodes)
      if (auto target = target_of(wide, view)) {
        targets.push_back(*std::move(target));
        settings.push_back(render_settings(targets.back()));
      }
  }
  Survey survey;
  ClusterWide wide;
  std::vector<Target> targets = {};
  std::vector<std::vector<Setting>> settings = {};
};

ClusterPlan plan_of(const Rendered& rendered, const std::vector<FileStates>& states) {
  ClusterPlan plan;
  for (std::size_t i = 0; i < states.size(); ++i)
    plan.nodes.push_back(plan_node(rendered.targets[i], rendered.settings[i], states[i]));
  return plan;
}

void plan_cluster(benchmark::State& state) {
  const Evidence evidence = evidence_to_plan(static_cast<int>(state.range(0)));
  std::vector<FileStates> states;
  for (const auto& settings : Rendered(evidence).settings)
    states.push_back(states_of(settings, state.range(1) != 0));
  std::size_t changes = 0;
  for (auto _ : state) {
    std::optional<Rendered> rendered(evidence);
    std::optional<ClusterPlan> plan = plan_of(*rendered, states);
    benchmark::DoNotOptimize(plan_text(*plan, {}));
    state.PauseTiming();  // a plan is printed, and railbed ends: nobody waits for the memory to be given back
    changes = 0;
    for (const NodePlan& node : plan->nodes) changes += node.changes.size();
    plan.reset();
    rendered.reset();
    state.ResumeTiming();
  }
  state.counters["changes"] = static_cast<double>(changes);
}
BENCHMARK(plan_cluster)
    ->ArgNames({"nodes", "configured"})
    ->ArgsProduct({{1, 10, 100, 1000}, {0, 1}})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railbed

BENCHMARK_MAIN();
