// One GPU's part of a collective: its buffers, its launches, its clock (CUDA events) and its check. It runs
// in a child process, on a thread for each GPU.
//
// A size is measured in up to four ways, each with all ranks together: series of operations launched in a
// row, timed as a whole; a row of single operations, each timed by an event after it; operations captured in
// a CUDA graph and replayed; and series in place, in one buffer. The series show the usual rate, the single
// operations the spread, the graph the time without the processor's launches. Before each clock starts, a
// barrier and one more operation synchronize the ranks. The receive buffer is compared after the launches,
// and after those of the graph; in place, the result of the first launch is compared.
#pragma once

#include <optional>
#include <vector>

#include "bench/collective/collective.h"
#include "bench/gpu/barrier.h"
#include "bench/gpu/gpu_pattern.h"
#include "bench/gpu/nccl_library.h"
#include "bench/gpu/visible_gpus.h"
#include "nvidia/cuda_library.h"
#include "os/process.h"

namespace railbed {

class RankWork {
 public:
  // `rank` is one of `ranks`, of which `beside` are in this process. The first of these reports the steps.
  // All references must outlive the object.
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

  // Does all setup that does not need NCCL, while NCCL is being loaded. The calling thread must have the
  // GPU's context.
  bool prepare();
  bool join(const NcclLibrary& nccl, const NcclUniqueId& id);
  // To be called after join(). Allocates buffers for the largest size that every rank can spare. All ranks
  // leave out the same sizes.
  bool allocate();
  const std::vector<std::uint64_t>& sizes() const { return sizes_; }
  // Returns why larger sizes are left out; empty if none are, or if another rank's memory is the reason.
  const std::string& cut() const { return cut_; }
  // Runs the operation once, with little data. Returns the number of wrong elements; empty after a failure.
  std::optional<std::uint64_t> verify_first();
  // Measures one size. Returns a series with 0 bytes if no block fits; empty after a failure.
  std::optional<CollectiveSeries> measure(std::uint64_t bytes);
  // Agrees with all ranks on the next series of a soak: the least that any of them proposes. Returns false if time is up
  // for one of them; empty after a failure.
  std::optional<bool> agree_on_series(bool has_time);
  // Runs that series, and compares the result of its last operation. Empty after a failure.
  std::optional<CollectiveSeries> run_series();
  bool leave();
  // The reason of the first failure; empty if there was none.
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
  void flip_a_bit();
  // Returns the nanoseconds of one operation, as the mean of `count` in a row.
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
  std::size_t soak_size_ = 0;  // index in sizes_
  int soak_count_ = 1;         // operations of the next series
  double soak_took_ = 0;       // ns of one operation of the last series; 0 before the first
  bool flipped_ = false;
  cuda::DevicePointer words_ = 0;  // the bytes that each rank can spare, then this rank's own number
  cuda::Stream stream_ = nullptr;
  std::vector<cuda::Event> events_;
};

}  // namespace railbed
