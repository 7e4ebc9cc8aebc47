#include "report/text/bench_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "report/escape.h"
#include "report/paths.h"
#include "results/measurement.h"

namespace railbed {
namespace {

// Engines with a name other than their id in capitals.
struct EngineName {
  Engine engine;
  std::string_view name;
};
constexpr std::array kNames{EngineName{Engine::kPing, "ping"},       EngineName{Engine::kStorage, "storage"},
                            EngineName{Engine::kTrain, "training"},  EngineName{Engine::kGpuCopy, "GPU copy"},
                            EngineName{Engine::kCollective, "NCCL"}, EngineName{Engine::kBurn, "burn-in"}};
// Engines that measure on one node, or over all nodes at once. A latency of the others is half a round trip
// between two nodes.
constexpr std::array kNotOfPairs{Engine::kStorage, Engine::kTrain, Engine::kGpuCopy, Engine::kCollective,
                                 Engine::kBurn};

// Returns an end as text that is safe for a terminal, since the names come from a node.
std::string end_text(const Endpoint& end) {
  std::string text = fmt::format("{} {}", end.node, end.interface);
  if (!end.device.empty()) text += ' ' + end.device;
  if (!end.address.empty()) text += ' ' + end.address;
  if (end.gid_index >= 0) text += fmt::format(" (GID {})", end.gid_index);
  if (!end.memory.empty()) text += fmt::format(" [{}]", end.memory);
  return printable(text);
}

// Returns half the width of the interval as a share of the median, "±1.2 %"; empty if the median is not
// positive.
std::string spread(const Summary& summary) {
  if (summary.median <= 0) return "";
  return fmt::format("±{:.1f} %", (summary.high - summary.low) / 2 / summary.median * 100);
}

std::string share(const Measurement& run) {
  if (run.ceiling.limits.empty()) return "-";
  const double part = run.summary.median / run.ceiling.limits.front().rate.bits_per_second;
  return run.ceiling.nominal ? "nominal" : fmt::format("{:.0f} %", part * 100);
}

std::string bandwidth_row(const Measurement& run) {
  return fmt::format(
      "  {:>9} {:>7} {:>12} {:>9} {:>9} {:>8} {:>9} {:>6}\n", to_text(ByteCount{run.message_bytes}),
      run.streams, to_text(BitRate{run.summary.median}), spread(run.summary), share(run), run.lost,
      run.cpu_seconds_per_gigabyte > 0 ? fmt::format("{:.2f}", run.cpu_seconds_per_gigabyte) : "-", run.mtu);
}

std::string latency_row(const Measurement& run) {
  const auto text = [](double ns) { return ns > 0 ? to_text(Nanoseconds{ns}) : "-"; };
  const Summary& summary = run.summary;
  std::string row = fmt::format("  {:>9}", to_text(ByteCount{run.message_bytes}));
  for (const double value :
       {summary.minimum, summary.median, summary.p99, summary.p999, summary.p9999, summary.maximum})
    row += right_aligned(text(value), 11);
  return row + fmt::format(" {:>9}\n", summary.samples);
}

void add_ceiling(std::string& text, const Measurement& run) {
  const Ceiling& ceiling = run.ceiling;
  for (std::size_t i = 0; i < ceiling.limits.size(); ++i)
    text += fmt::format("  {} {}: {} = {}\n", i == 0 ? "ceiling" : "       ", to_text(ceiling.limits[i].rate),
                        printable(ceiling.limits[i].name), printable(ceiling.limits[i].source));
  if (!ceiling.note.empty())
    text += fmt::format("  {}{}\n", ceiling.limits.empty() ? "no ceiling: " : "", printable(ceiling.note));
}

void add_floor(std::string& text, const Measurement& run) {
  const Floor& floor = run.floor;
  if (!floor.parts.empty())
    text += fmt::format("  floor of {} {}\n", to_text(ByteCount{run.message_bytes}), to_text(floor.time()));
  for (const FloorPart& part : floor.parts)
    text +=
        fmt::format("    {}: {} = {}\n", printable(part.name), to_text(part.time), printable(part.source));
  if (!floor.note.empty())
    text += fmt::format("  {}{}\n", floor.parts.empty() ? "no floor: " : "  ", printable(floor.note));
}

void add_notes(std::string& text, const Measurement& run) {
  if (run.checked_bytes > 0 && run.wrong_bytes == 0)
    text += fmt::format("  data checked: {}\n", to_text(ByteCount{run.checked_bytes}));
  for (const Endpoint* end : {&run.from, &run.to})
    if (!end->memory_why.empty())
      text += printable(fmt::format("  {}: {}", end->node, end->memory_why)) + '\n';
  for (const Endpoint* end : {&run.from, &run.to})
    if (is_busy(*end)) text += printable("  " + busy_text(*end)) + '\n';
  for (const Endpoint* end : {&run.from, &run.to})
    if (const std::string traffic = traffic_text(run, *end); !traffic.empty())
      text += printable("  " + traffic) + '\n';
  for (const auto& [name, delta] : run.counter_deltas)
    text += fmt::format("  {} {:+}\n", printable(name), delta);
}

void add_failure(std::string& text, const Measurement& run, ToldRoots& told) {
  if (!run.failure) return;
  if (told.is_told(run)) {
    text += fmt::format("  {} FAILED ({}), {}\n", to_text(ByteCount{run.message_bytes}),
                        printable(run.failure->stage), kSameRoot);
    return;
  }
  text += fmt::format("  {} FAILED ({}): {}\n", to_text(ByteCount{run.message_bytes}),
                      printable(run.failure->stage), printable(run.failure->cause));
  if (!run.failure->remedy.empty()) text += fmt::format("    do: {}\n", printable(run.failure->remedy));
  if (!run.failure->root) return;
  for (const std::string& line : run.failure->root->seen)
    text += fmt::format("    seen: {}\n", printable(line));
}

std::string head(const Measurement& run) {
  std::string text = fmt::format("{}, {}: {}{}\n", printable(bench_name(run)), printable(run.rail),
                                 end_text(run.from), run.to.node.empty() ? "" : " → " + end_text(run.to));
  if (run.metric == Metric::kBandwidth)
    text += fmt::format("  {:>9} {:>7} {:>12} {:>8} {:>9} {:>8} {:>9} {:>6}\n", "size", "streams", "median",
                        "95 %", "ceiling", "lost", "CPU s/GB", "MTU");
  else
    text += fmt::format("  {:>9}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11} {:>9}\n", "size", "min", "median", "p99",
                        "p99.9", "p99.99", "max", "samples");
  return text;
}

}  // namespace

bool same_table(const Measurement& a, const Measurement& b) {
  return a.engine == b.engine && a.metric == b.metric && a.operation == b.operation && a.rail == b.rail &&
         a.from.node == b.from.node && a.to.node == b.to.node;
}

std::string engine_name(Engine engine) {
  const auto* const named = std::ranges::find(kNames, engine, &EngineName::engine);
  if (named != kNames.end()) return std::string(named->name);
  std::string name = engine.to_text();
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  return name;
}

std::string right_aligned(const std::string& text, std::size_t width) {
  const auto columns = static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  return std::string(columns < width ? width - columns : 1, ' ') + text;
}

std::string bench_name(const Measurement& run) {
  std::string name = engine_name(run.engine);
  if (!run.operation.empty()) name += ' ' + run.operation;
  if (run.metric == Metric::kBandwidth) return name + " bandwidth";
  if (run.engine == Engine::kTrain) return name + " step time";
  if (std::ranges::find(kNotOfPairs, run.engine) != kNotOfPairs.end()) return name + " latency";
  const bool to_the_answer = run.operation.starts_with("read") || run.operation.starts_with("atomic");
  return name + (to_the_answer ? " latency (to the answer)" : " latency (half a round trip)");
}

std::string bench_table(const std::vector<Measurement>& measurements) {
  std::string text;
  ToldRoots told;
  for (std::size_t i = 0; i < measurements.size();) {
    if (i > 0) text += '\n';
    text += head(measurements[i]);
    const std::size_t first = i;
    const Measurement* last_good = nullptr;
    for (; i < measurements.size() && same_table(measurements[first], measurements[i]); ++i) {
      const Measurement& run = measurements[i];
      if (run.summary.samples > 0) {
        text += run.metric == Metric::kBandwidth ? bandwidth_row(run) : latency_row(run);
        last_good = &run;
      }
      add_failure(text, run, told);
    }
    if (last_good == nullptr) continue;
    if (last_good->metric == Metric::kBandwidth)
      add_ceiling(text, *last_good);
    else
      add_floor(text, *last_good);
    add_notes(text, *last_good);
  }
  return text;
}

}  // namespace railbed
