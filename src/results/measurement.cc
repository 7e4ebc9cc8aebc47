#include "results/measurement.h"

#include <fmt/format.h>

#include <algorithm>

namespace railbed {
namespace {

void merge(Measurement& merged, std::vector<double> medians) {
  if (medians.size() < 2) return;
  std::sort(medians.begin(), medians.end());
  merged.summary.median = (medians[(medians.size() - 1) / 2] + medians[medians.size() / 2]) / 2;
  merged.summary.low = medians.front();
  merged.summary.high = medians.back();
}

}  // namespace

Nanoseconds Floor::time() const {
  Nanoseconds sum{};
  for (const FloorPart& part : parts) sum += part.time;
  return sum;
}

const FailureRoot* root_of(const Measurement& one) {
  const bool found = one.failure && one.failure->root && one.failure->root->layer != PathLayer::kNone;
  return found ? &*one.failure->root : nullptr;
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

bool same_subject(const Measurement& a, const Measurement& b) {
  return a.engine == b.engine && a.metric == b.metric && a.operation == b.operation && a.rail == b.rail &&
         a.from.node == b.from.node && a.to.node == b.to.node && a.message_bytes == b.message_bytes &&
         a.streams == b.streams;
}

std::vector<Measurement> merge_repeats(const std::vector<Measurement>& measurements) {
  std::vector<Measurement> merged;
  std::vector<std::vector<double>> medians;
  for (const Measurement& one : measurements) {
    const auto found = std::find_if(merged.begin(), merged.end(),
                                    [&](const Measurement& seen) { return same_subject(seen, one); });
    const auto at = static_cast<std::size_t>(found - merged.begin());
    if (found == merged.end()) {
      merged.push_back(one);
      medians.emplace_back();
    } else if (one.failure) {
      found->failure = one.failure;
    } else if (found->summary.samples == 0) {
      *found = one;
    }
    if (one.summary.samples > 0) medians[at].push_back(one.summary.median);
  }
  for (std::size_t i = 0; i < merged.size(); ++i) merge(merged[i], std::move(medians[i]));
  return merged;
}

}  // namespace railbed
