#include "report/measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/all_rails.h"
#include "report/escape.h"
#include "report/paths.h"

namespace railbed {
namespace {

constexpr std::size_t kPathsShown = 6;

std::string pad(std::string text, std::size_t width) {
  const std::size_t used = columns(text);
  return used < width ? text + std::string(width - used, ' ') : text + ' ';
}

// Formats a row: "     64 KiB   9.41 Gb/s     35.0 Gb/s".
std::string row(const std::string& label, const std::string& tcp, const std::string& rdma) {
  const std::string line = "  " + pad(label, 18) + pad(tcp, 22) + rdma;
  return line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
}

std::string bandwidth_text(const Measurement* run) {
  return run == nullptr ? "" : to_text(BitRate{run->summary.median});
}

std::string bandwidth_rows(const Path& path) {
  std::string text;
  for (const std::uint64_t size : path.bandwidth_sizes())
    text += row("bandwidth " + to_text(ByteCount{size}),
                bandwidth_text(of_size(path.of(Engine::kTcp).bandwidths, size)),
                bandwidth_text(of_size(path.of(Engine::kRdma).bandwidths, size)));
  return text;
}

std::string latency_rows(const Path& path) {
  const Measurement* tcp = smallest_latency(path.of(Engine::kTcp));
  const Measurement* rdma = smallest_latency(path.of(Engine::kRdma));
  if (tcp == nullptr && rdma == nullptr) return "";
  const auto value = [](const Measurement* run, const Percentile& percentile) {
    return run == nullptr ? "" : to_text(Nanoseconds{run->summary.*percentile.value});
  };
  std::string text;
  for (const Percentile& percentile : kPercentiles)
    text += row(fmt::format("latency {}", percentile.name), value(tcp, percentile), value(rdma, percentile));
  return text;
}

// Returns the meaning of one engine's numbers: ceiling, losses, failures.
std::string meaning(const EngineRuns& runs, std::string_view name, ToldRoots& told) {
  std::vector<std::string> lines;
  if (const Measurement* fastest = runs.fastest()) {
    lines.push_back(fmt::format("{}: {}", bandwidth_text(fastest), describe_ceiling(*fastest)));
    for (auto& remark : remarks(*fastest)) lines.push_back(std::move(remark));
  }
  if (const Measurement* quickest = smallest_latency(runs); quickest && !quickest->floor.parts.empty())
    lines.push_back(fmt::format("latency {}: {}", to_text(Nanoseconds{quickest->summary.median}),
                                describe_floor(*quickest)));
  for (const Measurement* failed : runs.failures) {
    const auto metric = enum_names(failed->metric)[static_cast<std::size_t>(failed->metric)];
    if (told.is_told(*failed)) {
      lines.push_back(fmt::format("{} failed, {}", metric, kSameRoot));
      continue;
    }
    lines.push_back(fmt::format("{} failed: {}", metric, describe_failure(*failed)));
    if (!failed->failure->remedy.empty()) lines.push_back("do: " + failed->failure->remedy);
  }
  std::string text;
  for (const auto& line : lines) {
    text += fmt::format("  {:<6}{}\n", text.empty() ? name : "", printable(line));
  }
  return text;
}

std::string write_path(const Path& path, ToldRoots& told) {
  std::string text = printable(fmt::format("{}  {} → {}", path.rail, path.from, path.to)) + '\n';
  const std::string rows = bandwidth_rows(path) + latency_rows(path);
  if (!rows.empty()) text += row("", "TCP", "RDMA") + rows;
  if (path.ping != nullptr) text += fmt::format("  {:<6}{}\n", "ping", ping_text(*path.ping));
  for (const Engine engine : kEngines) text += meaning(path.of(engine), title(engine), told);
  return text;
}

struct Spread {
  double least = 0;
  double most = 0;
  void take(double value) {
    least = most == 0 ? value : std::min(least, value);
    most = std::max(most, value);
  }
};

// Returns a line for each rail, "rail0: 494 more paths · TCP 9.10 to 9.40 Gb/s · RDMA …", and "--all shows
// them".
std::string sum_up(const std::vector<Path>& paths, std::size_t from) {
  struct Rail {
    std::size_t paths = 0;
    std::array<Spread, kEngines.size()> spreads;
  };
  std::map<std::string, Rail> rails;
  for (std::size_t i = from; i < paths.size(); ++i) {
    Rail& rail = rails[paths[i].rail];
    ++rail.paths;
    for (const Engine engine : kEngines)
      if (const Measurement* fastest = paths[i].of(engine).fastest())
        rail.spreads[place_of(engine)].take(fastest->summary.median);
  }
  std::string text;
  for (const auto& [name, rail] : rails) {
    text += fmt::format("{}: {} more {}", printable(name), rail.paths, rail.paths == 1 ? "path" : "paths");
    for (const Engine engine : kEngines) {
      const Spread& spread = rail.spreads[place_of(engine)];
      if (spread.most > 0)
        text += fmt::format(" · {} {} to {}", title(engine), to_text(BitRate{spread.least}),
                            to_text(BitRate{spread.most}));
    }
    text += '\n';
  }
  return text + "--all shows them\n";
}

}  // namespace

std::string render_text(const std::vector<Measurement>& measurements, const TextOptions& options) {
  std::vector<Path> paths = paths_of(measurements);
  const bool is_short = options.all || paths.size() <= kPathsShown;
  if (!is_short) put_worst_first(paths, kPathsShown);
  const std::size_t shown = is_short ? paths.size() : kPathsShown;
  std::string text;
  ToldRoots told;
  for (std::size_t i = 0; i < shown; ++i) text += (i > 0 ? "\n" : "") + write_path(paths[i], told);
  if (shown < paths.size()) text += '\n' + sum_up(paths, shown);
  const std::string at_once = all_rails_text(measurements, options.all);
  return text + (text.empty() || at_once.empty() ? "" : "\n") + at_once;
}

}  // namespace railbed
