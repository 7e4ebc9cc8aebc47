#include "bench/collective/collective_child.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "base/json.h"
#include "bench/collective/collective_rank.h"
#include "bench/gpu/gpu_node.h"

namespace railbed {
namespace {

using Clock = std::chrono::steady_clock;

class Job {
 public:
  Job(const CollectivePlan& plan, const NvidiaLibraries& from, const Tell& tell)
      : plan_(plan),
        tell_(tell),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(plan.soak))),
        node_(plan.place, from, tell, [this](const NodeNews& news) { say({.node = news}); }) {}

  // Returns why it failed; empty if it did not.
  std::string run() {
    if (auto why = node_.find(); !why.empty()) return why;
    if (plan_.root >= node_.ranks())
      return fmt::format("there is no rank {} among {}", plan_.root, node_.ranks());
    series_.resize(node_.size());
    return node_.run([this](const GpuNode::GpuThread& gpu) { work(gpu); });
  }

  FailureKind failure_kind() const { return node_.failure_kind(); }
  void say(const CollectiveNews& news) const {
    const std::lock_guard lock(telling_);
    tell_.result(json::dump(json::encode(news)));
  }

 private:
  void work(const GpuNode::GpuThread& gpu) {
    RankWork mine(plan_, gpu.rank, node_.ranks(), static_cast<int>(node_.size()), gpu.index == 0, gpu.cuda,
                  node_.barrier(), tell_.about_to);
    if (!mine.prepare() || !mine.join(node_.nccl(), node_.id()) || !mine.allocate())
      return node_.barrier().give_up(mine.error(), mine.failure_kind());
    if (!mine.cut().empty()) say({.cut = mine.cut()});
    if (!verify(mine, gpu.index)) return;
    if (!(plan_.soak > 0 ? soak(mine, gpu.index) : sweep(mine, gpu.index))) return;
    // On a single node, the end of the process is quicker. Other nodes would take that end for a fault.
    if (!node_.alone() && !mine.leave()) return node_.barrier().give_up(mine.error(), mine.failure_kind());
    node_.barrier().leave();
  }

  bool verify(RankWork& mine, std::size_t i) {
    const auto wrong = mine.verify_first();
    if (!wrong) return give_up(mine);
    series_[i].wrong = *wrong;
    if (!node_.barrier().wait()) return false;
    std::uint64_t sum = 0;
    for (const CollectiveSeries& series : series_) sum += series.wrong;
    if (i == 0) say({.verified = sum});
    return node_.barrier().wait();
  }

  bool sweep(RankWork& mine, std::size_t i) {
    return std::ranges::all_of(mine.sizes(),
                               [&](std::uint64_t bytes) { return keep(mine, mine.measure(bytes), i); });
  }

  bool soak(RankWork& mine, std::size_t i) {
    while (true) {
      const auto goes_on = mine.agree_on_series(Clock::now() < end_);
      if (!goes_on) return give_up(mine);
      if (!*goes_on) return true;
      if (!keep(mine, mine.run_series(), i)) return false;
    }
  }

  // Reports a series once all threads have theirs.
  bool keep(const RankWork& mine, std::optional<CollectiveSeries> series, std::size_t i) {
    if (!series) return give_up(mine);
    series_[i] = std::move(*series);
    if (!node_.barrier().wait()) return false;
    if (i == 0) {
      CollectiveSeries all = series_[0];
      for (std::size_t other = 1; other < series_.size(); ++other) merge(all, series_[other]);
      if (all.bytes > 0) say({.series = std::move(all)});
    }
    return node_.barrier().wait();
  }

  bool give_up(const RankWork& mine) {
    node_.barrier().give_up(mine.error(), mine.failure_kind());
    return false;
  }

  const CollectivePlan& plan_;
  const Tell& tell_;
  const Clock::time_point end_;  // of a soak
  mutable std::mutex telling_;
  GpuNode node_;
  std::vector<CollectiveSeries> series_;  // of each thread, for the present size
};

}  // namespace

void run_collective(const CollectivePlan& plan, const NvidiaLibraries& from, const Tell& tell) {
  ask_for_nccl_log(plan.choices);
  // If a thread hangs, it outlives the run. So the job that it uses is never deleted; the process ends soon.
  auto* job = new Job(plan, from, tell);
  if (const std::string why = job->run(); !why.empty())
    job->say({.node = NodeNews{.failure = why, .kind = job->failure_kind()}});
}

}  // namespace railbed
