#include "bench/measure_collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include "bench/chained_stop.h"
#include "bench/child_session.h"
#include "bench/typed.h"

namespace railbed {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kRequest{30};

class Run {
 public:
  Run(const std::vector<CollectiveNode>& nodes, const CollectivePlan& plan, Clock::time_point began,
      const OnCollective& on, std::stop_token stop)
      : nodes_(nodes), plan_(plan), began_(began), on_(on), stop_(std::move(stop)), logs_(nodes.size()) {
    report_.operation = plan.operation;
    report_.type = plan.type;
    report_.root = has_root(plan.operation) ? plan.root : -1;
    report_.iterations = plan.iterations;
  }

  CollectiveReport run() {
    std::vector<int> first{0};
    if (nodes_.size() > 1 && !count_ranks(first)) return std::move(report_);
    ranks_ = first.back();
    std::vector<std::jthread> threads;
    threads.emplace_back([&] { node(0, 0); });
    if (nodes_.size() > 1) {
      const std::string id = id_.get_future().get();
      for (std::size_t i = 1; i < nodes_.size() && !id.empty(); ++i)
        threads.emplace_back([&, i, id, rank = first[i]] { node(i, rank, id); });
    }
    threads.clear();
    std::ranges::sort(report_.ranks, {}, &CollectiveRank::rank);
    return std::move(report_);
  }

 private:
  // Fills in each node's first rank, and how many there are after the last.
  bool count_ranks(std::vector<int>& first) {
    std::vector<std::future<Result<GpuSeats>>> answers;
    on_.measuring("asking for GPUs");
    for (const CollectiveNode& node : nodes_)
      answers.push_back(std::async(std::launch::async, [this, &node] {
        if (!node.gpus.empty()) return Result<GpuSeats>(GpuSeats{});  // they were named: no need to ask
        return ask<GpuSeats>(*node.peer, kGpuSeats, GpuSeats{}, kRequest, stop_.token());
      }));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto seats = answers[i].get();
      if (!seats) give_up(i, "start", seats.error().text);
      const auto& chosen = nodes_[i].gpus;
      const std::size_t count = !chosen.empty() ? chosen.size() : seats ? seats->gpus.size() : 0;
      first.push_back(first.back() + static_cast<int>(count));
    }
    return !report_.failure;
  }

  void node(std::size_t i, int first_rank, const std::string& id = "") {
    CollectivePlan plan = plan_;
    plan.first_rank = first_rank;
    plan.ranks = ranks_;
    plan.id = id;
    plan.gpus = nodes_[i].gpus;
    const auto session = ask<ChildName>(*nodes_[i].peer, kCollective, plan, kRequest, stop_.token());
    Result<void> ended;
    if (!session)
      give_up(i, "start", session.error().text);
    else
      ended = follow_session(
          *nodes_[i].peer, session->session,
          {[&](std::string_view line) { take(i, line); }, [&](std::string_view step) { say(i, step); },
           [&](std::string_view text) { keep_log(i, text); }},
          stop_.token());
    if (!ended) give_up(i, "run", ended.error().text);
    if (i == 0 && !has_id_.exchange(true)) id_.set_value("");
  }

  // "all_reduce of 4 MiB, one by one": the size is enough, once.
  void say(std::size_t i, std::string_view step) {
    if (i != 0 || step.substr(0, step.find(", ")) == said_) return;
    on_.measuring(said_ = step.substr(0, step.find(", ")));
  }

  // Logs of several nodes are mixed, but never within a line.
  void keep_log(std::size_t i, std::string_view text) {
    const std::lock_guard lock(mutex_);
    logs_[i] += text;
    const auto end = logs_[i].rfind('\n');
    if (end == std::string::npos) return;
    on_.log(std::string_view(logs_[i]).substr(0, end + 1));
    logs_[i].erase(0, end + 1);
  }

  // The others would wait for this node until their patience ends.
  void give_up(std::size_t i, std::string stage, const std::string& why) {
    {
      const std::lock_guard lock(mutex_);
      const std::string where = nodes_.size() > 1 ? nodes_[i].peer->node() + ": " : "";
      if (!report_.failure) report_.failure = Failure{std::move(stage), where + why, ""};
    }
    stop_.request();
  }

