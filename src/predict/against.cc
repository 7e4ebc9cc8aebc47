#include "predict/against.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "facts/facts.h"
#include "inventory/cluster.h"
#include "predict/forecast_range.h"
#include "predict/path_limits.h"
#include "predict/shape_from_nodes.h"

namespace railbed {
namespace {

constexpr double kShort = .75;  // share of the band's lower end
// RDMA writes reach nearly all that headers and PCIe leave: published results are 92.6 to 97.4 of 100 Gb/s.
constexpr double kRawReached = .97, kRawLow = .9;
// Smaller messages are bound by their rate, not by the wire. It is the default of ib_write_bw.
constexpr std::uint64_t kFewestRawBytes = 64 << 10;

ForecastFit fit_in(double measured, double low) {
  if (measured >= low) return ForecastFit::kFits;
  return measured >= low * kShort ? ForecastFit::kDoubtful : ForecastFit::kFallsShort;
}

void add_report(std::vector<ForecastCheck>& checks, const CollectiveReport& report, const ClusterShape& shape,
                const Calibration& calibration) {
  const std::vector<Forecast> forecasts = forecasts_of(report, shape, calibration);
  for (std::size_t i = 0; i < forecasts.size(); ++i) {
    const CollectiveRow& row = report.rows[i];
    const Forecast& said = forecasts[i];
    if (row.busbw <= 0 || said.busbw <= 0) continue;
    ClusterShape fitted = shape;
    fit_to_report(fitted, report);
    checks.push_back({fmt::format("{}, {} GPUs", to_text(report.operation), report.ranks.size()), row.bytes,
                      row.busbw, said.busbw, said.busbw_low, said.busbw_high, row.busbw / said.busbw,
                      fit_of(row.busbw, said), fitted.domains() > 1,
                      fmt::format("{}; {}", said.limit.name, said.basis)});
  }
}

// Checks an RDMA bandwidth by the limit of its path.
std::optional<ForecastCheck> check_by(const Limit& limit, const Measurement& measurement) {
  const double most = limit.rate.bits_per_second;
  if (measurement.engine != Engine::kRdma || measurement.metric != Metric::kBandwidth ||
      measurement.summary.median <= 0 || most <= 0)
    return std::nullopt;
  return ForecastCheck{fmt::format("{}{}{} -> {} {}", measurement.rail, measurement.rail.empty() ? "" : " ",
                                   measurement.from.node, measurement.to.node, measurement.operation),
                       measurement.message_bytes,
                       measurement.summary.median,
                       most * kRawReached,
                       most * kRawLow,
                       most,
                       measurement.summary.median / (most * kRawReached),
                       fit_in(measurement.summary.median, most * kRawLow),
                       true,
                       fmt::format("{}; assumed: 97 % of it", limit.name)};
}

}  // namespace

ForecastFit fit_of(double measured, const Forecast& forecast) { return fit_in(measured, forecast.busbw_low); }

ForecastChoice choice_of(const CollectiveReport& report) {
  ForecastChoice choice;
  choice.type = report.type;
  choice.launched_apart = !report.one_launcher;
  return choice;
}

std::vector<Forecast> forecasts_of(const CollectiveReport& report, ClusterShape shape,
                                   const Calibration& calibration) {
  fit_to_report(shape, report);
  const ForecastChoice choice = choice_of(report);
  std::vector<Forecast> forecasts;
  for (const CollectiveRow& row : report.rows)
    forecasts.push_back(forecast_collective(shape, report.operation, row.bytes, calibration, choice));
  return forecasts;
}

std::vector<Forecast> forecasts_of(const CollectiveReport& report, const Cluster& cluster,
                                   const std::map<std::string, Facts>& facts) {
  if (report.ranks.size() < 2) return {};
  std::map<std::string, Facts> seen;
  std::set<std::string> nodes;
  for (const CollectiveRank& rank : report.ranks) {
    if (!nodes.insert(rank.node).second) continue;
    if (const auto known = facts.find(rank.node); known != facts.end()) seen.insert(*known);
  }
  ShapeWords words;
  words.gpu = report.ranks.front().gpu.name;
  words.nodes = static_cast<int>(nodes.size());
  words.gpus = static_cast<int>(report.ranks.size() / nodes.size());
  const auto shape = shape_from_nodes(cluster, seen, words);
  return shape ? forecasts_of(report, slowest_shape(*shape), shipped_calibration()) : std::vector<Forecast>{};
}

std::optional<ForecastCheck> check_rail(const Measurement& measurement) {
  if (measurement.ceiling.limits.empty() || measurement.ceiling.nominal) return std::nullopt;
  return check_by(measurement.ceiling.limits.front(), measurement);
}

std::optional<ForecastCheck> check_adapter(const Measurement& measurement, const ClusterShape& shape) {
  const bool has_rdma = shape.nic == NicKind::kInfiniband || shape.nic == NicKind::kRoce;
  if (!measurement.ceiling.limits.empty() || !measurement.ceiling.note.empty() || !has_rdma ||
      shape.nics < 1 || measurement.message_bytes < kFewestRawBytes ||
      measurement.operation.find("two ports") != std::string::npos)
    return std::nullopt;
  ClusterShape used = shape;
  if (measurement.operation.find("GPU memory") == std::string::npos) used.gpudirect = true;
  Limit limit = node_wire(used);
  limit.rate = limit.rate * (1.0 / shape.nics);
  limit.name += ", one adapter";
  if (measurement.operation.find(" duplex") != std::string::npos) {
    limit.rate = limit.rate * 2;
    limit.name += ", both ways";
  }
  return check_by(limit, measurement);
}
std::vector<ForecastCheck> check_run(const BenchRun& run, const ClusterShape& shape,
                                     const Calibration& calibration) {
  std::vector<ForecastCheck> checks;
  for (const CollectiveReport& report : run.collectives) add_report(checks, report, shape, calibration);
  for (const Measurement& measurement : run.measurements) {
    auto check = check_rail(measurement);
    if (!check) check = check_adapter(measurement, shape);
    if (check) checks.push_back(std::move(*check));
  }
  return checks;
}

ForecastFit worst_of(const std::vector<ForecastCheck>& checks) {
  ForecastFit worst = ForecastFit::kFits;
  for (const ForecastCheck& check : checks) worst = std::max(worst, check.fit);
  return worst;
}

}  // namespace railbed
