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
  Run(const std::vector<Peer*>& peers, const CollectivePlan& plan, Clock::time_point began,
      const OnCollective& on, std::stop_token stop)
      : peers_(peers), plan_(plan), began_(began), on_(on), stop_(std::move(stop)), logs_(peers.size()) {
    report_.operation = plan.operation;
    report_.type = plan.type;
    report_.root = has_root(plan.operation) ? plan.root : -1;
    report_.iterations = plan.iterations;
  }

  CollectiveReport run() {
    std::vector<int> first{0};
    if (peers_.size() > 1 && !count_ranks(first)) return std::move(report_);
    ranks_ = first.back();
    std::vector<std::jthread> nodes;
    nodes.emplace_back([&] { node(0, 0); });
    if (peers_.size() > 1) {
      const std::string id = id_.get_future().get();
      for (std::size_t i = 1; i < peers_.size() && !id.empty(); ++i)
        nodes.emplace_back([&, i, id, rank = first[i]] { node(i, rank, id); });
    }
    nodes.clear();
    std::ranges::sort(report_.ranks, {}, &CollectiveRank::rank);
    return std::move(report_);
  }

 private:
  // Fills in each node's first rank, and how many there are after the last.
  bool count_ranks(std::vector<int>& first) {
    std::vector<std::future<Result<GpuSeats>>> answers;
    on_.measuring("asking for GPUs");
    for (Peer* peer : peers_)
      answers.push_back(std::async(std::launch::async, [this, peer] {
        return ask<GpuSeats>(*peer, kGpuSeats, GpuSeats{}, kRequest, stop_.token());
      }));
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      const auto seats = answers[i].get();
      if (!seats) give_up(i, "start", seats.error().text);
      first.push_back(first.back() + (seats ? static_cast<int>(seats->gpus.size()) : 0));
    }
    return !report_.failure;
  }

  void node(std::size_t i, int first_rank, const std::string& id = "") {
    CollectivePlan plan = plan_;
    plan.first_rank = first_rank;
    plan.ranks = ranks_;
    plan.id = id;
    if (peers_.size() > 1) plan.gpus.clear();
    const auto session = ask<ChildName>(*peers_[i], kCollective, plan, kRequest, stop_.token());
    Result<void> ended;
    if (!session)
      give_up(i, "start", session.error().text);
    else
      ended = follow_session(
          *peers_[i], session->session,
          {[&](std::string_view line) { take(i, line); }, [&](std::string_view step) { say(i, step); },
           [&](std::string_view text) { keep_log(i, text); }},
          stop_.token());
    if (!ended) give_up(i, "run", ended.error().text);
    if (i == 0 && !has_id_.exchange(true)) id_.set_value("");
  }

  void say(std::size_t i, std::string_view step) {
    if (i == 0) on_.measuring(step);
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
      const std::string where = peers_.size() > 1 ? peers_[i]->node() + ": " : "";
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
      rank.node = peers_[i]->node();
      report_.ranks.push_back(std::move(rank));
    }
    if (peers_.size() == 1) ranks_ = static_cast<int>(report_.ranks.size());
  }

  void add_verified(std::uint64_t wrong) {
    first_wrong_ += wrong;
    if (++verified_ == peers_.size() && first_wrong_ == 0)
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
    if (++found->nodes < peers_.size()) return;
    report_.rows.push_back(row_of(found->series, plan_.operation, ranks_, plan_.check));
    waiting_.erase(found);
  }

  struct Waiting {
    std::uint64_t bytes = 0;
    std::size_t nodes = 0;
    CollectiveSeries series;
  };

  const std::vector<Peer*>& peers_;
  const CollectivePlan& plan_;
  Clock::time_point began_;
  const OnCollective& on_;
  ChainedStop stop_;
  int ranks_ = 0;
  std::promise<std::string> id_;
  std::atomic<bool> has_id_{false};
  std::mutex mutex_;  // guards what follows
  CollectiveReport report_;
  std::vector<Waiting> waiting_;
  std::vector<std::string> logs_;
  std::size_t verified_ = 0;
  std::uint64_t first_wrong_ = 0;
};

}  // namespace

CollectiveReport measure_collective(const std::vector<Peer*>& peers, const CollectivePlan& plan,
                                    std::chrono::steady_clock::time_point began, const OnCollective& on,
                                    const std::stop_token& stop) {
  return Run(peers, plan, began, on, stop).run();
}

}  // namespace railbed
