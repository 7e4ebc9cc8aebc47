// The verdict on a run. The rows of one run share their error: what a forecast does not know of a cluster is
// the same for all sizes nearby. So many rows do not tell more than one does, and the mean of their
// deviations, in spreads between clusters, is taken to vary as much as that of one row. The rows of a subject
// and size class are one such mean, all rows are another. Half of the false alarms are for the mean of all
// rows, the other half is divided among the classes (Bonferroni). The tails are those of Student's t, because
// a spread between clusters is known from few clusters.
#include "predict/against.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/student.h"
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

// Shares of sound runs that fall short, and that are doubtful or worse: the lower end of the band for one row.
constexpr double kShortAlarms = .05, kDoubtfulAlarms = .1;
// The quantile of the normal distribution at the end of the band that holds 80 %.
constexpr double kBandEnd = 1.2816;

// Degrees of freedom of a spread between clusters: our assumption, because each is known from few clusters.
constexpr double kSpreadFreedom = 5;

constexpr std::array<std::string_view, 3> kSizeClasses = {"small sizes", "middle sizes", "large sizes"};

ForecastFit fit_in(double measured, double low) {
  if (measured >= low) return ForecastFit::kFits;
  return measured >= low * kShort ? ForecastFit::kDoubtful : ForecastFit::kFallsShort;
}

void add_report(std::vector<ForecastCheck>& checks, const CollectiveReport& report, const ClusterShape& shape,
                const Calibration& calibration) {
  const std::vector<Forecast> forecasts = forecasts_of(report, shape, calibration);
  ClusterShape fitted = shape;
  fit_to_report(fitted, report);
  for (std::size_t i = 0; i < forecasts.size(); ++i) {
    const CollectiveRow& row = report.rows[i];
    const Forecast& said = forecasts[i];
    if (row.busbw <= 0 || said.busbw <= 0) continue;
    ForecastCheck check =
        check_of(fmt::format("{}, {} GPUs", to_text(report.operation), report.ranks.size()), row.busbw, said);
    check.bytes = row.bytes;
    check.network = fitted.domains() > 1;
    checks.push_back(std::move(check));
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

// Rows that are pooled.
struct Pool {
  int rows = 0;
  double ratios = 0;      // sum of ln(measured ÷ predicted)
  double deviations = 0;  // sum of ln(predicted ÷ measured) ÷ spread
  void add(const ForecastCheck& check) {
    ++rows;
    ratios += std::log(check.ratio);
    deviations -= std::log(check.ratio) / check.spread;
  }
  PooledCheck judged(std::string what, double share) const {
    PooledCheck pooled{std::move(what), rows, std::exp(ratios / rows),
                       student_tail(deviations / rows, kSpreadFreedom), ForecastFit::kFits};
    if (pooled.probability <= kShortAlarms * share)
      pooled.fit = ForecastFit::kFallsShort;
    else if (pooled.probability <= kDoubtfulAlarms * share)
      pooled.fit = ForecastFit::kDoubtful;
    return pooled;
  }
};

}  // namespace

ForecastFit fit_of(double measured, const Forecast& forecast) { return fit_in(measured, forecast.busbw_low); }

ForecastCheck check_of(std::string subject, double busbw, const Forecast& forecast) {
  ForecastCheck check;
  check.subject = std::move(subject);
  check.bytes = forecast.bytes;
  check.measured = busbw;
  check.predicted = forecast.busbw;
  check.low = forecast.busbw_low;
  check.high = forecast.busbw_high;
  check.ratio = busbw / forecast.busbw;
  check.fit = fit_of(busbw, forecast);
  check.source = fmt::format("{}; {}", forecast.limit.name, forecast.basis);
  if (forecast.busbw_low > 0) check.spread = std::log(forecast.busbw / forecast.busbw_low) / kBandEnd;
  return check;
}

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

RunVerdict verdict_of(const std::vector<ForecastCheck>& checks) {
  RunVerdict verdict;
  Pool all;
  std::map<std::pair<std::string, std::size_t>, Pool> classes;
  for (const ForecastCheck& check : checks) {
    if (check.spread <= 0 || check.ratio <= 0) {
      verdict.fit = std::max(verdict.fit, check.fit);
      continue;
    }
    all.add(check);
    classes[{check.subject, size_range(check.bytes)}].add(check);
  }
  const double share = classes.size() > 1 ? .5 / static_cast<double>(classes.size()) : 1;
  for (const auto& [of, pool] : classes)
    verdict.pooled.push_back(pool.judged(fmt::format("{}, {}", of.first, kSizeClasses.at(of.second)), share));
  if (classes.size() > 1) verdict.pooled.push_back(all.judged("all rows", .5));
  for (const PooledCheck& pooled : verdict.pooled) verdict.fit = std::max(verdict.fit, pooled.fit);
  return verdict;
}

}  // namespace railbed
