#include "campaign/measure/burn_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/collective/measure_collective.h"
#include "campaign/look/survey.h"
#include "campaign/measure/gpu_remedy.h"
#include "campaign/measure/run_collectives.h"
#include "diagnose/log/job_log.h"
#include "fleet/fleet.h"
#include "os/wait.h"

namespace railbed {
namespace {

using Moment = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kGpusSettle = 0.5;   // seconds: a GPU ends its piece of work after the turn has begun
constexpr double kLeaves = 1;         // likewise: ending NCCL
constexpr double kShortestSoak = 4;   // likewise; a turn that has less left rests
constexpr double kFades = 0.01;       // by which a node's lead is forgotten with each look, in seconds
constexpr double kLongestLead = 120;  // seconds that a node may be ahead
constexpr std::chrono::seconds kNodesAnswer{5};
constexpr std::size_t kLongestCause = 1000;
// Small ones first: over a slow network a large one would take longer than the turn.
const std::vector<std::uint64_t> kSoakSizes = {1 << 20, 16 << 20, 64 << 20, 256 << 20};

// A node with the GPUs of it that work.
struct ReadyNode {
  std::size_t node = 0;  // index in the places
  std::vector<int> gpus = {};
};

class CollectivesLoad final : public BurnCollectivesLoad {
 public:
  CollectivesLoad(const BurnPlan& plan, BurnFleet fleet, std::map<std::string, Facts> facts)
      : plan_(plan), own_(std::move(fleet)), fleet_(own_.get()), facts_(std::move(facts)) {
    for (const BurnDrill& drill : plan.drills)
      if (drill.kind == BurnInjection::kWrongCollective) drills_.push_back(drill);
    std::ranges::sort(drills_, {}, &BurnDrill::amount);
  }
  ~CollectivesLoad() override { stop(); }

