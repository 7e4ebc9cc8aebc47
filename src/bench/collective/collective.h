// Collective operations, independent of any GPU: the sizes of the buffers, the expected results, the number
// of repetitions, and the evaluation of the times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "bench/gpu/gpu_pattern.h"
#include "bench/gpu/node_place.h"
#include "results/collective.h"

namespace railbed {

bool has_root(Collective operation);

// Returns first, first × factor, … up to last; at most 64 sizes.
std::vector<std::uint64_t> size_sweep(std::uint64_t first, std::uint64_t last, int factor);

// The sizes of one operation of `bytes` in total; the other numbers are in elements. If the data is divided
// among ranks, blocks are multiples of 16 bytes, as in nccl-tests.
struct CollectiveShape {
  std::uint64_t bytes = 0;
  std::uint64_t block = 0;  // NCCL's count argument
  std::uint64_t send = 0;   // sizes of the buffers; the root's if only the root needs one
  std::uint64_t receive = 0;
};
struct CollectivePlan;
// Returns the sizes for at most `bytes` bytes; empty if not even one block fits.
std::optional<CollectiveShape> shape_of(Collective operation, DataType type, std::uint64_t bytes, int ranks);

// Returns the sizes whose two buffers fit into `room` bytes of a GPU. If some do not fit, the largest power
// of two that fits replaces them, provided that it is larger than all others.
std::vector<std::uint64_t> fitting_sizes(const CollectivePlan& plan, int ranks, std::uint64_t room);

// Returns the expected content of the receive buffer of `rank` after the operation; empty if the rank
// receives nothing.
std::optional<Expected> expected_on(Collective operation, const CollectiveShape& shape, int rank, int ranks,
                                    int root);
// Returns the offset, in elements, of a rank's own data in the one buffer of an operation in place.
std::uint64_t in_place_offset(Collective operation, const CollectiveShape& shape, int rank);
// The numbers of repetitions for one size. They follow from the size and the plan, so that they are the same
// on every rank of every node and the ranks stay in step.
struct Repetitions {
  int warm_up = 0;
  int series = 0;        // number of series; each is timed as a whole
  int in_a_row = 0;      // operations of a series, launched without a pause
  bool singles = false;  // one more series, in which each operation is timed by itself
  bool graph = false;
};
Repetitions repetitions_for(std::uint64_t bytes, int iterations, bool graph);

struct CollectivePlan {
  Collective operation = Collective::kAllReduce;
  DataType type = DataType::kFloat32;
  std::vector<std::uint64_t> sizes;
  int iterations = 20;
  int root = 0;
  bool check = true;
  bool graph = true;
  bool in_place = false;
  bool choices = false;  // NCCL logs its choice for each launch, which makes small ones slower
  // Seconds from the start of a node's process until the operations end. They go on with the largest size of which one
  // takes no more than a moment, each series with new data. 0: each size is measured once.
  double soak = 0;
  int flip_rank = -1;    // of a soak, whose first result gets a wrong bit before it is compared; -1: none
  double patience = 60;  // timeout of one step in seconds
  NodePlace place;
  FIELDS(CollectivePlan, operation, type, sizes, iterations, root, check, graph, in_place, choices, soak,
         flip_rank, patience, place);
};
// Checks a plan from an untrusted caller. Fails if a number is outside its limits.
Result<void> check_plan(const CollectivePlan& plan);

// The results of one node for one size. Times are nanoseconds of one operation, of the slowest rank.
struct CollectiveSeries {
  std::uint64_t bytes = 0;
  std::uint64_t elements = 0;
  std::vector<double> launched;
  std::vector<double> single;
  std::vector<double> graph;
  std::vector<double> in_place;
  std::uint64_t wrong = 0;
  std::uint64_t in_place_wrong = 0;
  std::vector<int> wrong_ranks = {};  // those with wrong elements
  FIELDS(CollectiveSeries, bytes, elements, launched, single, graph, in_place, wrong, in_place_wrong,
         wrong_ranks);
};
// Keeps the longer time of each sample and adds up the wrong elements. Both must have the same size.
void merge(CollectiveSeries& into, const CollectiveSeries& from);
// Summarizes a series that has been merged over all nodes. `algbw` and `busbw` are in bits per second.

CollectiveRow row_of(const CollectiveSeries& series, Collective operation, int ranks, bool checked);

// One line of the news from the process on a node. Exactly one member is set.
struct CollectiveNews {
  std::optional<NodeNews> node = {};
  std::optional<std::uint64_t> verified = {};  // number of wrong elements in the first operation
  std::optional<CollectiveSeries> series = {};
  std::optional<std::string> cut = {};  // why larger sizes are left out
  FIELDS(CollectiveNews, node, verified, series, cut);
};

}  // namespace railbed
