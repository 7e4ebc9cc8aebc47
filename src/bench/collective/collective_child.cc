#include "bench/collective/collective_child.h"

#include <fmt/format.h>

#include <mutex>

#include "base/json.h"
#include "bench/collective/collective_rank.h"
#include "bench/gpu/gpu_node.h"

namespace railbed {
namespace {

class Job {
 public:
  Job(const CollectivePlan& plan, const NvidiaLibraries& from, const Tell& tell)
      : plan_(plan),
        tell_(tell),
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
    for (const std::uint64_t bytes : mine.sizes())
      if (!measure(mine, bytes, gpu.index)) return;
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

  bool measure(RankWork& mine, std::uint64_t bytes, std::size_t i) {
    auto series = mine.measure(bytes);
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
