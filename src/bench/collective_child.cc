#include "bench/collective_child.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>

#include "base/json.h"
#include "bench/collective_rank.h"
#include "bench/gpu_seats.h"
#include "host/near.h"

namespace railbed {
namespace {

// NCCL's log goes to stdout, which the parent reads. What it says of each launch is left out unless it was
// asked for: writing takes longer than launching.
void ask_for_log(bool choices) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // what is in a buffer is lost when the process ends
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_SUBSYS", choices ? "INIT,ENV,NET,GRAPH,TUNING" : "INIT,ENV,NET,GRAPH", 1);
  unsetenv("NCCL_DEBUG_FILE");
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

class Node {
 public:
  Node(const CollectivePlan& plan, const NvidiaLibraries& from, const Tell& tell)
      : plan_(plan), from_(from), tell_(tell), cuda_(from.cuda, tell_.about_to) {}

  // Answers why it failed.
  std::string run() {
    tell_.about_to("opening " + from_.cuda.front());
    cuda_.start();
    seats_ = find_seats(cuda_, plan_.gpus);
    if (!cuda_.error().empty()) return cuda_.error();
    ranks_ = plan_.ranks > 0 ? plan_.ranks : static_cast<int>(seats_.size());
    if (plan_.first_rank + static_cast<int>(seats_.size()) > ranks_) return "more GPUs here than ranks";
    if (plan_.root >= ranks_) return fmt::format("there is no rank {} among {}", plan_.root, ranks_);
    meeting_ = std::make_unique<Meeting>(static_cast<int>(seats_.size()));
    series_.resize(seats_.size());
    ready_ = ready_promise_.get_future().share();
    for (std::size_t i = 0; i < seats_.size(); ++i)
      std::thread([this, i] { work(i); }).detach();  // one that hangs ends with this process
    if (auto why = open_nccl(); !why.empty()) return why;
    ready_promise_.set_value();
    return meeting_->wait_for_end();
  }

 private:
  // While the threads make their contexts.
  std::string open_nccl() {
    const auto files = plan_.library.empty() ? nccl_files() : std::vector{plan_.library};
    tell_.about_to("opening " + files.front());
    nccl_ = std::make_unique<NcclLibrary>(files);
    if (!nccl_->error().empty()) return nccl_->error();
    tell({.version = nccl_->version(), .library = nccl_->file(), .ranks = ranks()});
    if (!plan_.id.empty()) {
      const auto id = unique_id(plan_.id);
      if (!id) return "the unique id is not one";
      id_ = *id;
      return "";
    }
    tell_.about_to("ncclGetUniqueId");
    if (auto why = nccl_->make_id(id_); !why.empty()) return why;
    tell({.id = to_hex(id_)});
    return "";
  }

  std::vector<CollectiveRank> ranks() const {
    std::vector<CollectiveRank> ranks;
    for (std::size_t i = 0; i < seats_.size(); ++i)
      ranks.push_back({plan_.first_rank + static_cast<int>(i), host_name(), getpid(), seats_[i]});
    return ranks;
  }

  void work(std::size_t i) {
    run_near(seats_[i].address);
    cuda::Cuda cuda(from_.cuda, tell_.about_to);
    const int rank = plan_.first_rank + static_cast<int>(i);
    RankWork mine(plan_, rank, ranks_, i == 0, cuda, *meeting_, tell_.about_to);
    if (!cuda.use(seats_[i].ordinal) || !mine.prepare()) return meeting_->give_up(cuda.error());
    ready_.wait();
    if (!mine.join(*nccl_, id_)) return meeting_->give_up(cuda.error());
    if (!verify(mine, i)) return;
    for (const std::uint64_t bytes : plan_.sizes)
      if (!measure(mine, bytes, i)) return;
    // Alone, the end of the process is quicker; other nodes would take it for a fault.
    if (ranks_ > static_cast<int>(seats_.size()) && !mine.leave()) return meeting_->give_up(cuda.error());
    meeting_->leave();
  }

  bool verify(RankWork& mine, std::size_t i) {
    const auto wrong = mine.verify_first();
    if (!wrong) return give_up(mine);
    series_[i].wrong = *wrong;
    if (!meeting_->wait()) return false;
    std::uint64_t sum = 0;
    for (const CollectiveSeries& one : series_) sum += one.wrong;
    if (i == 0) tell({.verified = sum});
    return meeting_->wait();
  }

  bool measure(RankWork& mine, std::uint64_t bytes, std::size_t i) {
    auto series = mine.measure(bytes);
    if (!series) return give_up(mine);
    series_[i] = std::move(*series);
    if (!meeting_->wait()) return false;
    if (i == 0) {
      CollectiveSeries all = series_[0];
      for (std::size_t other = 1; other < series_.size(); ++other) merge(all, series_[other]);
      if (all.bytes > 0) tell({.series = std::move(all)});
    }
    return meeting_->wait();
  }

  bool give_up(const RankWork& mine) {
    meeting_->give_up(mine.error());
    return false;
  }

  void tell(const CollectiveNews& news) const { tell_.result(json::dump(json::encode(news))); }

  const CollectivePlan& plan_;
  const NvidiaLibraries& from_;
  const Tell& tell_;
  cuda::Cuda cuda_;
  std::vector<GpuSeat> seats_;
  int ranks_ = 0;
  std::unique_ptr<Meeting> meeting_;
  std::unique_ptr<NcclLibrary> nccl_;
  NcclUniqueId id_ = {};
  std::promise<void> ready_promise_;
  std::shared_future<void> ready_;
  std::vector<CollectiveSeries> series_;  // of each thread, of the size at hand
};

}  // namespace

void run_collective(const CollectivePlan& plan, const NvidiaLibraries& from, const Tell& tell) {
  ask_for_log(plan.choices);
  // Threads may outlive the run where one of them hangs: what they use does, too, until the process ends.
  auto* node = new Node(plan, from, tell);
  if (const std::string why = node->run(); !why.empty()) {
    CollectiveNews news;
    news.failure = why;
    tell.result(json::dump(json::encode(news)));
  }
}

}  // namespace railbed
