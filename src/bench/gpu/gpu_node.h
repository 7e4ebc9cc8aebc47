// The GPUs of one node as ranks of NCCL, in a child process: a thread for each GPU, with NCCL opened while
// they make their contexts.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "bench/gpu/barrier.h"
#include "bench/gpu/nccl_library.h"
#include "bench/gpu/node_place.h"
#include "host/calls.h"
#include "host/cuda_library.h"
#include "host/process.h"

namespace railbed {

// NCCL's log goes to stdout, which the parent reads. What it says of each launch is left out unless it was
// asked for: writing takes longer than launching.
void ask_for_nccl_log(bool choices);

class GpuNode {
 public:
  using TellNews = std::function<void(const NodeNews&)>;
  GpuNode(NodePlace place, const NvidiaLibraries& from, const Tell& tell, TellNews news);

  // Opens CUDA and finds the GPUs. Answers why it failed.
  std::string find();
  // After find().
  std::size_t size() const { return gpus_.size(); }
  int ranks() const { return ranks_; }
  bool alone() const { return ranks_ == static_cast<int>(gpus_.size()); }
  Barrier& barrier() const { return *barrier_; }
  cuda::Cuda& cuda() { return cuda_; }

  struct GpuThread {
    std::size_t index;  // of this node's
    int rank;           // of all
    cuda::Cuda& cuda;   // its context is the thread's
  };
  // `work` on a thread for each GPU, beside it. It ends with barrier().leave() or give_up(). Answers why it
  // failed. A thread that hangs ends with the process only: this object and `work` must last as long.
  std::string run(std::function<void(const GpuThread&)> work);
  // What kind of failure find() or run() answered with.
  FailureKind failure_kind() const {
    return barrier_ && kind_ == FailureKind::kOther ? barrier_->kind() : kind_;
  }
  // In a thread: NCCL once it is open. Where that fails, the process ends first.
  const NcclLibrary& nccl() const;
  const NcclUniqueId& id() const { return id_; }

 private:
  std::string open_nccl();
  std::vector<CollectiveRank> listed_ranks() const;

  NodePlace place_;
  const NvidiaLibraries& from_;
  const Tell& tell_;
  TellNews news_;
  cuda::Cuda cuda_;
  std::vector<VisibleGpu> gpus_;
  int ranks_ = 0;
  std::function<void(const GpuThread&)> work_;
  std::unique_ptr<Barrier> barrier_;
  std::unique_ptr<NcclLibrary> nccl_;
  NcclUniqueId id_ = {};
  FailureKind kind_ = FailureKind::kOther;
  std::promise<void> ready_promise_;
  std::shared_future<void> ready_;
};

}  // namespace railbed
