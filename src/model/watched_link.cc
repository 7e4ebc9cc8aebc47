#include "model/watched_link.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace railbed {
namespace {

constexpr double kLeastSeconds = 60;  // between two readings of a rate
constexpr double kMostSeconds = 3600;
constexpr double kLeastBitErrors = 1e-15;  // fewer are none

// Returns the share of bits that were corrected between two readings.
std::optional<double> bit_errors_of(const WatchedLink& before, const LinkSample& sample) {
  const double seconds = sample.when - before.when;
  if (!before.corrected_bits || !sample.corrected_bits || *sample.corrected_bits < *before.corrected_bits)
    return {};
  if (!before.carrier || !sample.carrier || seconds < kLeastSeconds || seconds > kMostSeconds) return {};
  if (sample.speed_mbps <= 0 || before.speed_mbps != sample.speed_mbps) return {};
  constexpr double kMega = 1e6;
  return static_cast<double>(*sample.corrected_bits - *before.corrected_bits) /
         (seconds * sample.speed_mbps * kMega);
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
  return fec_of(link.speed_mbps, link.optics ? static_cast<int>(link.optics->lanes.size()) : 0);
}

WatchedLink next_link(WatchedLink before, const LinkSample& sample) {
  WatchedLink link = std::move(before);
  if (is_another(link.optics, sample.optics)) link = {};
  link.bit_errors = bit_errors_of(link, sample);
  link.when = sample.when;
  link.carrier = sample.carrier;
  link.speed_mbps = sample.speed_mbps;
  link.corrected_bits = sample.corrected_bits;
  link.optics = sample.optics;
  if (link.bit_errors)
    link.bit_error_powers.add(sample.when, std::log10(std::max(*link.bit_errors, kLeastBitErrors)));
  if (!sample.carrier || !sample.optics) return link;
  for (const OpticsLane& lane : sample.optics->lanes)
    if (lane.receive && *lane.receive > kDarkMilliwatts)
      link.receive[std::to_string(lane.number)].add(sample.when, dbm_of(*lane.receive));
  if (link.receive.size() > kMostLanes) link.receive.clear();  // read back from a file that somebody changed
  return link;
}

}  // namespace railbed
