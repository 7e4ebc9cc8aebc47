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
#include "nvidia/calls.h"
#include "nvidia/cuda_library.h"
#include "os/process.h"

namespace railbed {

// Sets NCCL's environment so that its log goes to stdout, which the parent reads. The log has a line about
// the choices of each launch only if `choices` is true, because writing takes longer than launching.
void ask_for_nccl_log(bool choices);

// Lifecycle: find(), then run(). After find(), size(), ranks() and barrier() are valid.
class GpuNode {
 public:
  using TellNews = std::function<void(const NodeNews&)>;
  GpuNode(NodePlace place, const NvidiaLibraries& from, const Tell& tell, TellNews news);

  // Opens CUDA and finds the GPUs. Returns why it failed; empty if it did not.
  std::string find();
  // The number of GPUs of this node.
  std::size_t size() const { return gpus_.size(); }
  int ranks() const { return ranks_; }
  bool alone() const { return ranks_ == static_cast<int>(gpus_.size()); }
  Barrier& barrier() const { return *barrier_; }
  cuda::Cuda& cuda() { return cuda_; }

  struct GpuThread {
    std::size_t index;  // among the GPUs of this node
    int rank;           // among all ranks
    cuda::Cuda& cuda;   // its context is current in the thread
  };
  // Runs `work` for each GPU on a thread of its own, on a processor near the GPU. `work` must end with
  // barrier().leave() or give_up(). Returns why it failed; empty if it did not. A thread that hangs ends only
  // with the process, so this object and the data of `work` must live until then.
  std::string run(std::function<void(const GpuThread&)> work);
  // The kind of the failure that find() or run() returned.
  FailureKind failure_kind() const {
    return barrier_ && kind_ == FailureKind::kOther ? barrier_->kind() : kind_;
  }
  // To be called in a thread of run(). Waits until NCCL is open. Does not return if opening fails; then the
  // process ends.
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
