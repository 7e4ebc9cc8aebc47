// One GPU's part of a rehearsal of training: its buffers, its two streams, its clock (CUDA events) and its
// check. In a child process, a thread for each GPU.
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
#include "host/cuda_library.h"
#include "host/process.h"

namespace railbed {

// What this GPU multiplies fastest with sums in float32: bfloat16 from Ampere on, float16 on Volta and
// Turing, float32 before.
DataType product_type(cuda::Cuda& cuda);

struct TrainPlace {
  int rank = 0;
  int ranks = 1;
  int beside = 1;       // of them in this process
  bool speaks = false;  // says what is done: the first of the process
};

class GpuTrainRank {
 public:
  // Everything given must last as long. The thread has the context.
  GpuTrainRank(const TrainWork& work, int word_bytes, TrainPlace place, cuda::Cuda& cuda, Barrier& barrier,
               const Say& about_to);

  // Memory, streams and the first computing, before any NCCL: a kernel that is loaded while NCCL's waits for
  // another GPU may wait for it as well.
  bool prepare(const CublasLibrary& cublas);
  // Puts other work between the products, so that computing alone takes so many seconds, as a framework's
  // step does: normalisation, activations, the optimiser. 0: none. An error when the products alone take
  // longer.
  bool stretch(double seconds);
  bool join(const NcclLibrary& nccl, const NcclUniqueId& id);
  // What rank 0 wants: another round or not. Nothing after a failure.
  std::optional<bool> agree(bool go_on);
  // A whole step, the exchange alone, the computing alone.
  std::optional<GpuTrainRound> round();
  // Of each bucket, after which part of the last round's computing it was complete.
  std::vector<double> ready();
  // Compares what the last step of a round left, then sends and compares other data.
  std::optional<GpuTrainChecked> check();
  bool leave();

  DataType type() const { return type_; }
  std::uint64_t memory_bytes() const { return memory_bytes_; }
  const std::string& error() const { return cuda_.error(); }  // why anything failed
  FailureKind failure_kind() const { return railbed::failure_kind(cuda_); }

 private:
  // Memory that is handed out piece by piece, from its start again at its end: consecutive pieces are not in
  // the cache, as the layers of a model are not.
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
  DataType type_;           // of what is multiplied
  DataType gradient_type_;  // of what is exchanged
  std::uint64_t memory_bytes_ = 0;
  Room inputs_;
  Room outputs_;
  std::vector<Piece> pieces_;    // where each bucket lies in the gradients
  std::uint64_t gradients_ = 0;  // elements: buckets share them where they are many
  cuda::DevicePointer own_ = 0;  // gradients
  cuda::DevicePointer sum_ = 0;
  cuda::DevicePointer word_ = 0;  // one int32, for what the ranks tell each other
  cuda::Stream compute_ = nullptr;
  cuda::Stream exchange_ = nullptr;
  cuda::Event start_ = nullptr;
  cuda::Event exchanged_ = nullptr;
  cuda::Event end_ = nullptr;
  std::vector<cuda::Event> ready_;  // of each bucket
  double computing_ = 0;            // seconds, of the last round
  double filled_ = 0;               // bytes that are written between the products, for each multiplication
  PatternKernel kernel_;
  Pattern pattern_;
  const CublasLibrary* cublas_ = nullptr;
  CublasHandle handle_ = nullptr;
  const NcclLibrary* nccl_ = nullptr;
  NcclCommunicator communicator_ = nullptr;
};

}  // namespace railbed
