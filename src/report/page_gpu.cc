#include <algorithm>

#include "base/units.h"
#include "report/bars.h"
#include "report/gpu_table.h"
#include "report/page_pictures.h"

namespace railbed {
namespace {

constexpr std::size_t kMatrixNames = 32;

std::string copy_rate(const Measurement& measurement) {
  return fmt::format("{:.1f} GB/s", measurement.summary.median / 8e9);
}

// Returns the right end of a chart's axis, in bits per second.
double copy_axis(const std::vector<const Measurement*>& copies) {
  double most = 1;
  for (const Measurement* measurement : copies)
    most = std::max(
        {most, measurement->summary.median, measurement->summary.high, ceiling_rate(measurement->ceiling)});
  return most * 1.02;
}

Html own_copies(const std::vector<const Measurement*>& copies) {
  const double axis = copy_axis(copies);
  Html rows;
  for (const Measurement* measurement : copies)
    if (!measurement->failure)
      rows +=
          html(R"(<tr><th scope="row">{}</th>{}<td class="number">{}</td>{}</tr>)", measurement->operation,
               draw_bar_cell({measurement->summary.median, "rdma", measurement->summary.low,
                              measurement->summary.high, &measurement->ceiling},
                             axis),
               copy_rate(*measurement), draw_share_cell(measurement->summary.median, measurement->ceiling));
  return rows.empty() ? rows
                      : draw_chart("Each GPU and host memory, page-locked",
                                   {"Copy", "Bar", "Rate", "Of its ceiling"}, rows);
}

int place_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  names.push_back(name);
  return static_cast<int>(names.size()) - 1;
}

ShareCell peer_cell(const Measurement& measurement, int row, int column, double fastest) {
  const double full = ceiling_rate(measurement.ceiling) > 0 ? ceiling_rate(measurement.ceiling) : fastest;
  const std::string limit = ceiling_text(measurement.ceiling);
  ShareCell cell{row, column, fmt::format("{:.0f}", measurement.summary.median / 8e9), {}, {}};
  cell.title = fmt::format("{}: {}", measurement.operation,
                           measurement.failure ? measurement.failure->cause : copy_rate(measurement));
  if (!measurement.failure && full > 0) cell.share = measurement.summary.median / full;
  if (cell.share)
    cell.title +=
        fmt::format(", {:.0f} % of {}", *cell.share * 100, limit.empty() ? "the fastest pair" : limit);
  return cell;
}

Html peer_matrix(const std::vector<const Measurement*>& copies, bool both) {
  std::vector<std::string> names;
  std::vector<ShareCell> cells;
  double fastest = 0;
  for (const Measurement* measurement : copies) fastest = std::max(fastest, measurement->summary.median);
  for (const Measurement* measurement : copies) {
    const int row = place_of(names, measurement->from.interface);
    const int column = place_of(names, measurement->to.interface);
    cells.push_back(peer_cell(*measurement, row, column, fastest));
    if (both) cells.push_back(peer_cell(*measurement, column, row, fastest));
  }
  if (cells.empty() || names.size() > kMatrixNames) return {};
  return draw_share_table(both ? "Between GPUs, both ways at once and together, GB/s"
                               : "Between GPUs, GB/s from the row to the column",
                          "from \\ to", names, cells);
}

Html gpu_article(const std::string& node, const std::vector<const Measurement*>& copies) {
  std::vector<const Measurement*> own;
  std::vector<const Measurement*> one_way;
  std::vector<const Measurement*> both_ways;
  Html failures;
  for (const Measurement* measurement : copies) {
    (is_peer_copy(*measurement) ? is_both_ways(*measurement) ? both_ways : one_way : own)
        .push_back(measurement);
    if (measurement->failure)
      failures +=
          html(R"(<li class="bad">{}</li>)", measurement->operation) + draw_failure(measurement->failure);
  }
  Html all = own_copies(own);
  for (const Html& matrix : {peer_matrix(one_way, false), peer_matrix(both_ways, true)}) all += matrix;
  if (!failures.empty()) all += html(R"(<ul class="meaning">{}</ul>)", failures);
  return html(R"(<article class="path"><h3>GPU copies <span>on {}, {} each</span></h3>{}</article>)", node,
              to_text(ByteCount{copies.front()->message_bytes}), all);
}

}  // namespace

Html draw_gpu_copies(const std::vector<Measurement>& measurements) {
  std::vector<std::string> nodes;
  for (const Measurement& measurement : measurements)
    if (measurement.engine == Engine::kGpuCopy) place_of(nodes, measurement.from.node);
  Html all;
  for (const std::string& node : nodes) {
    std::vector<const Measurement*> copies;
    for (const Measurement& measurement : measurements)
      if (measurement.engine == Engine::kGpuCopy && measurement.from.node == node)
        copies.push_back(&measurement);
    all += gpu_article(node, copies);
  }
  return all;
}

}  // namespace railbed
