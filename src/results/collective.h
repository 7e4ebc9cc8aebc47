// The times of a collective operation over GPUs, size by size: the structure that engines fill and reports
// read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "results/measurement.h"

namespace railbed {

enum class Collective {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kSendReceive,
  kGather,
  kScatter,
};
constexpr auto enum_names(Collective) {
  return std::array<std::string_view, 9>{"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                                         "alltoall",   "sendrecv",   "gather",         "scatter"};
}
constexpr std::string_view to_text(Collective operation) {
  return enum_names(operation)[static_cast<std::size_t>(operation)];
}

constexpr bool reduces(Collective operation) {
  return operation == Collective::kAllReduce || operation == Collective::kReduce ||
         operation == Collective::kReduceScatter;
}
// Returns whether the result of an operation in place can be checked: nccl-tests prints N/A for the others.
constexpr bool checks_in_place(Collective operation) {
  return operation != Collective::kAllToAll && operation != Collective::kSendReceive;
}

// Returns busbw ÷ algbw. busbw can be compared with the speed of one link for any number of ranks
// (nccl-tests, doc/PERFORMANCE.md).
constexpr double bus_factor(Collective operation, int ranks) {
  if (ranks < 2) return 1;
  const double n = ranks;
  switch (operation) {
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendReceive:
      return 1;
    default:
      return (n - 1) / n;
  }
}

enum class DataType { kInt8, kFloat16, kBfloat16, kInt32, kFloat32, kInt64, kFloat64 };
constexpr auto enum_names(DataType) {
  return std::array<std::string_view, 7>{"int8",    "float16", "bfloat16", "int32",
                                         "float32", "int64",   "float64"};
}
constexpr std::string_view to_text(DataType type) { return enum_names(type)[static_cast<std::size_t>(type)]; }
constexpr std::uint64_t bytes_of(DataType type) {
  return std::array<std::uint64_t, 7>{1, 2, 2, 4, 4, 8, 8}[static_cast<std::size_t>(type)];
}

// A GPU as the CUDA driver presents it.
struct VisibleGpu {
  int ordinal = 0;       // in PCI order, among the GPUs in CUDA_VISIBLE_DEVICES
  std::string address;   // 0000:00:06.0
  std::string name;      // NVIDIA H200
  int memory_clock = 0;  // kHz; CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE; 0 if not reported
  int memory_bits = 0;   // CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH
  FIELDS(VisibleGpu, ordinal, address, name, memory_clock, memory_bits);
};

struct VisibleGpus {
  std::vector<VisibleGpu> gpus;
  std::string error;  // why there are none
  FIELDS(VisibleGpus, gpus, error);
};

struct CollectiveRank {
  int rank = 0;
  std::string node;
  int process = 0;
  VisibleGpu gpu;
  FIELDS(CollectiveRank, rank, node, process, gpu);
};

// Results for one size. Times are nanoseconds of one operation on the slowest rank, by CUDA events.
struct CollectiveRow {
  std::uint64_t bytes = 0;          // all ranks' data together, the size in the sense of nccl-tests
  std::uint64_t elements = 0;       // its "count": of one rank's block if the data is divided
  Summary launched;                 // operations launched one after another; a sample is the mean of a series
  Summary single;                   // a sample is one operation of a series
  std::optional<Summary> graph;     // same, replayed from a CUDA graph, which excludes the launching
  std::optional<Summary> in_place;  // launched, with one buffer for input and output
  double algbw = 0;                 // bits per second: bytes over `launched.median`
  double busbw = 0;                 // algbw times the operation's factor
  bool checked = false;
  std::uint64_t wrong = 0;  // wrong elements, over all ranks
  std::uint64_t in_place_wrong = 0;
  std::vector<int> wrong_ranks = {};  // those with wrong elements
  FIELDS(CollectiveRow, bytes, elements, launched, single, graph, in_place, algbw, busbw, checked, wrong,
         in_place_wrong, wrong_ranks);
};

struct CollectiveReport {
  Collective operation = Collective::kAllReduce;
  DataType type = DataType::kFloat32;
  int root = -1;  // for operations that have one
  int iterations = 0;
  bool one_launcher = false;  // one thread launches for several GPUs; never in a run of railbed's own
  std::string library;        // the NCCL that was opened
  std::string version;        // "2.28.3"
  std::vector<CollectiveRank> ranks;
  double first_result = 0;  // ns from the command's start to the first operation with verified data
  std::vector<CollectiveRow> rows;
  std::string cut;  // why larger sizes were left out: "cut to 14 GiB: the machine has 112 GiB available"
  Ceiling ceiling;  // of busbw
  std::optional<Failure> failure;
  FIELDS(CollectiveReport, operation, type, root, iterations, one_launcher, library, version, ranks,
         first_result, rows, cut, ceiling, failure);
};

}  // namespace railbed
