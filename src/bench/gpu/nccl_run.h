// A job of NCCL over the GPUs of one node or of several: the controller's side of gpu_node.h. The nodes find
// each other by a unique id. The first node makes it, and the controller passes it to the others, which start
// only then.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/peer.h"
#include "bench/core/chained_stop.h"
#include "bench/core/child_session.h"
#include "bench/gpu/node_place.h"

namespace railbed {

inline constexpr std::string_view kVisibleGpus = "bench.gpu.visible";  // VisibleGpus (ignored) → VisibleGpus

enum class EndState;  // core/ask_all.h

struct GpuNodeEnd {
  Peer* peer = nullptr;
  std::vector<int> gpus;  // ordinals; empty: all
  NcclNetwork network = {};
};

struct OnNcclRun {
  std::function<void(std::string_view)> measuring;
  std::function<void(std::string_view)> log;  // receives NCCL's own log of any node, in whole lines
};

class NcclRun {
 public:
  // `library` is NCCL's file on every node; empty: the usual places. The references must outlive the object.
  NcclRun(const std::vector<GpuNodeEnd>& nodes, std::string library, const OnNcclRun& on,
          std::stop_token stop);

  // Requests node `i` to begin at its place.
  using Start = std::function<Result<ChildName>(std::size_t i, const NodePlace& place, std::stop_token stop)>;
  // Takes a line from node `i`. Returns the NodeNews in it, if any, or an error if the run must end. Called
  // by one thread at a time.
  using Take = std::function<Result<std::optional<NodeNews>>(std::size_t i, std::string_view line)>;
  // Returns when every node has ended. Each GPU of every node is a rank, in this order. A node that fails
  // counts as kGone of core/ask_all.h: all are stopped at once, and the first reason is kept.
  void run(const Start& start, const Take& take);

  // The number of ranks. Valid before any node sends more than the news of its beginning.
  int count() const { return count_; }
  std::vector<CollectiveRank> ranks;
  std::string version;  // NCCL's
  std::string library;
  std::optional<Failure> failure;

 private:
  bool count_ranks(std::vector<int>& first);
  EndState node(std::size_t i, int first_rank, const std::string& id, const Start& start, const Take& take);
  void say(std::size_t i, std::string_view step);
  void keep_log(std::size_t i, std::string_view text);
  void give_up(std::size_t i, std::string stage, Error why, FailureKind kind = FailureKind::kOther);
  void take_line(std::size_t i, std::string_view line, const Take& take);
  void take_news(std::size_t i, NodeNews news);

  const std::vector<GpuNodeEnd>& nodes_;
  std::string wanted_library_;
  const OnNcclRun& on_;
  ChainedStop stop_;
  int count_ = 0;
  std::promise<std::string> id_;
  std::atomic<bool> has_id_{false};
  std::string said_;
  std::mutex mutex_;  // guards the public members and the logs
  std::vector<std::string> logs_;
};

}  // namespace railbed
