// Collective operations, apart from any GPU: what is sent and received, what must have arrived, how often an
// operation is run, and what its times mean.
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

// first, first × factor, … up to last. At most 64 of them.
std::vector<std::uint64_t> size_sweep(std::uint64_t first, std::uint64_t last, int factor);

// One operation of `bytes` in all, in elements. Blocks are whole multiples of 16 bytes, as nccl-tests has
// them; nothing where not even one fits.
struct CollectiveShape {
  std::uint64_t bytes = 0;
  std::uint64_t block = 0;  // NCCL's count argument
  std::uint64_t send = 0;   // size of the buffers, the root's where only it needs one
  std::uint64_t receive = 0;
};
struct CollectivePlan;
std::optional<CollectiveShape> shape_of(Collective operation, DataType type, std::uint64_t bytes, int ranks);

// The sizes whose two buffers fit into `room` bytes of a GPU. For those that do not there is the largest
// power of two that fits, if it is more than what is left.
std::vector<std::uint64_t> fitting_sizes(const CollectivePlan& plan, int ranks, std::uint64_t room);

// What stands in the receive buffer of `rank` afterwards; nothing where it receives none.
std::optional<Expected> expected_on(Collective operation, const CollectiveShape& shape, int rank, int ranks,
                                    int root);
// Where, in elements of one shared buffer, a rank's own data lies when an operation works in place.
std::uint64_t in_place_offset(Collective operation, const CollectiveShape& shape, int rank);
// The same on every rank of every node, so that they stay in step: it follows from the size alone.
struct Repetitions {
  int warm_up = 0;
  int series = 0;        // of launches without anything between them, timed as a whole
  int in_a_row = 0;      // operations of a series
  bool singles = false;  // a further series in which each operation is timed by itself
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
  bool choices = false;  // NCCL logs what it chose for each launch, which makes small ones slower
  double patience = 60;  // seconds for one step
  NodePlace place;
  FIELDS(CollectivePlan, operation, type, sizes, iterations, root, check, graph, in_place, choices, patience,
         place);
};
// What an agent accepts.
Result<void> check_plan(const CollectivePlan& plan);

// What one node measured of one size: nanoseconds of an operation, the slowest of its ranks.
struct CollectiveSeries {
  std::uint64_t bytes = 0;
  std::uint64_t elements = 0;
  std::vector<double> launched;
  std::vector<double> single;
  std::vector<double> graph;
  std::vector<double> in_place;
  std::uint64_t wrong = 0;
  std::uint64_t in_place_wrong = 0;
  FIELDS(CollectiveSeries, bytes, elements, launched, single, graph, in_place, wrong, in_place_wrong);
};
// Takes the slower time of each sample and adds up what is wrong. Both are of the same size.
void merge(CollectiveSeries& into, const CollectiveSeries& from);

CollectiveRow row_of(const CollectiveSeries& series, Collective operation, int ranks, bool checked);

// One line of what the process on a node tells; one of the members is there.
struct CollectiveNews {
  std::optional<NodeNews> node = {};
  std::optional<std::uint64_t> verified = {};  // elements wrong in the first operation
  std::optional<CollectiveSeries> series = {};
  std::optional<std::string> cut = {};  // why larger sizes are left out
  FIELDS(CollectiveNews, node, verified, series, cut);
};

}  // namespace railbed
