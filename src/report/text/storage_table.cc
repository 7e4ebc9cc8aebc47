#include "report/text/storage_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "report/escape.h"
#include "report/text/bench_table.h"

namespace railbed {
namespace {

constexpr double kNearTheLink = 0.85;  // ours: no drive uses all of its link
constexpr double kMuchFaster = 1.25;   // ours: a larger difference than chance between runs

std::string count_text(double count) {
  if (count < 1e3) return fmt::format("{:.0f}", count);
  if (count < 1e6) return fmt::format("{:.3g}k", count / 1e3);
  return fmt::format("{:.3g}M", count / 1e6);
}

double share_of(const Measurement& measurement) {
  return measurement.ceiling.limits.empty() || measurement.ceiling.nominal
             ? 0
             : measurement.summary.median / measurement.ceiling.limits.front().rate.bits_per_second;
}

const Measurement* latency_of(const Measurement& bandwidth, const std::vector<Measurement>& all) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Measurement& measurement) {
    return measurement.metric == Metric::kLatency && measurement.operation == bandwidth.operation &&
           measurement.message_bytes == bandwidth.message_bytes && measurement.streams == bandwidth.streams;
  });
  return found == all.end() ? nullptr : &*found;
}

std::string place_text(const StoragePlace& place) {
  const StorageAnswer& answer = place.answer;
  std::string text = fmt::format("storage, {} {}", place.node, answer.folder);
  if (answer.mount) {
    text += ": " + answer.mount->type;
    std::string drives;
    for (const auto& device : answer.mount->devices) drives += (drives.empty() ? " on " : ", ") + device;
    text += drives.empty() ? " from " + answer.mount->source : drives;
  }
  if (answer.bytes > 0)
    text += fmt::format("; {} of the {} that are free", to_text(ByteCount{answer.bytes}),
                        to_text(ByteCount{answer.free}));
  return printable(text) + '\n';
}

std::string row(const Measurement& measurement, const StoragePlace& place,
                const std::vector<Measurement>& all) {
  std::string text = fmt::format("  {:<26}", measurement.operation);
  text += right_aligned(to_text(ByteCount{measurement.message_bytes}), 7) +
          right_aligned(std::to_string(measurement.streams), 6);
  if (measurement.failure)
    return text + fmt::format("  FAILED: {}\n", printable(measurement.failure->cause)) +
           (measurement.failure->remedy.empty()
                ? ""
                : fmt::format("    do: {}\n", printable(measurement.failure->remedy)));
  text += right_aligned(bytes_rate_text({measurement.summary.median}), 12);
  text += right_aligned(
      count_text(measurement.summary.median / 8 / static_cast<double>(measurement.message_bytes)), 8);
  text += right_aligned(
      share_of(measurement) > 0 ? fmt::format("{:.0f} %", share_of(measurement) * 100) : "-", 9);
  if (const Measurement* latency = latency_of(measurement, all))
    for (const double value :
         {latency->summary.median, latency->summary.p99, latency->summary.p999, latency->summary.maximum})
      text += right_aligned(to_text(Nanoseconds{value}), 10);
  return text + "  " + bound_of(measurement, place) + '\n';
}

std::string notes(const StoragePlace& place) {
  const StorageAnswer& answer = place.answer;
  std::string text;
  if (answer.memory)
    text += "  this folder lies in memory (tmpfs): no storage was measured\n";
  else if (!answer.not_direct.empty())
    text += fmt::format("  buffered: the file system refuses direct I/O ({}); memory may hold what is read\n",
                        printable(answer.not_direct));
  const bool threaded =
      std::any_of(answer.runs.begin(), answer.runs.end(), [](const StorageRun& run) { return run.threaded; });
  if (threaded) text += "  one thread for each request under way: this fio has no libaio\n";
  for (const auto& name : answer.swept)
    text += fmt::format("  removed {}, left by a run that was killed\n", printable(name));
  if (place.measurements.empty()) return text;
  const auto found =
      std::find_if(place.measurements.begin(), place.measurements.end(),
                   [](const Measurement& measurement) { return measurement.metric == Metric::kBandwidth; });
  for (const Limit& limit : found->ceiling.limits)
    text += fmt::format("  ceiling {}: {} = {}\n", bytes_rate_text(limit.rate), printable(limit.name),
                        printable(limit.source));
  if (!found->ceiling.note.empty())
    text += fmt::format("  {}{}\n", found->ceiling.limits.empty() ? "no ceiling: " : "",
                        printable(found->ceiling.note));
  return text;
}

}  // namespace

std::string bytes_rate_text(BitRate rate) {
  const double gigabytes = rate.gigabytes();
  return gigabytes >= 1 ? fmt::format("{:#.3g} GB/s", gigabytes)
                        : fmt::format("{:.3g} MB/s", gigabytes * 1e3);
}

std::string bound_of(const Measurement& measurement, const StoragePlace& place) {
  const StorageAnswer& answer = place.answer;
  if (answer.memory) return "memory";
  const bool by_network = answer.mount && !answer.mount->servers.empty();
  if (share_of(measurement) >= kNearTheLink) return by_network ? "the network port" : "the PCIe link";
  const auto deeper = [&](const Measurement& other) {
    return other.metric == Metric::kBandwidth && other.operation == measurement.operation && !other.failure &&
           other.message_bytes == measurement.message_bytes && other.streams > measurement.streams &&
           other.summary.median > kMuchFaster * measurement.summary.median;
  };
  if (measurement.streams == 1 && std::any_of(place.measurements.begin(), place.measurements.end(), deeper))
    return "one request at a time";
  if (measurement.ceiling.nominal) return "memory or the drive";
  if (by_network)
    return "what serves it: " + printable(fmt::format("{}", fmt::join(answer.mount->servers, ", ")));
  if (answer.mount && answer.mount->devices.empty()) return "what serves " + printable(answer.mount->type);
  return answer.mount && answer.mount->devices.size() > 1 ? "the drives" : "the drive";
}

std::string storage_table(const StoragePlace& place) {
  std::string text = place_text(place);
  const StorageAnswer& answer = place.answer;
  if (answer.failure) {
    text += fmt::format("  FAILED ({}): {}\n", answer.failure->stage, printable(answer.failure->cause));
    if (!answer.failure->remedy.empty())
      text += fmt::format("    do: {}\n", printable(answer.failure->remedy));
    return text;
  }
  const auto all = merge_repeats(place.measurements);
  text += fmt::format("  {:<26}{:>7}{:>6}{:>12}{:>8}{:>9}{:>10}{:>10}{:>10}{:>10}  {}\n", "", "block",
                      "depth", "rate", "IO/s", "ceiling", "p50", "p99", "p99.9", "max", "limited by");
  for (const Measurement& measurement : all)
    if (measurement.metric == Metric::kBandwidth) text += row(measurement, place, all);
  return text + notes(place);
}

}  // namespace railbed
