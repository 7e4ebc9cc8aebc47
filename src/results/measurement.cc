#include "results/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/median.h"

namespace railbed {
namespace {

// Sets the summary of several repeats.
void merge(Measurement& merged, std::vector<double> medians) {
  if (medians.size() < 2) return;
  std::sort(medians.begin(), medians.end());
  merged.summary.median = median_of(medians);
  merged.summary.low = medians.front();
  merged.summary.high = medians.back();
}

}  // namespace

Nanoseconds Floor::time() const {
  Nanoseconds sum{};
  for (const FloorPart& part : parts) sum += part.time;
  return sum;
}

const FailureRoot* root_of(const Measurement& measurement) {
  const bool found = measurement.failure && measurement.failure->root &&
                     measurement.failure->root->layer != PathLayer::kNone;
  return found ? &*measurement.failure->root : nullptr;
}

bool same_root(const Measurement& a, const Measurement& b) {
  const FailureRoot* of_a = root_of(a);
  const FailureRoot* of_b = root_of(b);
  return of_a != nullptr && of_b != nullptr && a.rail == b.rail && of_a->layer == of_b->layer &&
         of_a->node == of_b->node && of_a->cause == of_b->cause &&
         std::minmax(a.from.node, a.to.node) == std::minmax(b.from.node, b.to.node);
}

bool is_busy(const Endpoint& end) {
  return end.other_work && end.other_work->processors > 0 &&
         end.other_work->busy >= kBusyShare * end.other_work->processors;
}

std::string busy_text(const Endpoint& end) {
  if (!is_busy(end)) return "";
  const OtherWork& work = *end.other_work;
  return fmt::format("{} was busy with other work: it took {:.1f} of {} processors, {} most of it", end.node,
                     work.busy, work.processors, work.busiest);
}

MeasuredSubject measured_subject(const Measurement& measurement) {
  return {measurement.engine,    measurement.metric,  measurement.operation,     measurement.rail,
          measurement.from.node, measurement.to.node, measurement.message_bytes, measurement.streams};
}

bool same_subject(const Measurement& a, const Measurement& b) {
  return measured_subject(a) == measured_subject(b);
}

std::vector<Measurement> merge_repeats(const std::vector<Measurement>& measurements) {
  std::vector<Measurement> merged;
  std::vector<std::vector<double>> medians;
  std::map<MeasuredSubject, std::size_t> places;  // views into `measurements`
  for (const Measurement& measurement : measurements) {
    const auto [found, added] = places.try_emplace(measured_subject(measurement), merged.size());
    const std::size_t at = found->second;
    if (added) {
      merged.push_back(measurement);
      medians.emplace_back();
    } else if (measurement.failure) {
      merged[at].failure = measurement.failure;
    } else if (merged[at].summary.samples == 0) {
      auto failure = std::move(merged[at].failure);  // of an earlier repeat, which has no numbers
      merged[at] = measurement;
      merged[at].failure = std::move(failure);
    }
    if (measurement.summary.samples > 0) medians[at].push_back(measurement.summary.median);
  }
  for (std::size_t i = 0; i < merged.size(); ++i) merge(merged[i], std::move(medians[i]));
  return merged;
}

}  // namespace railbed
