#include "report/gpu_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/units.h"
#include "report/bench_table.h"

namespace railbed {
bool is_peer_copy(const Measurement& measurement) {
  return measurement.from.interface != "host" && measurement.to.interface != "host" &&
         measurement.from.interface != measurement.to.interface;
}
bool is_both_ways(const Measurement& measurement) {
  return measurement.operation.find("↔") != std::string::npos;
}

namespace {

std::string left_aligned(const std::string& text, std::size_t width) {
  std::string padding = right_aligned(text, width);
  const auto spaces = padding.find_first_not_of(' ');
  return text + std::string(spaces == std::string::npos ? 1 : std::max<std::size_t>(spaces, 1), ' ');
}

std::string gigabytes(const Measurement& measurement) {
  return fmt::format("{:.1f} GB/s", measurement.summary.median / 8e9);
}

std::string share_of_limit(const Measurement& measurement) {
  if (measurement.ceiling.limits.empty()) return "-";
  return fmt::format(
      "{:.0f} %", measurement.summary.median / measurement.ceiling.limits.front().rate.bits_per_second * 100);
}

std::string row(const Measurement& measurement) {
  const Summary& summary = measurement.summary;
  const double spread = summary.median > 0 ? (summary.high - summary.low) / 2 / summary.median * 100 : 0;
  const auto& limits = measurement.ceiling.limits;
  const std::string limit =
      limits.empty() ? measurement.ceiling.note
                     : fmt::format("{:.1f} GB/s: {}", limits.front().rate.gigabytes(), limits.front().name);
  return fmt::format("  {}{:>12}{}{:>7}  of {}\n", left_aligned(measurement.operation, 18),
                     gigabytes(measurement), right_aligned(fmt::format("±{:.1f} %", spread), 10),
                     share_of_limit(measurement), limit);
}

void add_failures(std::string& text, const std::vector<Measurement>& copies) {
  for (const Measurement& measurement : copies)
    if (measurement.failure)
      text +=
          fmt::format("  {} FAILED ({}): {}\n    do: {}\n", measurement.operation, measurement.failure->stage,
                      measurement.failure->cause, measurement.failure->remedy);
}

// Returns GB/s from the row's GPU to the column's.
std::string matrix(const std::vector<const Measurement*>& peers, bool both) {
  std::map<std::string, std::map<std::string, double>> cells;
  std::vector<std::string> names;
  const auto know = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const Measurement* measurement : peers) {
    know(measurement->from.interface);
    know(measurement->to.interface);
    cells[measurement->from.interface][measurement->to.interface] = measurement->summary.median / 8e9;
    if (both)
      cells[measurement->to.interface][measurement->from.interface] = measurement->summary.median / 8e9;
  }
  std::string text = fmt::format("  {:8}", "");
  for (const auto& name : names) text += fmt::format("{:>9}", name);
  text += '\n';
  for (const auto& from : names) {
    text += fmt::format("  {:8}", from);
    for (const auto& to : names) {
      const auto found = cells[from].find(to);
      text += found == cells[from].end() ? fmt::format("{:>9}", "-") : fmt::format("{:>9.1f}", found->second);
    }
    text += '\n';
  }
  return text;
}

std::string peer_part(const std::vector<Measurement>& copies, bool both) {
  std::vector<const Measurement*> peers;
  for (const Measurement& measurement : copies)
    if (is_peer_copy(measurement) && is_both_ways(measurement) == both) peers.push_back(&measurement);
  if (peers.empty()) return "";
  std::string text = both ? "Between GPUs, both ways at once and together, GB/s\n"
                          : "Between GPUs, GB/s from the row to the column\n";
  text += matrix(peers, both);
  const Measurement& slowest = **std::ranges::min_element(
      peers, {}, [](const Measurement* measurement) { return measurement->summary.median; });
  text += "  slowest:\n" + row(slowest);
  if (!slowest.ceiling.limits.empty())
    text += fmt::format("  ceiling = {}\n", slowest.ceiling.limits.front().source);
  if (!slowest.ceiling.note.empty()) text += fmt::format("  {}\n", slowest.ceiling.note);
  return text;
}

}  // namespace

std::string gpu_table(const std::vector<Measurement>& copies) {
  if (copies.empty()) return "";
  std::uint64_t checked = 0;
  for (const Measurement& measurement : copies) checked += measurement.checked_bytes;
  std::string text = fmt::format("GPU copies on {}, {} each, host memory page-locked; {} checked\n",
                                 copies.front().from.node, to_text(ByteCount{copies.front().message_bytes}),
                                 to_text(ByteCount{checked}));
  for (const Measurement& measurement : copies)
    if (!is_peer_copy(measurement)) text += row(measurement);
  for (const bool both : {false, true}) text += peer_part(copies, both);
  add_failures(text, copies);
  return text;
}

}  // namespace railbed
