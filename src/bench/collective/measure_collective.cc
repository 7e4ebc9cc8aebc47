#include "bench/collective/measure_collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "bench/core/typed.h"

namespace railbed {
namespace {

using Clock = std::chrono::steady_clock;

class Run {
 public:
  Run(const std::vector<GpuNodeEnd>& nodes, const CollectivePlan& plan, Clock::time_point began,
      const OnNcclRun& on, std::stop_token stop)
      : nodes_(nodes),
        plan_(plan),
        began_(began),
        nccl_(nodes, plan.place.library, on, std::move(stop)),
        sent_(nodes.size()) {
    report_.operation = plan.operation;
    report_.type = plan.type;
    report_.root = has_root(plan.operation) ? plan.root : -1;
    report_.iterations = plan.iterations;
  }

  CollectiveReport run() {
    nccl_.run([this](std::size_t i, const NodePlace& place,
                     std::stop_token stop) { return start(i, place, std::move(stop)); },
              [this](std::size_t i, std::string_view line) { return take(i, line); });
    report_.ranks = std::move(nccl_.ranks);
    report_.version = nccl_.version;
    report_.library = nccl_.library;
    report_.failure = nccl_.failure;
    return std::move(report_);
  }

 private:
  Result<ChildName> start(std::size_t i, const NodePlace& place, std::stop_token stop) {
    CollectivePlan plan = plan_;
    plan.place = place;
    return ask<ChildName>(*nodes_[i].peer, kCollective, plan, kStartDeadline, std::move(stop));
  }

  Result<std::optional<NodeNews>> take(std::size_t i, std::string_view line) {
    ASSIGN_OR_RETURN(auto news, json::read<CollectiveNews>(line));
    if (news.cut && report_.cut.empty())
      report_.cut = nodes_.size() > 1 ? nodes_[i].peer->node() + ": " + *news.cut : *news.cut;
    if (news.verified) add_verified(*news.verified);
    if (news.series) add_series(i, *news.series);
    return std::move(news.node);
  }

  void add_verified(std::uint64_t wrong) {
    first_wrong_ += wrong;
    if (++verified_ == nodes_.size() && first_wrong_ == 0)
      report_.first_result = std::chrono::duration<double, std::nano>(Clock::now() - began_).count();
  }

  // Nodes are in step but for their news: the third series of one belongs to the third of each other one.
  void add_series(std::size_t i, CollectiveSeries& series) {
    const auto [found, is_new] = waiting_.try_emplace(sent_[i]++);
    Waiting& waiting = found->second;
    if (is_new)
      waiting.series = std::move(series);
    else
      merge(waiting.series, series);
    if (++waiting.nodes < nodes_.size()) return;
    report_.rows.push_back(row_of(waiting.series, plan_.operation, nccl_.count(), plan_.check));
    waiting_.erase(found);
  }

  struct Waiting {
    std::size_t nodes = 0;  // that have sent it
    CollectiveSeries series;
  };

  const std::vector<GpuNodeEnd>& nodes_;
  const CollectivePlan& plan_;
  Clock::time_point began_;
  NcclRun nccl_;
  CollectiveReport report_;
  std::map<std::size_t, Waiting> waiting_;  // by its number
  std::vector<std::size_t> sent_;           // series that each node has sent
  std::size_t verified_ = 0;
  std::uint64_t first_wrong_ = 0;
};

}  // namespace

CollectiveReport measure_collective(const std::vector<GpuNodeEnd>& nodes, const CollectivePlan& plan,
                                    std::chrono::steady_clock::time_point began, const OnNcclRun& on,
                                    const std::stop_token& stop) {
  return Run(nodes, plan, began, on, stop).run();
}

std::vector<Measurement> collective_measurements(const CollectiveReport& report) {
  constexpr std::uint64_t kTimedBelow = 1 << 20;
  std::vector<Measurement> all;
  const auto ranks = static_cast<int>(report.ranks.size());
  const std::string name = fmt::format("{} {}", to_text(report.operation), to_text(report.type));
  for (const CollectiveRow& row : report.rows) {
    Measurement measurement;
    measurement.engine = Engine::kCollective;
    measurement.operation = name;
    measurement.from.node = report.ranks.empty() ? "" : report.ranks.front().node;
    measurement.to.node = report.ranks.empty() ? "" : report.ranks.back().node;
    measurement.message_bytes = row.bytes;
    measurement.streams = ranks;
    measurement.checked_bytes = row.checked ? row.bytes : 0;
    if (const auto wrong = row.wrong + row.in_place_wrong; wrong > 0) {
      measurement.wrong_bytes = wrong * bytes_of(report.type);
      measurement.failure = Failure{"verify", fmt::format("{} elements are wrong", wrong),
                                    "railbed verify --load looks for memory and link errors"};
    }
    if (row.bytes < kTimedBelow) {
      measurement.metric = Metric::kLatency;
      measurement.summary = row.launched;
      all.push_back(measurement);
      if (!row.graph) continue;
      measurement.operation = name + ", graph";
      measurement.summary = *row.graph;
    } else {
      const auto busbw = [&](double ns) {
        return ns > 0 ? static_cast<double>(row.bytes) * 8e9 / ns * bus_factor(report.operation, ranks) : 0;
      };
      const Summary& time = row.launched;
      measurement.ceiling = report.ceiling;
      measurement.summary = {time.samples,
                             busbw(time.median),
                             busbw(time.high),
                             busbw(time.low),
                             busbw(time.mean),
                             busbw(time.maximum),
                             busbw(time.minimum),
                             0,
                             0,
                             0,
                             0};
    }
    all.push_back(std::move(measurement));
  }
  return all;
}

}  // namespace railbed
