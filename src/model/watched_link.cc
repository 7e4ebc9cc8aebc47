#include "model/watched_link.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace railbed {
namespace {

constexpr double kLeastSeconds = 60;  // between two readings of a rate
constexpr double kMostSeconds = 3600;
constexpr double kLeastBitErrors = 1e-15;  // fewer are none

// Returns the bits that the link carried in each direction between two readings, idle ones included; nullopt if it was not
// up at one rate all the time.
std::optional<double> bits_between(const WatchedLink& before, const LinkSample& sample) {
  const double seconds = sample.when - before.when;
  if (!before.carrier || !sample.carrier || seconds < kLeastSeconds || seconds > kMostSeconds) return {};
  if (sample.speed_mbps <= 0 || before.speed_mbps != sample.speed_mbps) return {};
  const bool came_or_went =
      before.carrier_changes && sample.carrier_changes && *before.carrier_changes != *sample.carrier_changes;
  if (came_or_went) return {};
  constexpr double kMega = 1e6;
  return seconds * sample.speed_mbps * kMega;
}

// Returns the share of bits that were corrected between two readings.
std::optional<double> bit_errors_of(const WatchedLink& before, const LinkSample& sample) {
  if (!before.corrected_bits || !sample.corrected_bits || *sample.corrected_bits < *before.corrected_bits)
    return {};
  const auto bits = bits_between(before, sample);
  if (!bits) return {};
  return static_cast<double>(*sample.corrected_bits - *before.corrected_bits) / *bits;
}

std::optional<LostBlocks> lost_blocks_of(const WatchedLink& before, const LinkSample& sample) {
  const bool counted =
      before.fec && sample.fec && before.fec->uncorrectable_blocks && sample.fec->uncorrectable_blocks;
  if (!counted || before.fec->active != sample.fec->active || !before.carrier_changes ||
      !sample.carrier_changes)
    return {};
  const std::uint64_t earlier = before.fec->uncorrectable_blocks->total;
  const std::uint64_t now = sample.fec->uncorrectable_blocks->total;
  const auto bits = bits_between(before, sample);
  if (!bits || now < earlier) return {};
  LostBlocks lost{now - earlier, sample.when - before.when};
  if (const double size = block_bits(sample.fec->active); size > 0)
    lost.share = static_cast<double>(lost.count) * size / *bits;
  return lost;
}

bool is_another(const std::optional<Optics>& before, const std::optional<Optics>& now) {
  return before && now && !before->serial.empty() && !now->serial.empty() && before->serial != now->serial;
}

}  // namespace

double dbm_of(double milliwatts) {
  constexpr double kLeast = 1e-4;
  return 10 * std::log10(std::max(milliwatts, kLeast));
}

const FecLimit* fec_of(const WatchedLink& link) {
  return fec_of(link.speed_mbps, link.optics ? static_cast<int>(link.optics->lanes.size()) : 0,
                link.fec ? link.fec->active : FecMode::kNone);
}

WatchedLink next_link(WatchedLink before, const LinkSample& sample) {
  WatchedLink link = std::move(before);
  if (is_another(link.optics, sample.optics)) link = {};
  link.bit_errors = bit_errors_of(link, sample);
  link.lost = lost_blocks_of(link, sample);
  link.when = sample.when;
  link.carrier = sample.carrier;
  link.speed_mbps = sample.speed_mbps;
  link.corrected_bits = sample.corrected_bits;
  link.optics = sample.optics;
  link.fec = sample.fec;
  link.carrier_changes = sample.carrier_changes;
  if (link.bit_errors)
    link.bit_error_powers.add(sample.when, std::log10(std::max(*link.bit_errors, kLeastBitErrors)));
  if (!sample.carrier || !sample.optics) return link;
  for (const OpticsLane& lane : sample.optics->lanes)
    if (lane.receive && *lane.receive > kDarkMilliwatts)
      link.receive[std::to_string(lane.number)].add(sample.when, dbm_of(*lane.receive));
  if (link.receive.size() > kMostLanes) link.receive.clear();  // read back from a file that somebody changed
  return link;
}

std::map<std::string, WatchedLink> next_links(std::map<std::string, WatchedLink> before,
                                              const LinkReadings& readings, const Counts& counts,
                                              double now) {
  std::map<std::string, WatchedLink> after;
  for (const auto& [name, reading] : readings) {
    LinkSample sample{.when = now, .optics = reading.optics, .fec = reading.fec};
    if (reading.fec && reading.fec->corrected_bits)
      sample.corrected_bits = reading.fec->corrected_bits->total;
    for (const InterfaceCounts& one : counts.interfaces) {
      if (one.link.name != name) continue;
      sample.carrier = one.link.carrier.value_or(false);
      sample.speed_mbps = one.link.speed_mbps.value_or(0);
      sample.carrier_changes = one.link.carrier_changes.to_optional();
      if (const auto bits = one.driver.find(std::string(kCorrectedBits)); bits != one.driver.end())
        sample.corrected_bits = bits->second;
    }
    after.emplace(name, next_link(std::move(before[name]), sample));
  }
  return after;
}

}  // namespace railbed