  void start(Moment::time_point started, BurnCollectives before) override {
    started_ = started;
    all_ = std::move(before);
    drills_.erase(drills_.begin(),
                  drills_.begin() + std::min<std::ptrdiff_t>(all_.drills, std::ssize(drills_)));
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  void stop() override {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
  }
  BurnCollectives state() const override {
    const std::lock_guard lock(mutex_);
    return all_;
  }
  void look(const BurnReport& now) override {
    const double here = at();
    const std::lock_guard lock(mutex_);
    ready_.clear();
    settled_ = true;
    lead_ = std::max(lead_ - kFades, 0.0);
    for (std::size_t i = 0; i < now.nodes.size(); ++i) {
      ReadyNode ready{.node = i, .gpus = {}};
      const bool works = !now.nodes[i].lost && now.nodes[i].trouble.empty();
      if (works && now.nodes[i].gpus.empty()) settled_ = false;
      for (const BurnGpu& gpu : now.nodes[i].gpus) {
        if (gpu.ended || !gpu.trouble.empty()) continue;
        if (!gpu.began) {
          settled_ &= !works;
          continue;
        }
        ready.gpus.push_back(gpu.ordinal);
        lead_ = std::clamp(gpu.seconds - here, lead_, kLongestLead);
      }
      if (!ready.gpus.empty() && !now.nodes[i].lost) ready_.push_back(std::move(ready));
    }
  }

 private:
  double at() const { return Seconds(Moment::now() - started_).count(); }
  double lead() const {
    const std::lock_guard lock(mutex_);
    return lead_;
  }

  void run(const std::stop_token& stop) {
    double from = 0;
    while (const auto turn = burn_span(plan_, BurnPhase::kCollectives, std::max(from, at()))) {
      from = turn->end;
      if (!wait_unless_stopped(Seconds(turn->begin + kGpusSettle - at()), stop)) return;
      take_turn(*turn, stop);
      if (!wait_unless_stopped(Seconds(turn->end - at()), stop)) return;
    }
  }

  // Waits until every GPU has begun or will not, as far as the turn allows.
  void take_turn(const BurnSpan& turn, const std::stop_token& stop) {
    const auto left = [&] { return turn.end - lead() - kLeaves - at(); };
    while (!is_settled()) {
      if (left() < kShortestSoak) return leave_out("GPUs had not begun their own work");
      if (!wait_unless_stopped(Seconds(kGpusSettle), stop)) return;
    }
    const auto nodes = nodes_that_answer(stop);
    if (stop.stop_requested()) return;
    const double seconds = left();
    if (seconds < kShortestSoak) return leave_out("too little was left of a turn");
    std::size_t gpus = 0;
    for (const ReadyNode& one : nodes) gpus += one.gpus.size();
    if (gpus < 2) return leave_out("fewer than two GPUs work");
    soak(nodes, turn, seconds, stop);
  }
  bool is_settled() const {
    const std::lock_guard lock(mutex_);
    return settled_;
  }

  void leave_out(std::string why) {
    const std::lock_guard lock(mutex_);
    all_.skipped = std::move(why);
    ++all_.left_out;
  }

  std::vector<bool> answering(const std::stop_token& stop) {
    std::vector<bool> all;
    for (const auto& answer : fleet::gather(fleet_, "clock", "{}", kNodesAnswer, stop))
      all.push_back(answer.result.has_value());
    return all;
  }

  // Nodes that do not answer get another connection. Between two turns no call is in progress.
  std::vector<ReadyNode> nodes_that_answer(const std::stop_token& stop) {
    auto answers = answering(stop);
    if (own_.may_reconnect() && std::ranges::find(answers, false) != answers.end()) {
      for (std::size_t i = 0; i < answers.size(); ++i)
        if (!answers[i]) fleet_.connect_again(i);
      answers = answering(stop);
    }
    const std::lock_guard lock(mutex_);
    auto ready = ready_;
    std::erase_if(ready,
                  [&](const ReadyNode& one) { return one.node >= answers.size() || !answers[one.node]; });
    return ready;
  }

  // Returns the rank of the first drill that is due, and removes the drill; -1 if none is. A drill is due in the first turn
  // that ends after its moment, and from then on until its GPU takes part. Drills are on the first node.
  int take_drill(const std::vector<ReadyNode>& nodes, const BurnSpan& turn) {
    const std::vector<int>& gpus = nodes.front().gpus;
    const auto due = std::ranges::find_if(drills_, [&](const BurnDrill& drill) {
      const auto first = burn_span(plan_, BurnPhase::kCollectives, drill.amount);
      return first && first->end <= turn.end && std::ranges::find(gpus, drill.gpu) != gpus.end();
    });
    if (due == drills_.end() || nodes.front().node != 0) return -1;
    const auto rank = std::ranges::find(gpus, due->gpu) - gpus.begin();
    drills_.erase(due);
    return static_cast<int>(rank);
  }

  void soak(const std::vector<ReadyNode>& nodes, const BurnSpan& turn, double seconds,
            const std::stop_token& stop) {
    CollectivePlan plan;
    plan.sizes = kSoakSizes;
    plan.iterations = 1;
    plan.graph = false;
    plan.soak = seconds;
    plan.patience = plan_.patience;
    plan.place.library = plan_.nccl;
    plan.flip_rank = take_drill(nodes, turn);
    std::vector<GpuNodeEnd> ends;
    for (const ReadyNode& one : nodes) ends.push_back({&fleet_.peer(one.node), one.gpus});
    diagnose::LogReader reader;
    const double begin = at();
    const CollectiveReport report = measure_collective(
        ends, plan, Moment::now(),
        {[](std::string_view) {}, [&](std::string_view text) { reader.feed(text); }}, stop);
    const diagnose::Log log = reader.finish();
    keep_rows(report, begin, static_cast<int>(nodes.size()), plan.flip_rank, log);
    if (report.failure && !stop.stop_requested()) keep_failure(nodes, report, log, begin, stop);
  }

  void keep_rows(const CollectiveReport& report, double begin, int nodes, int flipped,
                 const diagnose::Log& log) {
    if (report.rows.empty()) return;
    const Ceiling ceiling = ceiling_of_run(report, facts_, log);
    const auto bytes = std::ranges::max_element(report.rows, {}, &CollectiveRow::bytes)->bytes;
    BurnRates rates;
    const std::lock_guard lock(mutex_);
    for (const CollectiveRow& row : report.rows) {
      if (row.bytes == bytes && row.busbw > 0) rates.add(row.busbw / 8);
      all_.compared += row.bytes * report.ranks.size();
      if (row.wrong > 0) keep_wrong(report, row, begin, flipped);
    }
    ++all_.turns;
    all_.drills += flipped >= 0 ? 1 : 0;
    all_.version = report.version.substr(0, kLongestCause);
    const auto gpus = static_cast<int>(report.ranks.size());
    if (gpus < all_.gpus) ++all_.smaller;
    if (gpus > all_.gpus) all_.smaller = all_.turns - 1;
    if (gpus < all_.gpus || bytes < all_.bytes) return;  // its rate is another one's
    if (gpus > all_.gpus || bytes > all_.bytes) {
      turns_ = {};
      all_.rate = all_.low = all_.high = 0;
    }
    all_.gpus = gpus;
    all_.nodes = nodes;
    all_.bytes = bytes;
    const double rate = rates.median();
    if (all_.rate > 0 && turns_.median() <= 0) turns_.add(all_.rate);  // of the controller before this one
    turns_.add(rate);
    all_.rate = turns_.median();
    all_.low = all_.low > 0 ? std::min(all_.low, rate) : rate;
    all_.high = std::max(all_.high, rate);
    all_.note = ceiling.note;
    if (ceiling.limits.empty() || ceiling.nominal) return;
    const Limit& limit = ceiling.limits.front();
    all_.ceiling = limit.rate.bits_per_second / 8;
    all_.ceiling_name = limit.name;
    all_.by_links = !limit.name.starts_with("PCI");  // whose operations reach about half of it
  }

  void add_fault(BurnCollectiveFault fault) {
    ++all_.fault_count;
    if (all_.faults.size() < kMostCollectiveFaults) all_.faults.push_back(std::move(fault));
  }

  void keep_wrong(const CollectiveReport& report, const CollectiveRow& row, double begin, int flipped) {
    BurnCollectiveFault fault{.at = begin, .elements = row.wrong};
    fault.gpu_count = static_cast<int>(row.wrong_ranks.size());
    for (const int rank : row.wrong_ranks) {
      const auto found = std::ranges::find(report.ranks, rank, &CollectiveRank::rank);
      if (found == report.ranks.end() || fault.gpus.size() >= kMostWrongGpus) continue;
      fault.gpus.push_back(fmt::format("GPU {} of {}", found->gpu.ordinal, found->node));
    }
    fault.injected = row.wrong == 1 && row.wrong_ranks == std::vector{flipped};
    add_fault(std::move(fault));
  }

  // A failure beside a node that does not answer is no evidence about the collective.
  void keep_failure(const std::vector<ReadyNode>& nodes, const CollectiveReport& report,
                    const diagnose::Log& log, double begin, const std::stop_token& stop) {
    Failure failure = *report.failure;
    if (failure.remedy.empty())
      failure.remedy = gpu_remedy(failure, log, "--memory limits what the burn-in takes", "--nccl");
    if (failure.kind == FailureKind::kNoNccl)
      return leave_out(fmt::format("{}; {}", failure.cause.substr(0, kLongestCause), failure.remedy));
    const auto answers = answering(stop);
    const bool away = std::ranges::any_of(
        nodes, [&](const ReadyNode& one) { return one.node >= answers.size() || !answers[one.node]; });
    const std::lock_guard lock(mutex_);
    if (away) {
      ++all_.interrupted;
      return;
    }
    add_fault({.at = begin,
               .cause = fmt::format("{}: {}", failure.stage, failure.cause).substr(0, kLongestCause),
               .remedy = failure.remedy.substr(0, kLongestCause)});
  }

  const BurnPlan& plan_;
  const BurnFleet own_;
  fleet::Fleet& fleet_;
  const std::map<std::string, Facts> facts_;
  std::vector<BurnDrill> drills_;  // of the thread alone once it runs
  BurnRates turns_;                // likewise
  Moment::time_point started_;
  mutable std::mutex mutex_;  // guards the four below
  BurnCollectives all_;
  std::vector<ReadyNode> ready_;
  bool settled_ = false;  // by the last look no GPU will begin that has not
  double lead_ = 0;       // seconds that a node's timetable is ahead
  std::jthread thread_;   // last, because it uses all members above
};

}  // namespace

std::unique_ptr<BurnCollectivesLoad> BurnCollectivesLoad::open(BurnFleet fleet, const BurnPlan& plan,
                                                               const Caller& caller) {
  Surveyed surveyed = survey_nodes(fleet.get(), caller);
  return std::make_unique<CollectivesLoad>(plan, std::move(fleet), std::move(surveyed.facts));
}

}  // namespace railbed
