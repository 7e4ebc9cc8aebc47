// railbed predict latency: the parts of a message's latency, beside the measured value.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/fields.h"
#include "campaign/measure/history.h"
#include "cli/document.h"
#include "cli/measure/enum_words.h"
#include "cli/measure/kept_run.h"
#include "cli/option_checks.h"
#include "cli/plan/planning_commands.h"
#include "cli/terminal.h"
#include "predict/latency_budget.h"
#include "report/text/forecast_text.h"

namespace railbed {
namespace {

// The V100 guide's measurements, in microseconds; used if no others are given.
constexpr double kGuideRdma = 0.85;
constexpr double kGuideTcp = 21.9;

struct LatencyOptions {
  LatencyPath path;
  std::string speed = "40G";
  std::string kind;  // empty: the usual one of the network
  bool infiniband = false;
  double rdma = 0;  // microseconds; 0: not measured
  double tcp = 0;
  std::string run;
  std::string store;
  bool json = false;
};

struct LatencyOutput {
  std::map<std::string, std::string> units = {
      {"low", "ns"}, {"high", "ns"}, {"measured", "ns"}, {"tcp", "ns"}, {"rdma", "ns"}};
  std::vector<LatencyBudget> budgets;
  std::vector<SyncRow> syncs;
  FIELDS(LatencyOutput, units, budgets, syncs);
};
constexpr Document<LatencyOutput> kLatencyDocument{"railbed-predict-latency"};

Result<std::vector<LatencyBudget>> budgets_of_run(const LatencyOptions& options, const LatencyPath& path) {
  ASSIGN_OR_RETURN(const auto run, find_run(options.store, options.run, terminal_caller()));
  std::vector<LatencyBudget> budgets;
  for (const Measurement& measurement : run.measurements)
    if (measurement.metric == Metric::kLatency &&
        (measurement.engine == Engine::kTcp || measurement.engine == Engine::kRdma) && !measurement.failure)
      budgets.push_back(budget_of(measurement, path));
  if (budgets.empty())
    return fail(
        ErrorKind::kBadInput,
        fmt::format("run {} has no latency between two nodes; railbed bench rdma measures it", options.run));
  return budgets;
}

std::optional<MeasuredLatency> said(double microseconds) {
  if (microseconds <= 0) return std::nullopt;
  return MeasuredLatency{Nanoseconds{microseconds * 1000}, "as it was said"};
}

Nanoseconds shown(const std::vector<LatencyBudget>& budgets, std::string_view transport, double guide) {
  for (const LatencyBudget& budget : budgets)
    if (budget.transport == transport && budget.measured) return *budget.measured;
  return Nanoseconds{guide * 1000};
}

int run_latency(const LatencyOptions& options) {
  LatencyPath path = options.path;
  const auto speed = rate_option("--speed", options.speed);
  if (!speed) return report(speed.error());
  path.rate = *speed;
  path.kind = options.kind.empty() ? usual_switch(options.infiniband) : enum_of<SwitchClass>(options.kind);
  if (options.infiniband) path.wire = Wire::kInfiniband;
  Result<std::vector<LatencyBudget>> budgets =
      std::vector<LatencyBudget>{rdma_budget(path, said(options.rdma)), tcp_budget(path, said(options.tcp))};
  if (!options.run.empty()) budgets = budgets_of_run(options, path);
  if (!budgets) return report(budgets.error());
  LatencyOutput output;
  output.budgets = *budgets;
  output.syncs = sync_table(shown(*budgets, "TCP", kGuideTcp), shown(*budgets, "RDMA", kGuideRdma));
  if (options.json) {
    print_document(kLatencyDocument, output);
    return kExitClean;
  }
  for (const LatencyBudget& budget : output.budgets) fmt::print("{}\n", latency_budget_text(budget));
  fmt::print("{}  where nothing was measured: the V100 guide's 0.85 µs and 21.9 µs\n",
             sync_table_text(output.syncs));
  return kExitClean;
}

}  // namespace

Action declare_predict_latency(CLI::App& app) {
  auto options = std::make_shared<LatencyOptions>();
  app.add_option("--speed", options->speed, "speed of the slowest link (default 40G)");
  app.add_option("--bytes", options->path.message_bytes, "bytes of the message (default 64)")
      ->check(between(1, 1 << 20));
  app.add_option("--mtu", options->path.mtu, "MTU of the path (default 4096)")->check(between(256, 9000));
  app.add_option("--metres", options->path.metres, "metres of cable in all (default 2)")
      ->check(between(0.0, 100000.0));
  app.add_option("--switches", options->path.switches, "switches on the way (default 0: back to back)")
      ->check(between(0, 16));
  app.add_option(
         "--switch-class", options->kind,
         "infiniband (default of InfiniBand), cut-through (default of Ethernet), store-and-forward, low-cost")
      ->check(one_of(words_of<SwitchClass>()));
  app.add_flag("--infiniband", options->infiniband, "not Ethernet");
  auto* run =
      app.add_option("--run", options->run,
                     "beside the latencies of this run: its number, label, \"last\" or an exported file");
  app.add_option("--rdma", options->rdma, "microseconds that RDMA was measured at")
      ->check(between(0.01, 1e6))
      ->excludes(run);
  app.add_option("--tcp", options->tcp, "microseconds that TCP was measured at")
      ->check(between(0.01, 1e6))
      ->excludes(run);
  add_store_option(app, options->store);
  add_json_flag(app, options->json, "print one JSON document", kLatencyDocument);
  app.footer(
      "\nExamples:\n"
      "  railbed predict latency --speed 40G --rdma 0.85 --tcp 21.9      the V100 guide's pair\n"
      "  railbed predict latency --speed 400G --switches 3               over leaves and spines\n"
      "  railbed predict latency --run last --metres 3                   what this cluster measured\n\n"
      "Rows are ranges: what cannot be seen from a node is an estimate, and each names its source.");
  return [options] { return run_latency(*options); };
}

}  // namespace railbed
