// The part of NCCL that railbed calls: our own declarations, from its public reference (NVIDIA, "NCCL API
// Reference": Communicator Creation and Management Functions, Collective Communication Functions, Group
// Calls, Point To Point Communication Functions, Types). To be used only in a child process.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nvidia/cuda_library.h"
#include "os/library.h"
#include "results/collective.h"

namespace railbed {

using NcclCommunicator = void*;

struct NcclUniqueId {
  char bytes[128];  // NCCL_UNIQUE_ID_BYTES
};
std::string to_hex(const NcclUniqueId& id);
std::optional<NcclUniqueId> unique_id(std::string_view hex);

// Returns the files that may be NCCL: the loader's, then those that pip installed with Python
// (site-packages/nvidia/nccl/lib of $VIRTUAL_ENV, $CONDA_PREFIX, the home folder and the system).
std::vector<std::string> nccl_files();

// NCCL's number of a type (ncclDataType_t).
int nccl_type(DataType type);

// The functions return why they failed: "ncclAllReduce: unhandled system error (2)"; empty if they did not.
class NcclLibrary {
 public:
  explicit NcclLibrary(const std::vector<std::string>& files);

  const std::string& error() const { return error_; }  // why it cannot be used; empty if it can
  const std::string& file() const { return library_.file(); }
  std::string version() const;  // "2.28.3"

  std::string make_id(NcclUniqueId& id) const;
  std::string join(NcclCommunicator& communicator, int ranks, const NcclUniqueId& id, int rank) const;
  std::string leave(NcclCommunicator communicator) const;

  struct Call {
    Collective operation;
    DataType type;
    std::uint64_t block;
    int rank;
    int ranks;
    int root;
    NcclCommunicator communicator;
    cuda::Stream stream;
  };
  std::string run(const Call& call, cuda::DevicePointer send, cuda::DevicePointer receive) const;

 private:
  using Result = int;             // ncclResult_t
  static constexpr int kSum = 0;  // ncclRedOp_t
  // All are bound at the start; otherwise a missing one would only be noticed in the middle of a run.
  struct Functions {
    Result (*get_version)(int*) = nullptr;
    const char* (*get_error)(Result) = nullptr;
    Result (*get_unique_id)(NcclUniqueId*) = nullptr;
    Result (*init_rank)(NcclCommunicator*, int, NcclUniqueId, int) = nullptr;
    Result (*destroy)(NcclCommunicator) = nullptr;
    Result (*all_reduce)(const void*, void*, std::size_t, int, int, NcclCommunicator, cuda::Stream) = nullptr;
    Result (*reduce_scatter)(const void*, void*, std::size_t, int, int, NcclCommunicator,
                             cuda::Stream) = nullptr;
    Result (*all_gather)(const void*, void*, std::size_t, int, NcclCommunicator, cuda::Stream) = nullptr;
    Result (*broadcast)(const void*, void*, std::size_t, int, int, NcclCommunicator, cuda::Stream) = nullptr;
    Result (*reduce)(const void*, void*, std::size_t, int, int, int, NcclCommunicator,
                     cuda::Stream) = nullptr;
    Result (*send)(const void*, std::size_t, int, int, NcclCommunicator, cuda::Stream) = nullptr;
    Result (*receive)(void*, std::size_t, int, int, NcclCommunicator, cuda::Stream) = nullptr;
    Result (*group_start)() = nullptr;
    Result (*group_end)() = nullptr;
  };
  std::string judge(const char* function, Result result) const;
  std::string exchange(const Call& call, cuda::DevicePointer send, cuda::DevicePointer receive) const;

  Library library_;
  std::string error_;
  Functions nccl_;
};

}  // namespace railbed
