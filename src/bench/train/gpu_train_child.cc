#include "bench/train/gpu_train_child.h"

#include <memory>
#include <utility>

#include "base/json.h"
#include "bench/core/clock.h"
#include "bench/gpu/gpu_node.h"
#include "bench/train/gpu_train_rank.h"
#include "bench/train/train.h"

namespace railbed {
namespace {

std::string_view type_word(DataType type) {
  if (type == DataType::kBfloat16) return "bf16";
  return type == DataType::kFloat16 ? "fp16" : "fp32";
}

TrainWork work_of(const GpuTrainPlan& plan) {
  const auto model = find_model(plan.model);
  return model ? make_work(*model, plan.step) : TrainWork();
}

class TrainJob {
 public:
  TrainJob(const GpuTrainPlan& plan, const NvidiaLibraries& from, const Tell& tell)
      : plan_(plan),
        tell_(tell),
        work_(work_of(plan)),
        node_(plan.place, from, tell, [this](const NodeNews& news) { say({.node = news}); }) {}

  // Returns why it failed; empty if it did not.
  std::string run() {
    if (auto why = node_.find(); !why.empty()) return why;
    if (auto why = open_cublas(); !why.empty()) return why;
    rounds_.resize(node_.size());
    checked_.resize(node_.size());
    return node_.run([this](const GpuNode::GpuThread& gpu) { work(gpu); });
  }

  FailureKind failure_kind() const { return no_cublas_ ? FailureKind::kNoCublas : node_.failure_kind(); }
  void say(const GpuTrainNews& news) const { tell_.result(json::dump(json::encode(news))); }

 private:
  std::string open_cublas() {
    int version = 0;
    if (!node_.cuda().call("cuDriverGetVersion", &version)) return node_.cuda().error();
    const auto files = plan_.cublas.empty() ? cublas_files(version / 1000) : std::vector{plan_.cublas};
    tell_.about_to("opening libcublas");
    cublas_ = std::make_unique<CublasLibrary>(files);
    no_cublas_ = !cublas_->error().empty();
    return cublas_->error();
  }

  void work(const GpuNode::GpuThread& gpu) {
    GpuTrainRank mine(work_, static_cast<int>(plan_.step.word_bytes),
                      {gpu.rank, node_.ranks(), static_cast<int>(node_.size()), gpu.index == 0}, gpu.cuda,
                      node_.barrier(), tell_.about_to);
    if (!mine.prepare(*cublas_) || !mine.stretch(plan_.stretch_to)) return give_up(mine);
    if (gpu.index == 0)
      say({.means =
               GpuTrainMeans{cublas_->version(), std::string(type_word(mine.type())), mine.memory_bytes()}});
    if (!mine.join(node_.nccl(), node_.id())) return give_up(mine);
    if (!rounds(mine, gpu.index) || !check(mine, gpu.index)) return;
    // On a single node, the end of the process is quicker. Other nodes would take that end for a fault.
    if (!node_.alone() && !mine.leave()) return give_up(mine);
    node_.barrier().leave();
  }

  // Runs the rounds. The first is the warm-up and is not kept. Rank 0's clock decides for all ranks.
  bool rounds(GpuTrainRank& mine, std::size_t i) {
    const std::uint64_t end = now_ns() + to_ns(plan_.seconds);
    for (int number = 0; number < kMostRounds; ++number) {
      const auto go_on = mine.agree(number <= kFewestRounds || now_ns() < end);
      if (go_on && !*go_on) break;
      const auto round = go_on ? mine.round() : std::nullopt;
      if (!round) return give_up(mine), false;
      rounds_[i] = *round;
      if (!node_.barrier().wait()) return false;
      if (i == 0 && number > 0) say({.round = slowest()});
      if (!node_.barrier().wait()) return false;
    }
    if (i == 0) say({.ready = mine.ready()});
    return true;
  }

  GpuTrainRound slowest() const {
    GpuTrainRound most;
    for (const GpuTrainRound& round : rounds_) keep_slower(most, round);
    return most;
  }

  bool check(GpuTrainRank& mine, std::size_t i) {
    const auto checked = mine.check();
    if (!checked) return give_up(mine), false;
    checked_[i] = *checked;
    if (!node_.barrier().wait()) return false;
    GpuTrainChecked all;
    for (const GpuTrainChecked& checked : checked_) {
      all.bytes += checked.bytes;
      all.wrong_bytes += checked.wrong_bytes;
    }
    if (i == 0) say({.checked = all});
    return true;
  }

  void give_up(const GpuTrainRank& mine) { node_.barrier().give_up(mine.error(), mine.failure_kind()); }

  const GpuTrainPlan& plan_;
  const Tell& tell_;
  const TrainWork work_;
  GpuNode node_;
  std::unique_ptr<CublasLibrary> cublas_;
  bool no_cublas_ = false;
  std::vector<GpuTrainRound> rounds_;     // the present round of each thread
  std::vector<GpuTrainChecked> checked_;  // of each thread
};

}  // namespace

void run_gpu_train(const GpuTrainPlan& plan, const NvidiaLibraries& from, const Tell& tell) {
  ask_for_nccl_log(false);
  // If a thread hangs, it outlives the run. So the job that it uses is never deleted; the process ends soon.
  auto* job = new TrainJob(plan, from, tell);
  if (const std::string why = job->run(); !why.empty())
    job->say({.node = NodeNews{.failure = why, .kind = job->failure_kind()}});
}

}  // namespace railbed
