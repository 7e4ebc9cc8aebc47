// A job of NCCL's over the GPUs of one node or of several: the controller's side of gpu_node.h. Nodes
// meet by the unique id, which the first one makes.
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
};

struct OnNcclRun {
  std::function<void(std::string_view)> measuring;
  std::function<void(std::string_view)> log;  // NCCL's own, of any node, in whole lines
};

class NcclRun {
 public:
  // `library`: NCCL's file on every node; empty: where it usually lies.
  NcclRun(const std::vector<GpuNodeEnd>& nodes, std::string library, const OnNcclRun& on,
          std::stop_token stop);

  // Asks node `i` to begin at its place.
  using Start = std::function<Result<ChildName>(std::size_t i, const NodePlace& place, std::stop_token stop)>;
  // A line that node `i` told. Answers what of it is every node's news, or why the run must end. Called by
  // one thread at a time.
  using Take = std::function<Result<std::optional<NodeNews>>(std::size_t i, std::string_view line)>;
  // Until every node has ended. Each GPU of every node is a rank, in this order. A node that fails
  // is gone, as core/ask_all.h has it: all are stopped at once, and the first reason is kept.
  void run(const Start& start, const Take& take);

  // Complete before any node tells anything else than its beginning.
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
