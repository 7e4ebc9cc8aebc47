#include "store/sittings.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/moment.h"

namespace railbed {
namespace {

struct Timed {
  const BenchRun* run;
  std::optional<double> began;
};

void add_run(Sitting& sitting, const BenchRun& run) {
  for (const Measurement& measurement : run.measurements) {
    const double median = measurement.summary.median;
    if (!measurement.failure && median > 0 && std::isfinite(median))
      sitting.repeats[measured_subject(measurement)].push_back(std::log(median));
  }
  sitting.fingerprint.insert(run.fingerprint.begin(), run.fingerprint.end());
}

}  // namespace

std::vector<Sitting> sittings_of(const std::vector<const BenchRun*>& runs) {
  std::vector<Timed> timed;
  for (const BenchRun* run : runs) timed.push_back({run, parse_since(run->started_at, 0)});
  std::ranges::stable_sort(timed, {}, &Timed::began);
  std::vector<Sitting> sittings;
  std::optional<double> before;
  for (const Timed& one : timed) {
    if (!before || !one.began || *one.began - *before >= kSittingGapSeconds) sittings.emplace_back();
    add_run(sittings.back(), *one.run);
    before = one.began;
  }
  return sittings;
}

bool of_like_nodes(const Sitting& a, const Sitting& b) {
  return std::ranges::all_of(a.fingerprint, [&](const auto& property) {
    const auto other = b.fingerprint.find(property.first);
    return other == b.fingerprint.end() || other->second == property.second;
  });
}

}  // namespace railbed
