// Bandwidth of several rails at the same time, and their total.
//
// All rails are opened before the first of them is measured, so that the measurements begin together: their
// starts differ by a few round trips of ssh, which is well within the warm-up. Then the samples of the rails,
// 100 ms each, are added one by one: sample i of the total is the sum of all samples i.
#include "bench/pairs/measure_rails.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <thread>

#include "bench/core/ceiling_end.h"
#include "bench/core/other_traffic.h"
#include "bench/core/other_work.h"
#include "bench/engines/engines.h"
#include "bench/pairs/pair_run.h"
#include "bench/statistics/statistics.h"
#include "hardware/rails_ceiling.h"
#include "results/all_rails.h"

namespace railbed {
namespace {

void add_intervals(const std::vector<double>& more, std::vector<double>& sum) {
  sum.resize(std::min(sum.size(), more.size()));
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

// The sum is known only if it is known of every rail.
void add_traffic(const std::optional<OtherTraffic>& part, std::optional<OtherTraffic>& sum) {
  if (!part || !sum) return sum.reset();
  sum->seconds = std::max(sum->seconds, part->seconds);
  sum->sent += part->sent;
  sum->received += part->received;
  const bool known = sum->link.bits_per_second > 0 && part->link.bits_per_second > 0;
  sum->link = known ? BitRate{sum->link.bits_per_second + part->link.bits_per_second} : BitRate{};
}

void add_part(const Measurement& part, Measurement& total) {
  add_intervals(part.intervals, total.intervals);
  total.streams += part.streams;
  total.seconds = std::min(total.seconds, part.seconds);
  total.packets += part.packets;
  total.lost += part.lost;
  total.checked_bytes += part.checked_bytes;
  total.wrong_bytes += part.wrong_bytes;
  for (auto [sum, end] : {std::pair{&total.from, &part.from}, std::pair{&total.to, &part.to}}) {
    sum->interface += "," + end->interface;
    add_traffic(end->other_traffic, sum->other_traffic);
  }
}

// Returns the mean of the CPU seconds per gigabyte, weighted by the bandwidth of each rail.
double cpu_of(const std::vector<Measurement>& parts) {
  double cpu = 0;
  double carried = 0;
  for (const Measurement& part : parts) {
    cpu += part.cpu_seconds_per_gigabyte * part.summary.median;
    carried += part.summary.median;
  }
  return carried > 0 ? cpu / carried : 0;
}

Ceiling ceiling_at_once(const std::vector<RailEnds>& rails, const std::vector<Measurement>& parts) {
  std::vector<RailPath> paths;
  for (std::size_t i = 0; i < rails.size(); ++i)
    paths.push_back({ceiling_end(rails[i].a), ceiling_end(rails[i].b), parts[i].ceiling});
  return rails_ceiling(paths);
}

Measurement total_of(const std::vector<RailEnds>& rails, const std::vector<Measurement>& parts) {
  Measurement total = parts.front();
  total.rail = kAllRails;
  total.counter_deltas.clear();
  for (Endpoint* end : {&total.from, &total.to}) {
    const auto traffic = end->other_traffic;
    *end = {end->node, end->interface, "", "", -1};
    end->other_traffic = traffic;
  }
  for (std::size_t i = 1; i < parts.size(); ++i) add_part(parts[i], total);
  total.cpu_seconds_per_gigabyte = cpu_of(parts);
  total.summary = summarize(total.intervals);
  total.ceiling = ceiling_at_once(rails, parts);
  return total;
}

// Returns whether two rails cross one port at an end, as VLANs do. Then each is other traffic to the other.
bool share_a_port(const std::vector<RailEnds>& rails) {
  for (const auto end : {&RailEnds::a, &RailEnds::b})
    for (std::size_t i = 0; i < rails.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if ((rails[i].*end).facts != nullptr && (rails[j].*end).facts != nullptr &&
            counted_at(rails[i].*end) == counted_at(rails[j].*end))
          return true;
  return false;
}

// Holds the engines of all rails. The constructor does their setup, measure() runs them all in threads.
class RailsRun {
 public:
  RailsRun(const std::vector<RailEnds>& rails, const PairMeasuring& measuring, const BenchPlan& plan,
           const std::stop_token& stop)
      : rails_(rails), plan_(plan), stop_(stop) {
    for (const RailEnds& rail : rails) explainers_.emplace_back(rail.a, rail.b);
    for (std::size_t i = 0; i < rails.size(); ++i)
      runs_.push_back(std::make_unique<PairRun>(plan.engines.front(), measuring, rails[i].a, rails[i].b,
                                                rails[i].rail, plan, explainers_[i], silent_, stop_));
    on_all([this](std::size_t i) { runs_[i]->get_ready(); });
  }

  std::vector<Measurement> measure(bool from_a) {
    const PairEnd& a = rails_.front().a;
    const PairEnd& b = rails_.front().b;
    std::vector<Measurement> parts(rails_.size());
    WorkWatch work(from_a ? a : b, from_a ? b : a, stop_);
    on_all([&](std::size_t i) {
      parts[i] = runs_[i]->measure({0, Metric::kBandwidth, from_a, plan_.sizes.front(), runs_[i]->streams()});
      parts[i].operation = at_once(parts[i].operation);
    });
    if (share_a_port(rails_))
      for (Measurement& part : parts)
        for (Endpoint* end : {&part.from, &part.to}) end->other_traffic.reset();
    if (std::ranges::any_of(parts, [](const Measurement& part) { return part.failure.has_value(); }))
      return parts;
    Measurement total = total_of(rails_, parts);
    work.end(total);
    parts.push_back(std::move(total));
    return parts;
  }

 private:
  void on_all(const std::function<void(std::size_t)>& work) const {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < rails_.size(); ++i) threads.emplace_back([&work, i] { work(i); });
  }

  const std::vector<RailEnds>& rails_;
  const BenchPlan& plan_;
  const std::stop_token& stop_;
  const OnMeasuring silent_;
  std::vector<PathExplainer> explainers_;
  std::vector<std::unique_ptr<PairRun>> runs_;
};

}  // namespace

std::vector<Measurement> measure_rails(const std::vector<RailEnds>& rails, const BenchPlan& plan,
                                       const OnMeasuring& on_measuring, std::stop_token stop) {
  const PairMeasuring* found = find_pair_measuring(plan.engines.front());
  if (found == nullptr || stop.stop_requested()) return {};
  const auto tell = [&](const PairEnd& from, const PairEnd& to) {
    if (on_measuring)
      on_measuring(fmt::format("{} bandwidth {} → {}, {} rails at once", plan.engines.front().id(),
                               from.peer->node(), to.peer->node(), rails.size()));
  };
  RailsRun run(rails, *found, plan, stop);
  tell(rails.front().a, rails.front().b);
  auto all = run.measure(true);
  if (!plan.both_ways || stop.stop_requested()) return all;
  tell(rails.front().b, rails.front().a);
  auto back = run.measure(false);
  std::ranges::move(back, std::back_inserter(all));
  return all;
}

}  // namespace railbed