  void take(std::size_t i, std::string_view line) {
    auto news = json::read<CollectiveNews>(line);
    if (!news) return give_up(i, "run", news.error().text);
    if (news->failure) return give_up(i, "run", *news->failure);
    if (news->id && i == 0 && !has_id_.exchange(true)) id_.set_value(*news->id);
    const std::lock_guard lock(mutex_);
    if (news->version) report_.version = *news->version;
    if (news->library) report_.library = *news->library;
    if (news->ranks) add_ranks(i, *news->ranks);
    if (news->verified) add_verified(*news->verified);
    if (news->series) add_series(*news->series);
  }

  void add_ranks(std::size_t i, std::vector<CollectiveRank> ranks) {
    for (CollectiveRank& rank : ranks) {
      rank.node = nodes_[i].peer->node();
      report_.ranks.push_back(std::move(rank));
    }
    if (nodes_.size() == 1) ranks_ = static_cast<int>(report_.ranks.size());
  }

  void add_verified(std::uint64_t wrong) {
    first_wrong_ += wrong;
    if (++verified_ == nodes_.size() && first_wrong_ == 0)
      report_.first_result = std::chrono::duration<double, std::nano>(Clock::now() - began_).count();
  }

  void add_series(CollectiveSeries& series) {
    auto found = std::ranges::find(waiting_, series.bytes, &Waiting::bytes);
    if (found == waiting_.end()) {
      waiting_.push_back({series.bytes, 0, series});
      found = waiting_.end() - 1;
    } else {
      merge(found->series, series);
    }
    if (++found->nodes < nodes_.size()) return;
    report_.rows.push_back(row_of(found->series, plan_.operation, ranks_, plan_.check));
    waiting_.erase(found);
  }

  struct Waiting {
    std::uint64_t bytes = 0;
    std::size_t nodes = 0;
    CollectiveSeries series;
  };

  const std::vector<CollectiveNode>& nodes_;
  const CollectivePlan& plan_;
  Clock::time_point began_;
  const OnCollective& on_;
  ChainedStop stop_;
  int ranks_ = 0;
  std::promise<std::string> id_;
  std::atomic<bool> has_id_{false};
  std::string said_;
  std::mutex mutex_;  // guards what follows
  CollectiveReport report_;
  std::vector<Waiting> waiting_;
  std::vector<std::string> logs_;
  std::size_t verified_ = 0;
  std::uint64_t first_wrong_ = 0;
};

}  // namespace

CollectiveReport measure_collective(const std::vector<CollectiveNode>& nodes, const CollectivePlan& plan,
                                    std::chrono::steady_clock::time_point began, const OnCollective& on,
                                    const std::stop_token& stop) {
  return Run(nodes, plan, began, on, stop).run();
}

std::vector<Measurement> collective_measurements(const CollectiveReport& report) {
  constexpr std::uint64_t kTimedBelow = 1 << 20;
  std::vector<Measurement> all;
  const auto ranks = static_cast<int>(report.ranks.size());
  const std::string name = fmt::format("{} {}", to_text(report.operation), to_text(report.type));
  for (const CollectiveRow& row : report.rows) {
    Measurement one;
    one.engine = Engine::kCollective;
    one.operation = name;
    one.from.node = report.ranks.empty() ? "" : report.ranks.front().node;
    one.to.node = report.ranks.empty() ? "" : report.ranks.back().node;
    one.message_bytes = row.bytes;
    one.streams = ranks;
    one.checked_bytes = row.checked ? row.bytes : 0;
    if (const auto wrong = row.wrong + row.in_place_wrong; wrong > 0) {
      one.wrong_bytes = wrong * bytes_of(report.type);
      one.failure = Failure{"verify", fmt::format("{} elements are wrong", wrong),
                            "railbed verify --load looks for memory and link errors"};
    }
    if (row.bytes < kTimedBelow) {
      one.metric = Metric::kLatency;
      one.summary = row.launched;
      all.push_back(one);
      if (!row.graph) continue;
      one.operation = name + ", graph";
      one.summary = *row.graph;
    } else {
      const auto busbw = [&](double ns) {
        return ns > 0 ? static_cast<double>(row.bytes) * 8e9 / ns * bus_factor(report.operation, ranks) : 0;
      };
      const Summary& time = row.launched;
      one.ceiling = report.ceiling;
      one.summary = {time.samples,
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
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace railbed
