#include <fmt/format.h>

#include <array>

#include "report/escape.h"
#include "report/text/familiar.h"

namespace railbed {
namespace {

std::string_view type_name(DataType type) {
  return std::array<std::string_view, 7>{
      "int8", "half", "bfloat16", "int32", "float", "int64", "double"}[static_cast<std::size_t>(type)];
}

// Returns a time for seven columns: 11.08, 6321.39, 24660.7.
std::string microseconds_text(double ns) {
  const double us = ns / 1e3;
  if (us >= 100'000) return fmt::format("{:.0f}", us);
  return us >= 10'000 ? fmt::format("{:.1f}", us) : fmt::format("{:.2f}", us);
}

struct Side {
  double time = 0;
  double busbw = 0;  // GB/s
  std::string text;
};

Side side_of(const CollectiveRow& row, const Summary& summary, const std::string& wrong) {
  // The ratio of the row's own rates, which depends on the operation alone.
  const double factor = row.algbw > 0 ? row.busbw / row.algbw : 1;
  const double algbw = summary.median > 0 ? static_cast<double>(row.bytes) / summary.median : 0;
  return {summary.median, algbw * factor,
          fmt::format("  {:>7}  {:>6.2f}  {:>6.2f}  {:>6}", microseconds_text(summary.median), algbw,
                      algbw * factor, wrong)};
}

std::string head(const CollectiveReport& report) {
  const auto& rows = report.rows;
  const std::uint64_t from = rows.empty() ? 0 : rows.front().bytes;
  const std::uint64_t to = rows.empty() ? 0 : rows.back().bytes;
  const std::uint64_t factor = rows.size() > 1 && rows[0].bytes > 0 ? rows[1].bytes / rows[0].bytes : 1;
  std::string text = fmt::format(
      "# Collective test starting: {}_perf\n"
      "# nThread {} nGpus 1 minBytes {} maxBytes {} step: {}(factor) warmup iters: 1 iters: "
      "{} agg iters: 1 validation: {} graph: 0 unalign: 0\n#\n# Using devices\n",
      to_text(report.operation), report.ranks.size(), from, to, factor, report.iterations,
      !rows.empty() && rows.front().checked ? 1 : 0);
  for (const CollectiveRank& rank : report.ranks) {
    const std::string bus = rank.gpu.address.substr(0, rank.gpu.address.rfind('.'));
    text += fmt::format("#  Rank {:>2} Group  0 Pid {:>6} on {:>10} device {:>2} [{}] {}\n", rank.rank,
                        rank.process, printable(rank.node), rank.gpu.ordinal, printable(bus),
                        printable(rank.gpu.name));
  }
  return text +
         "#\n#                                                              out-of-place                       in-place          \n"
         "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong \n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s) "
         "            (us)  (GB/s)  (GB/s)         \n";
}

}  // namespace

// If a run failed for another reason than wrong data, the text has the rows that were measured, without the
// lines that report OK.
std::string nccl_tests_text(const CollectiveReport& report) {
  if (report.failure && report.rows.empty()) return "";
  std::string text = head(report);
  std::uint64_t wrong = 0;
  double sum = 0;
  std::size_t sides = 0;
  for (const CollectiveRow& row : report.rows) {
    const auto count = [&](std::uint64_t elements, bool checked) {
      return row.checked && checked ? fmt::format("{}", elements) : std::string("N/A");
    };
    text += fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", row.bytes, row.elements,
                        type_name(report.type), reduces(report.operation) ? "sum" : "none", report.root);
    const Side out = side_of(row, row.launched, count(row.wrong, true));
    text += out.text;
    sum += out.busbw;
    ++sides;
    if (row.in_place) {
      const Side in =
          side_of(row, *row.in_place, count(row.in_place_wrong, checks_in_place(report.operation)));
      text += in.text;
      sum += in.busbw;
      ++sides;
    } else {
      text += fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", "N/A");
    }
    text += '\n';
    wrong += row.wrong + row.in_place_wrong;
  }
  if (report.failure && wrong == 0) return text;
  return text + fmt::format(
                    "# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g} \n#\n"
                    "# Collective test concluded: {}_perf\n#\n",
                    wrong, wrong == 0 ? "OK" : "FAILED", sides > 0 ? sum / static_cast<double>(sides) : 0,
                    to_text(report.operation));
}

}  // namespace railbed
