#include "bench/burn/burn_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/json.h"
#include "bench/burn/burn_child.h"
#include "bench/burn/burn_drive.h"
#include "bench/burn/burn_host.h"
#include "bench/burn/burn_peers.h"
#include "bench/core/clock.h"
#include "bench/gpu/visible_gpus.h"
#include "os/child.h"
#include "os/process.h"
#include "os/wait.h"

namespace railbed {
namespace {

constexpr std::chrono::milliseconds kSettlePeriod{50};
constexpr std::chrono::seconds kDriveFinds{20};
constexpr std::chrono::seconds kLastLook{10};  // a drive's child names a read that hangs before it is killed

class NodeBurn final : public BurnSession {
 public:
  // `host` may be null if the plan loads GPUs alone.
  NodeBurn(const BurnPlan& plan, const std::vector<VisibleGpu>& gpus, std::vector<BurnDrive> drives,
           const NvidiaLibraries& from, const std::shared_ptr<Host>& host)
      : gpus_(gpus.size()), drives_(std::move(drives)) {
    const std::uint64_t begin = now_ns();
    const bool with_peers = plan.has(BurnPhase::kPeers) && gpus.size() > 1;
    running_ = gpus.size() + (plan.has_host() ? 1 : 0) + (with_peers ? 1 : 0) +
               static_cast<std::size_t>(std::ranges::count_if(drives_, can_run));
    ended_.resize(gpus.size());
    if (plan.has_host()) {
      host_.emplace();
      threads_.emplace_back(
          [this, plan, begin, host](const std::stop_token& stop) { follow_host(plan, *host, begin, stop); });
    }
    for (BurnDrive& drive : drives_)
      if (can_run(drive))
        threads_.emplace_back([this, &drive, plan, begin, host](const std::stop_token& stop) {
          follow_drive(drive, plan, *host, begin, stop);
        });
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      gpus_[i].ordinal = gpus[i].ordinal;
      gpus_[i].address = gpus[i].address;
      gpus_[i].name = gpus[i].name;
      const BurnChild child{gpus[i], begin, static_cast<int>(gpus.size())};
      threads_.emplace_back(
          [this, i, plan, child, from](const std::stop_token& stop) { follow(i, plan, child, from, stop); });
    }
    if (with_peers)
      threads_.emplace_back([this, plan, gpus, begin, from](const std::stop_token& stop) {
        follow_peers(plan, gpus, begin, from, stop);
      });
  }

  BurnState state() override {
    const std::lock_guard lock(mutex_);
    BurnState state;
    state.gpus = gpus_;
    state.peers_trouble = peers_.trouble;
    state.host = host_;
    state.drives = drives_;
    state.ended = running_ == 0;
    add_peer_copies(peers_, state.gpus);
    return state;
  }
  void stop() override {
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();
  }

 private:
  // Returns a listener that keeps the last state that a child sends. Its steps and what libraries print are dropped.
  template <class State>
  ChildListener keep_in(State& state) {
    const auto drop = [](std::string_view) {};
    return {drop,
            [this, &state](std::string_view line) {
              auto now = json::read<State>(line);
              const std::lock_guard lock(mutex_);
              if (now) state = std::move(*now);
            },
            drop};
  }

  // Counts the end of a child, and fills in why it ended if its last state does not say so.
  template <class State>
  void end(State& state, const std::optional<ChildMiss>& miss, const std::stop_token& stop,
           const std::string& why) {
    const std::lock_guard lock(mutex_);
    --running_;
    if (miss && !state.ended && state.trouble.empty() && !stop.stop_requested()) state.trouble = why;
  }

  void follow(std::size_t index, const BurnPlan& plan, const BurnChild& child, const NvidiaLibraries& from,
              const std::stop_token& stop) {
    BurnGpu& gpu = gpus_[index];
    const auto miss = follow_child([&](const Tell& tell) { run_burn_gpu(plan, child, from, tell); },
                                   keep_in(gpu), patience_of(plan), stop);
    end(gpu, miss, stop, why_missing(miss));
    const std::lock_guard lock(mutex_);
    ended_[index] = true;
  }
  static std::string why_missing(const std::optional<ChildMiss>& miss) {
    const bool hangs = miss && miss->missing == Missing::kTimeout;
    return !miss ? "" : hangs ? "hangs in: " + miss->why : miss->why;
  }

