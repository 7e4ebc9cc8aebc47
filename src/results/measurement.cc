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

// The rate that other traffic is compared with, in bits per second.
struct Link {
  double rate = 0;
  bool known = false;
};
constexpr double kUnknownLink = 1e9;  // for a latency whose link states no speed

Link link_of(const Measurement& measurement) {
  for (const Endpoint* end : {&measurement.from, &measurement.to})
    if (end->other_traffic && end->other_traffic->link.bits_per_second > 0)
      return {end->other_traffic->link.bits_per_second, true};
  const Limit* wire = measurement.ceiling.nominal ? nullptr : find_wire(measurement.ceiling);
  if (wire != nullptr) return {wire->rate.bits_per_second, true};
  const bool bandwidth = measurement.metric == Metric::kBandwidth;
  return {bandwidth ? measurement.summary.median : kUnknownLink, false};
}

double per_second(const std::optional<OtherTraffic>& traffic, std::uint64_t OtherTraffic::*way) {
  if (!traffic || traffic->seconds <= 0) return 0;
  return 8.0 * static_cast<double>((*traffic).*way) / traffic->seconds;
}

// Other traffic in the measurement's direction, in bits per second. A number of both directions has two.
double other_rate_on_the_way(const Measurement& measurement) {
  const auto& [from, to] = std::tie(measurement.from.other_traffic, measurement.to.other_traffic);
  double rate = std::max(per_second(from, &OtherTraffic::sent), per_second(to, &OtherTraffic::received));
  if (measurement.operation.find("duplex") != std::string::npos)
    rate += std::max(per_second(from, &OtherTraffic::received), per_second(to, &OtherTraffic::sent));
  return rate;
}

}  // namespace

Summary single_number(double value) {
  Summary summary;
  summary.samples = 1;
  for (double* number :
       {&summary.median, &summary.low, &summary.high, &summary.mean, &summary.minimum, &summary.maximum})
    *number = value;
  return summary;
}

Nanoseconds Floor::time() const {
  Nanoseconds sum{};
  for (const FloorPart& part : parts) sum += part.time;
  return sum;
}

const Limit* find_wire(const Ceiling& ceiling) {
  const auto found = std::ranges::find_if(
      ceiling.limits, [](const Limit& limit) { return limit.name.starts_with(kWireName); });
  return found == ceiling.limits.end() ? nullptr : &*found;
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

std::string traffic_text(const Measurement& measurement, const Endpoint& end) {
  if (!end.other_traffic || end.other_traffic->seconds <= 0) return "";
  const OtherTraffic& traffic = *end.other_traffic;
  const std::uint64_t bytes = std::max(traffic.sent, traffic.received);
  const BitRate rate{8.0 * static_cast<double>(bytes) / traffic.seconds};
  const Link link = link_of(measurement);
  if (rate.bits_per_second < kTrafficShare * link.rate) return "";
  return fmt::format("{} of other traffic, {}, crossed {} {} meanwhile", to_text(ByteCount{bytes}),
                     link.known ? fmt::format("{:.0f} % of the link", 100 * rate.bits_per_second / link.rate)
                                : to_text(rate),
                     end.node, end.interface);
}

std::string traffic_text(const Measurement& measurement) {
  std::string text = traffic_text(measurement, measurement.from);
  const std::string other = traffic_text(measurement, measurement.to);
  if (!text.empty() && !other.empty()) text += "; ";
  return text + other;
}

BitRate traffic_on_the_way(const Measurement& measurement) {
  const double rate = other_rate_on_the_way(measurement);
  return BitRate{rate >= kTrafficShare * link_of(measurement).rate ? rate : 0};
}

bool may_lack_for_traffic(const Measurement& measurement, BitRate wanted) {
  const double other = traffic_on_the_way(measurement).bits_per_second;
  return other > 0 && measurement.summary.median + other >= wanted.bits_per_second;
}

bool may_be_late_for_traffic(const Measurement& measurement) {
  const Link link = link_of(measurement);
  if (!link.known) return false;
  double most = 0;
  for (const Endpoint* end : {&measurement.from, &measurement.to})
    for (const auto way : {&OtherTraffic::sent, &OtherTraffic::received})
      most = std::max(most, per_second(end->other_traffic, way));
  return most >= kDelayingShare * link.rate;
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
