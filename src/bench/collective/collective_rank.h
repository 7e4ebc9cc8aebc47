// One GPU's part of a collective: its buffers, its launches, its clock (CUDA events) and its check. In a
// child process, a thread for each GPU.
#pragma once

#include <optional>
#include <vector>

#include "bench/collective/collective.h"
#include "bench/gpu/barrier.h"
#include "bench/gpu/gpu_pattern.h"
#include "bench/gpu/nccl_library.h"
#include "bench/gpu/visible_gpus.h"
#include "host/cuda_library.h"
#include "host/process.h"

namespace railbed {

class RankWork {
 public:
  // `rank` of `ranks`, `beside` of them in this process. Its first says what is done.
  RankWork(const CollectivePlan& plan, int rank, int ranks, int beside, bool is_first, cuda::Cuda& cuda,
           Barrier& barrier, const Say& about_to)
      : plan_(plan),
        rank_(rank),
        ranks_(ranks),
        beside_(beside),
        is_first_(is_first),
        cuda_(cuda),
        barrier_(barrier),
        about_to_(about_to) {}

  // Everything that needs no NCCL, so that it can be done while NCCL is loaded. The thread has the context.
  bool prepare();
  bool join(const NcclLibrary& nccl, const NcclUniqueId& id);
  // Once joined: takes memory for as much as every rank can spare. All ranks leave out the same sizes.
  bool allocate();
  const std::vector<std::uint64_t>& sizes() const { return sizes_; }
  // Why larger sizes are left out; empty: they are not, or another rank's memory is why.
  const std::string& cut() const { return cut_; }
  // The operation once, with little data; how many elements were wrong. Nothing when it failed.
  std::optional<std::uint64_t> verify_first();
  std::optional<CollectiveSeries> measure(std::uint64_t bytes);
  bool leave();
  // Why anything failed.
  const std::string& error() const { return cuda_.error(); }
  FailureKind failure_kind() const { return railbed::failure_kind(cuda_); }

 private:
  struct Ends {
    cuda::DevicePointer send = 0;
    cuda::DevicePointer receive = 0;
  };
  bool say(std::string_view what);
  std::optional<std::uint64_t> least_of_all(std::uint64_t mine);
  bool launch(const Ends& ends);
  void fill();
  std::uint64_t count_wrong();
  // ns of one operation
  std::optional<double> time_series(const Ends& ends, int count);
  bool time_singles(const Ends& ends, int count, std::vector<double>& into);
  bool time_graph(int series, int count, CollectiveSeries& into);
  bool replay(cuda::Graph graph, int series, int count, CollectiveSeries& into);
  bool time_in_place(const Repetitions& often, CollectiveSeries& into);
  Ends in_place_ends() const;
  double elapsed(cuda::Event from, cuda::Event to);

  const CollectivePlan& plan_;
  int rank_;
  int ranks_;
  int beside_;
  bool is_first_;
  cuda::Cuda& cuda_;
  Barrier& barrier_;
  const Say& about_to_;
  const NcclLibrary* nccl_ = nullptr;
  NcclCommunicator communicator_ = nullptr;
  PatternKernel kernel_;
  Pattern pattern_;
  CollectiveShape shape_;
  std::vector<std::uint64_t> sizes_;
  std::string cut_;
  Ends buffers_;
  cuda::DevicePointer words_ = 0;  // what every rank can spare, then this one's own
  cuda::Stream stream_ = nullptr;
  std::vector<cuda::Event> events_;
};

}  // namespace railbed
