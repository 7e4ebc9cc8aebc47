// One GPU's part of a rehearsal of training: its buffers, its two streams, its clock (CUDA events) and its
// check. It runs in a child process, on a thread for each GPU.
//
// A step computes on one stream and exchanges on the other. An event after each bucket's products lets the
// exchange of that bucket start, while the products of the next one run: this is how frameworks hide the
// exchange behind the computing. A round times three parts in turn: a whole step, only the exchange, only the
// computing. The part of the exchange that is not hidden is the difference between the first and the last.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/gpu/barrier.h"
#include "bench/gpu/cublas_library.h"
#include "bench/gpu/gpu_pattern.h"
#include "bench/gpu/nccl_library.h"
#include "bench/gpu/visible_gpus.h"
#include "bench/train/gpu_train.h"
#include "bench/train/train_work.h"
#include "nvidia/cuda_library.h"
#include "os/process.h"

namespace railbed {

// Returns the type that this GPU multiplies fastest with sums in float32: bfloat16 from Ampere on, float16 on
// Volta and Turing, float32 before.
DataType product_type(cuda::Cuda& cuda);

struct TrainPlace {
  int rank = 0;
  int ranks = 1;
  int beside = 1;       // number of ranks in this process
  bool speaks = false;  // true for the first rank of the process, which reports its steps
};

class GpuTrainRank {
 public:
  // All references must outlive the object. The calling thread must have the GPU's context.
  GpuTrainRank(const TrainWork& work, int word_bytes, TrainPlace place, cuda::Cuda& cuda, Barrier& barrier,
               const Say& about_to);

  // Allocates memory and streams and computes once. To be called before join(): a kernel that is loaded while
  // a kernel of NCCL waits for another GPU may wait for it as well.
  bool prepare(const CublasLibrary& cublas);
  // Adds other work between the products, so that computing takes `seconds`, as a framework's step does with
  // normalization, activations and the optimizer. 0 adds none. Fails if the products alone take longer.
  bool stretch(double seconds);
  bool join(const NcclLibrary& nccl, const NcclUniqueId& id);
  // Returns the argument of rank 0: true for another round. Empty after a failure.
  std::optional<bool> agree(bool go_on);
  // Times a whole step, only the exchange, and only the computing. Empty after a failure.
  std::optional<GpuTrainRound> round();
  // Returns for each bucket the part of the last round's computing, 0 to 1, after which it was complete.
  std::vector<double> ready();
  // Compares the sums of the last exchange, then exchanges and compares other data. Empty after a failure.
  std::optional<GpuTrainChecked> check();
  bool leave();

  DataType type() const { return type_; }
  std::uint64_t memory_bytes() const { return memory_bytes_; }
  const std::string& error() const { return cuda_.error(); }  // why anything failed
  FailureKind failure_kind() const { return railbed::failure_kind(cuda_); }

 private:
  // Memory that is used piece by piece, and again from its start at its end. So the next piece is not in the
  // cache, as the next layer of a model is not.
  struct Room {
    cuda::DevicePointer base = 0;
    std::uint64_t bytes = 0;
    std::uint64_t used = 0;
    cuda::DevicePointer take(std::uint64_t size);
  };
  struct Piece {
    std::uint64_t offset;  // elements
    std::uint64_t elements;
  };
  bool say(std::string_view what);
  void place_buckets();
  bool allocate();
  bool fits();
  void fill_inputs();
  void multiply(const Product& product);
  void fill(double bytes);
  void copy_bucket(cuda::DevicePointer gradients, std::size_t bucket);
  template <class Work>
  double time_alone(Work&& work);
  void all_reduce(std::size_t bucket);
  void bring_together();
  bool launch(bool computing, bool exchanging);
  std::optional<double> time_part(bool computing, bool exchanging, std::string_view what);
  std::uint64_t count_wrong();
  void fill_gradients();

  const TrainWork& work_;
  TrainPlace place_;
  cuda::Cuda& cuda_;
  Barrier& barrier_;
  const Say& about_to_;
  DataType type_;           // of the factors
  DataType gradient_type_;  // of the gradients
  std::uint64_t memory_bytes_ = 0;
  Room inputs_;
  Room outputs_;
  std::vector<Piece> pieces_;    // the place of each bucket in the gradients
  std::uint64_t gradients_ = 0;  // elements; if there are many buckets, several share a place
  cuda::DevicePointer own_ = 0;  // this rank's gradients
  cuda::DevicePointer sum_ = 0;
  cuda::DevicePointer word_ = 0;  // one int32 that ranks exchange
  cuda::Stream compute_ = nullptr;
  cuda::Stream exchange_ = nullptr;
  cuda::Event start_ = nullptr;
  cuda::Event exchanged_ = nullptr;
  cuda::Event end_ = nullptr;
  std::vector<cuda::Event> ready_;  // of each bucket
  double computing_ = 0;            // seconds, of the last round
  double filled_ = 0;               // bytes of other work for each multiplication of the products
  PatternKernel kernel_;
  Pattern pattern_;
  const CublasLibrary* cublas_ = nullptr;
  CublasHandle handle_ = nullptr;
  const NcclLibrary* nccl_ = nullptr;
  NcclCommunicator communicator_ = nullptr;
};

}  // namespace railbed
