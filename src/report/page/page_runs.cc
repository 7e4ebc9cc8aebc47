#include <algorithm>

#include "base/units.h"
#include "predict/against.h"
#include "report/page/page_pictures.h"
#include "report/page/page_sections.h"
#include "report/picture/bars.h"
#include "report/text/bench_table.h"
#include "report/text/run_text.h"

namespace railbed {
namespace {

constexpr std::size_t kOthersListed = 200;

// True if another picture of this run shows the engine's measurements.
bool has_picture(const BenchRun& run, Engine engine) {
  if (engine == Engine::kStorage) return !run.storage.empty();
  if (engine == Engine::kTrain) return !run.trains.empty();
  if (engine == Engine::kCollective) return !run.collectives.empty();
  if (engine == Engine::kBurn) return !run.burns.empty();
  return engine == Engine::kTcp || engine == Engine::kRdma || engine == Engine::kGpuCopy;
}

Html other_row(const Measurement& measurement, double axis) {
  const std::string name =
      fmt::format("{}{}{}", bench_name(measurement), measurement.rail.empty() ? "" : ", ", measurement.rail);
  const Html head = html(R"(<th scope="row">{} <span class="quiet">{} {}</span></th>)", name,
                         measurement.from.node, to_text(ByteCount{measurement.message_bytes}));
  if (measurement.failure)
    return html(R"(<tr>{}<td class="bad" colspan="3">✕ {}: {}</td></tr>)", head, measurement.failure->stage,
                measurement.failure->cause);
  if (measurement.metric == Metric::kLatency)
    return html(R"(<tr>{}<td></td><td class="number">{}</td><td class="number quiet">–</td></tr>)", head,
                to_text(Nanoseconds{measurement.summary.median}));
  return html(R"(<tr>{}{}<td class="number">{}</td>{}</tr>)", head,
              draw_bar_cell({measurement.summary.median, "rdma", measurement.summary.low,
                             measurement.summary.high, &measurement.ceiling},
                            axis),
              to_text(BitRate{measurement.summary.median}),
              draw_share_cell(measurement.summary.median, measurement.ceiling));
}

Html run_choices(const BenchRun& run) {
  if (run.asked.empty()) return {};
  Html choices;
  for (const auto& [name, value] : run.asked)
    choices += html("<div><dt>{}</dt><dd>{}</dd></div>", name, value);
  return html(R"(<details><summary>Asked for: {} choices</summary><dl class="facts">{}</dl></details>)",
              run.asked.size(), choices);
}

Html run_pictures(const BenchRun& run, const Report& report) {
  Html all;
  for (const Ladder& ladder : run.ladders) all += draw_ladder(ladder);
  const auto merged = merge_repeats(run.measurements);
  all += draw_paths(merged);
  for (const RailReport& rail_report : run.pairs) all += draw_pairs(rail_report);
  all += draw_gpu_copies(merged);
  for (const CollectiveReport& collective_report : run.collectives)
    all += draw_collective(collective_report, forecasts_of(collective_report, report.cluster, report.facts));
  for (const StoragePlace& place : run.storage) all += draw_storage(place);
  for (const TrainReport& train_report : run.trains) all += draw_train(train_report);
  for (const BurnReport& burn : run.burns) all += draw_burn(burn);
  std::vector<Measurement> others;
  for (const Measurement& measurement : merged)
    if (!has_picture(run, measurement.engine)) others.push_back(measurement);
  return all + draw_others(others);
}

}  // namespace

Html draw_failure(const std::optional<Failure>& failure) {
  if (!failure) return {};
  return html(R"(<li class="bad"><strong>✕ {}:</strong> {}.{}</li>)", failure->stage, failure->cause,
              failure->remedy.empty() ? "" : " Next: " + failure->remedy);
}

Html draw_others(const std::vector<Measurement>& measurements) {
  if (measurements.empty()) return {};
  double axis = 1;
  for (const Measurement& measurement : measurements)
    if (measurement.metric == Metric::kBandwidth)
      axis = std::max({axis, measurement.summary.median,
                       measurement.ceiling.nominal ? 0 : ceiling_rate(measurement.ceiling)});
  Html rows;
  for (std::size_t i = 0; i < std::min(measurements.size(), kOthersListed); ++i)
    rows += other_row(measurements[i], axis * 1.02);
  return html(R"(<article class="path">{}</article>)",
              draw_chart("Measured", {"What", "Bar", "Median", "Of its ceiling"}, rows));
}

Html draw_runs(const Report& report) {
  Html all;
  std::size_t number = 0;
  for (const BenchRun& run : report.runs) {
    const Html when =
        run.started_at.empty() ? Html{} : html(R"(<time datetime="{0}">{0}</time>)", run.started_at);
    const Html command = run.command.empty() ? Html{} : html("<code>railbed {}</code>", run.command);
    all += html(
        R"(<section aria-labelledby="run-{0}"><h2 id="run-{0}">{1}</h2><p class="eyebrow">{2}{3}</p>{4}{5}</section>)",
        ++number, run_name(run), when, command, run_choices(run), run_pictures(run, report));
  }
  return all;
}

std::vector<Measurement> all_measurements(const Report& report) {
  std::vector<Measurement> all = report.measurements;
  for (const BenchRun& run : report.runs)
    for (Measurement& measurement : merge_repeats(run.measurements)) all.push_back(std::move(measurement));
  return all;
}

}  // namespace railbed
