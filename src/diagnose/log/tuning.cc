// Reads the table by which NCCL chooses algorithm and protocol. Since 2.19 (src/graph/tuning.cc) it is
// printed in blocks of three algorithms:
//     Algorithm   |             Tree             |             Ring             |
//     Protocol    |       LL |  LL128 |  Simple  |       LL |  LL128 |  Simple  |
//    Max NThreads |      512 |    640 |     512  | …
//       AllReduce |  10.4/  43.6 | …
// Before, one line named both: "Latency/AlgBw |    Tree/    LL |    Tree/ LL128 | …".
#include <algorithm>

#include "base/text.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

constexpr std::size_t kMostCells = 512;
constexpr std::size_t kMostColumns = 64;
constexpr std::string_view kFunctions[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"};

std::vector<std::string_view> cells_of(std::string_view text) {
  std::vector<std::string_view> cells;
  for (const std::string_view cell : split(text, '|'))
    if (const auto word = trim(cell); !word.empty()) cells.push_back(word);
  if (cells.size() > kMostColumns) cells.resize(kMostColumns);
  return cells;
}

}  // namespace

bool LogState::read_tuning(const LogLine& line) {
  const std::size_t bar = line.text.find('|');
  if (bar == std::string_view::npos) return false;
  const std::string_view head = trim(line.text.substr(0, bar));
  const auto cells = cells_of(line.text.substr(bar + 1));
  if (head == "Algorithm") {
    constexpr int kProtocols = 3;
    tuning_columns.clear();
    for (const std::string_view cell : cells)
      for (int i = 0; i < kProtocols; ++i) tuning_columns.emplace_back(cell, "");
    return true;
  }
  if (head == "Protocol") {
    for (std::size_t i = 0; i < std::min(cells.size(), tuning_columns.size()); ++i)
      tuning_columns[i].second = cells[i];
    return true;
  }
  if (head == "Latency/AlgBw" || head == "Latency/AlgoBw") {
    tuning_columns.clear();
    for (const std::string_view cell : cells)
      if (const auto pair = key_value(cell, '/')) tuning_columns.emplace_back(pair->first, pair->second);
    return true;
  }
  if (head == "Max NThreads") return true;
  if (std::ranges::find(kFunctions, head) == std::end(kFunctions) || tuning_columns.empty()) return false;
  for (std::size_t i = 0; i < std::min(cells.size(), tuning_columns.size()); ++i) {
    const auto pair = key_value(cells[i], '/');
    const auto latency = pair ? parse_real(pair->first) : std::nullopt;
    const auto bandwidth = pair ? parse_real(pair->second) : std::nullopt;
    if (!latency || !bandwidth || *bandwidth <= 0 || log.tuning.size() >= kMostCells) continue;
    const std::string& algorithm = tuning_columns[i].first;
    const std::string& protocol = tuning_columns[i].second;
    if (!tuning_cells.emplace(head, algorithm, protocol).second) continue;
    log.tuning.push_back({std::string(head), algorithm, protocol, *latency, *bandwidth});
  }
  return true;
}

}  // namespace railbed::diagnose
