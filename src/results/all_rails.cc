#include "results/all_rails.h"

#include <map>
#include <utility>

namespace railbed {
namespace {

constexpr std::string_view kAtOnce = "all rails at once";

// Measurements by direction: from one node to another.
using Ways = std::map<std::pair<std::string, std::string>, std::vector<const Measurement*>>;

Ways ways_of(const std::vector<Measurement>& measurements) {
  Ways ways;
  for (const Measurement& measurement : measurements)
    if (measurement.metric == Metric::kBandwidth && !measurement.failure && measurement.summary.samples > 0)
      ways[{measurement.from.node, measurement.to.node}].push_back(&measurement);
  return ways;
}

bool same_messages(const Measurement& a, const Measurement& b) {
  return a.engine == b.engine && a.message_bytes == b.message_bytes;
}

// Returns the fastest measurement of the part's rail alone, with the same messages; null if there is none.
const Measurement* find_alone(const std::vector<const Measurement*>& way, const Measurement& part) {
  const Measurement* found = nullptr;
  for (const Measurement* measurement : way) {
    if (is_at_once(*measurement) || measurement->rail != part.rail || !same_messages(*measurement, part))
      continue;
    if (at_once(measurement->operation) != part.operation) continue;
    if (found == nullptr || measurement->summary.median > found->summary.median) found = measurement;
  }
  return found;
}

AllRails all_rails(const std::vector<const Measurement*>& way, const Measurement& total) {
  AllRails all{&total, {}};
  for (const Measurement* part : way)
    if (is_at_once(*part) && !is_total(*part) && same_messages(*part, total) &&
        part->operation == total.operation)
      all.rails.push_back({part, find_alone(way, *part)});
  return all;
}

}  // namespace

std::string at_once(std::string_view operation) {
  return std::string(operation) + (operation.empty() ? "" : ", ") + std::string(kAtOnce);
}

bool is_at_once(const Measurement& measurement) { return measurement.operation.ends_with(kAtOnce); }

bool is_total(const Measurement& measurement) {
  return measurement.metric == Metric::kBandwidth && is_at_once(measurement) && measurement.rail == kAllRails;
}

double AllRails::alone() const {
  double sum = 0;
  for (const RailPart& rail : rails) {
    if (rail.alone == nullptr) return 0;
    sum += rail.alone->summary.median;
  }
  return sum;
}

std::vector<AllRails> all_rails_of(const std::vector<Measurement>& measurements) {
  const Ways ways = ways_of(measurements);
  std::vector<AllRails> all;
  for (const Measurement& total : measurements)
    if (is_total(total) && !total.failure && total.summary.samples > 0)
      all.push_back(all_rails(ways.at({total.from.node, total.to.node}), total));
  return all;
}

}  // namespace railbed