  // Waits until each GPU has begun or will not, so that the copies leave a busy one alone, and do not make one busy.
  void follow_peers(const BurnPlan& plan, const std::vector<VisibleGpu>& gpus, std::uint64_t begin,
                    const NvidiaLibraries& from, const std::stop_token& stop) {
    std::vector<VisibleGpu> ready;
    bool settled = false;
    while (!settled && wait_unless_stopped(kSettlePeriod, stop)) {
      const std::lock_guard lock(mutex_);
      ready.clear();
      settled = true;
      for (std::size_t i = 0; i < gpus_.size(); ++i) {
        const bool works = gpus_[i].began && gpus_[i].trouble.empty();
        if (works) ready.push_back(gpus[i]);
        settled &= works || ended_[i];
      }
    }
    std::optional<ChildMiss> miss;
    if (ready.size() > 1)
      miss = follow_child([&](const Tell& tell) { run_burn_peers(plan, ready, begin, from, tell); },
                          keep_in(peers_), patience_of(plan), stop);
    else if (!stop.stop_requested())
      miss = ChildMiss{{Missing::kAbsent, "no other GPU of this node is burned in"}};
    end(peers_, miss, stop, why_missing(miss));
  }

  void follow_host(const BurnPlan& plan, Host& host, std::uint64_t begin, const std::stop_token& stop) {
    const auto work = [&](const Tell& tell) {
      yield_to_others();
      run_burn_host(plan, host, begin, tell);
    };
    const auto miss = follow_child(work, keep_in(*host_), patience_of(plan), stop);
    const bool killed = miss && miss->killed;
    end(*host_, miss, stop,
        !miss    ? ""
        : killed ? "its process was killed, as the kernel does when memory is used up"
                 : miss->why);
  }

  static bool can_run(const BurnDrive& drive) { return drive.skipped.empty(); }

  void follow_drive(BurnDrive& drive, const BurnPlan& plan, Host& host, std::uint64_t begin,
                    const std::stop_token& stop) {
    const BurnDrive place = drive;
    const auto work = [&](const Tell& tell) {
      yield_to_others();
      run_burn_drive(plan, place, host, begin, tell);
    };
    const auto miss = follow_child(work, keep_in(drive), patience_of(plan) + kLastLook, stop);
    const bool hangs = miss && miss->missing == Missing::kTimeout;
    end(drive, miss, stop, !miss ? "" : hangs ? "hangs in: " + miss->why : miss->why);
  }

  static std::chrono::milliseconds patience_of(const BurnPlan& plan) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(plan.patience * 1e3));
  }

  std::mutex mutex_;
  std::vector<BurnGpu> gpus_;
  std::vector<bool> ended_;  // the child of each GPU
  BurnPeers peers_;
  std::optional<BurnHost> host_;
  std::vector<BurnDrive> drives_;
  std::size_t running_ = 0;
  std::vector<std::jthread> threads_;  // the last member, because they use the others
};

}  // namespace

// In a child, because a file system that hangs must not hold up the agent.
Result<std::vector<BurnDrive>> find_drives_to_burn(const BurnPlan& plan, const std::shared_ptr<Host>& host) {
  if (!plan.drives) return std::vector<BurnDrive>();
  if (host == nullptr) return fail(ErrorKind::kUnavailable, "this agent does not know its machine");
  const auto found = ask_in_child(
      "drives", [&](const Say&) { return json::dump(json::encode(find_burn_drives(*host, *plan.drives))); },
      kDriveFinds);
  if (!found) return fail(ErrorKind::kUnavailable, "looking for drives: " + found.miss().why);
  return json::read<std::vector<BurnDrive>>(*found);
}

Result<std::shared_ptr<BurnSession>> begin_burn(const BurnPlan& plan, const NvidiaLibraries& from,
                                                const std::shared_ptr<Host>& host) {
  RETURN_IF_ERROR(check_burn(plan));
  if (plan.has_host() && host == nullptr)
    return fail(ErrorKind::kUnavailable, "this agent does not know its machine");
  VisibleGpus visible;
  if (plan.has_gpus()) {
    ASSIGN_OR_RETURN(visible, visible_gpus_here(from, plan.gpus));
  }
  if (visible.gpus.size() > kMostBurnGpus)
    return fail(ErrorKind::kUnavailable, fmt::format("{} GPUs: more than any node has", visible.gpus.size()));
  ASSIGN_OR_RETURN(std::vector<BurnDrive> drives, find_drives_to_burn(plan, host));
  return std::make_shared<NodeBurn>(plan, visible.gpus, std::move(drives), from, host);
}

}  // namespace railbed
