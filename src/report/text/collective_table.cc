#include "report/text/collective_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/units.h"
#include "predict/against.h"
#include "report/escape.h"
#include "report/text/bench_table.h"

namespace railbed {
std::string collective_gpus_text(const CollectiveReport& report) {
  std::map<std::string, int> names;
  std::set<std::string> nodes;
  for (const CollectiveRank& rank : report.ranks) {
    ++names[rank.gpu.name];
    nodes.insert(rank.node);
  }
  std::string text;
  for (const auto& [name, count] : names)
    text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", count, name);
  if (nodes.size() > 1) text += fmt::format(" on {} nodes", nodes.size());
  return text;
}

namespace {

std::string time_text(double ns) { return ns > 0 ? fmt::format("{:.2f}", ns / 1e3) : "-"; }
std::string rate_text(double bits) { return fmt::format("{:.2f}", bits / 8e9); }

std::string share(const CollectiveReport& report, const CollectiveRow& row) {
  if (report.ceiling.limits.empty()) return "-";
  return fmt::format("{:.0f} %", row.busbw / report.ceiling.limits.front().rate.bits_per_second * 100);
}

std::string row_text(const CollectiveReport& report, const CollectiveRow& row) {
  return fmt::format("  {:>9}{:>11}{:>11}{:>11}{:>11}{:>10}{:>10}{:>8}{:>8}\n", to_text(ByteCount{row.bytes}),
                     time_text(row.launched.median), time_text(row.single.median), time_text(row.single.p99),
                     row.graph ? time_text(row.graph->median) : "-", rate_text(row.algbw),
                     rate_text(row.busbw), share(report, row),
                     row.checked ? fmt::format("{}", row.wrong + row.in_place_wrong) : "-");
}

// True if the run used the network. Within one node, the network that NCCL found is not used.
bool uses_network(const diagnose::Log& log) {
  return std::ranges::any_of(log.communicators, [](const diagnose::LogCommunicator& communicator) {
    return communicator.nodes > 1 ||
           std::ranges::any_of(communicator.connections, [](const diagnose::LogConnections& connection) {
             return connection.via.starts_with("NET/");
           });
  });
}

// "network Socket · 24 channels · 48 × P2P/CUMEM"
std::string log_text(const diagnose::Log& log) {
  std::string text;
  const auto add = [&](const std::string& piece) { text += (text.empty() ? "" : " · ") + piece; };
  if (uses_network(log))
    for (const diagnose::LogNetwork& network : log.networks) add("network " + network.name);
  if (!log.gpudirect.empty()) add("GPUDirect " + log.gpudirect);
  if (log.communicators.empty()) return text;
  const diagnose::LogCommunicator& communicator = log.communicators.front();
  if (communicator.collective_channels > 0) add(fmt::format("{} channels", communicator.collective_channels));
  if (communicator.nvls_channels > 0) add(fmt::format("{} NVLS channels", communicator.nvls_channels));
  for (const diagnose::LogConnections& connection : communicator.connections)
    add(fmt::format("{} × {}", connection.count, connection.via));
  return text;
}

void add_choices(std::string& text, const diagnose::Log& log) {
  for (const diagnose::LogChoice& choice : log.choices)
    text += fmt::format("  NCCL chose for {} of {} to {}: {} {}, {} channels\n", printable(choice.function),
                        to_text(ByteCount{choice.from_bytes}), to_text(ByteCount{choice.to_bytes}),
                        printable(choice.algorithm), printable(choice.protocol), choice.channels);
}

void add_problems(std::string& text, const diagnose::Log& log) {
  for (const diagnose::LogProblem& problem : log.problems) {
    if (problem.severity == nccl::Severity::kNote || problem.consequence) continue;
    text += fmt::format("  NCCL: {}\n", printable(problem.title));
    if (!problem.cause.empty()) text += fmt::format("    cause: {}\n", problem.cause);
    if (!problem.remedy.empty()) text += fmt::format("    do: {}\n", problem.remedy);
  }
}

void add_ceiling(std::string& text, const CollectiveReport& report) {
  if (report.rows.empty()) return;
  const auto best = std::ranges::max_element(report.rows, {}, &CollectiveRow::busbw);
  const Ceiling& ceiling = report.ceiling;
  if (ceiling.limits.empty()) {
    if (!ceiling.note.empty()) text += fmt::format("  no ceiling: {}\n", ceiling.note);
    return;
  }
  const Limit& limit = ceiling.limits.front();
  text += fmt::format("  best busbw {} GB/s: {} of {:.1f} GB/s, limited by {}\n", rate_text(best->busbw),
                      share(report, *best), limit.rate.gigabytes(), limit.name);
  text += fmt::format("  ceiling = {}\n", limit.source);
  if (best->busbw > limit.rate.bits_per_second)
    text += "  above the links' rate: a switch reduces on the way (NVLS, SHARP), so that less is sent\n";
}

// Adds the rows that do not fit their forecast, and the forecast of the largest size.
void add_forecasts(std::string& text, const CollectiveReport& report,
                   const std::vector<Forecast>& forecasts) {
  if (forecasts.empty() || forecasts.size() != report.rows.size()) return;
  for (std::size_t i = 0; i < forecasts.size(); ++i) {
    const ForecastFit fit = fit_of(report.rows[i].busbw, forecasts[i]);
    if (fit == ForecastFit::kFits && i + 1 < forecasts.size()) continue;
    text += fmt::format("  {}: predicted {} GB/s ({} - {}), measured {}: {}\n",
                        to_text(ByteCount{report.rows[i].bytes}), rate_text(forecasts[i].busbw),
                        rate_text(forecasts[i].busbw_low), rate_text(forecasts[i].busbw_high),
                        rate_text(report.rows[i].busbw), to_text(fit));
  }
}

}  // namespace

std::string collective_table(const CollectiveReport& report, const diagnose::Log& log,
                             const std::vector<Forecast>& forecasts) {
  std::string text = fmt::format("{} {}", to_text(report.operation), to_text(report.type));
  if (!report.ranks.empty())
    text += printable(fmt::format(", {}, NCCL {}", collective_gpus_text(report), report.version));
  text += '\n';
  if (const std::string said = log_text(log); !said.empty()) text += "  " + printable(said) + '\n';
  if (report.first_result > 0)
    text += fmt::format("  first verified result after {:.2f} s\n", report.first_result / 1e9);
  if (!report.rows.empty()) {
    text += fmt::format("  {:>9}{:>11}{:>11}{:>11}{:>11}{:>10}{:>10}{:>8}{:>8}\n", "size", "launched",
                        "single", "p99", "graph", "algbw", "busbw", "ceiling", "#wrong");
    text += fmt::format("  {:>9}{}{}{}{}{:>10}{:>10}\n", "", right_aligned("µs", 11), right_aligned("µs", 11),
                        right_aligned("µs", 11), right_aligned("µs", 11), "GB/s", "GB/s");
  }
  for (const CollectiveRow& row : report.rows) text += row_text(report, row);
  if (!report.cut.empty()) text += "  sizes " + printable(report.cut) + '\n';
  add_ceiling(text, report);
  add_forecasts(text, report, forecasts);
  add_choices(text, log);
  add_problems(text, log);
  if (report.failure) {
    text += fmt::format("  FAILED ({}): {}\n", report.failure->stage, printable(report.failure->cause));
    if (!report.failure->remedy.empty()) text += fmt::format("    do: {}\n", report.failure->remedy);
  }
  return text;
}

}  // namespace railbed
