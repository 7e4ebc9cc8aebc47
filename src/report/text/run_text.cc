#include "report/text/run_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts/facts.h"
#include "inventory/cluster.h"
#include "predict/against.h"
#include "report/all_rails.h"
#include "report/escape.h"
#include "report/ladder.h"
#include "report/text/bench_table.h"
#include "report/text/burn_text.h"
#include "report/text/collective_table.h"
#include "report/text/pairs_text.h"
#include "report/text/storage_table.h"
#include "report/text/train_text.h"

namespace railbed {
namespace {

// True if storage, training or collectives have tables of their own, which show more.
bool has_own_table(const BenchRun& run, Engine engine) {
  return (engine == Engine::kStorage && !run.storage.empty()) ||
         (engine == Engine::kTrain && !run.trains.empty()) ||
         (engine == Engine::kCollective && !run.collectives.empty()) ||
         (engine == Engine::kBurn && !run.burns.empty());
}

}  // namespace

std::string run_name(const BenchRun& run) {
  std::string name = run.id > 0 ? fmt::format("Run {}", run.id) : "Run";
  if (!run.label.empty()) return name + ": " + run.label;
  if (run.id > 0 || run.command.empty()) return name;
  return run.asked.contains("tool") ? run.command : "railbed " + run.command;  // of another tool
}

std::string run_line(const BenchRun& run) {
  std::string text = run_name(run);
  for (const std::string* part : {&run.started_at, &run.command})
    if (!part->empty()) text += ", " + *part;
  const auto failed = std::ranges::count_if(
      run.measurements, [](const Measurement& measurement) { return measurement.failure.has_value(); });
  text += fmt::format(": {} {}", run.measurements.size(),
                      run.measurements.size() == 1 ? "measurement" : "measurements");
  return printable(failed > 0 ? text + fmt::format(", {} failed", failed) : text) + '\n';
}

std::string run_text(const BenchRun& run) {
  std::string text;
  for (const auto& [what, value] : run.asked)
    text += fmt::format("  asked: {} {}\n", printable(what), printable(value));
  for (const auto& [what, value] : run.fingerprint)
    text += fmt::format("  {}: {}\n", printable(what), printable(value));
  std::vector<Measurement> plain;
  for (const Measurement& measurement : merge_repeats(run.measurements))
    if (!has_own_table(run, measurement.engine)) plain.push_back(measurement);
  text += '\n' + bench_table(plain);
  for (const Ladder& ladder : run.ladders) text += '\n' + ladder_text(ladder);
  if (const std::string at_once = all_rails_text(plain, true); !at_once.empty()) text += '\n' + at_once;
  for (const RailReport& report : run.pairs) text += '\n' + pairs_text(report);
  for (const CollectiveReport& report : run.collectives)
    text += '\n' + collective_table(report, {}, forecasts_of(report, Cluster{}, {}));
  for (const StoragePlace& place : run.storage) text += '\n' + storage_table(place);
  for (const TrainReport& report : run.trains) text += '\n' + train_text(report);
  for (const BurnReport& report : run.burns) text += '\n' + burn_text(report, false);
  return text;
}

}  // namespace railbed
