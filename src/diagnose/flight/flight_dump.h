// A dump of PyTorch's flight recorder: the collectives that one rank called last, in each of its process groups, and
// how far each came. ProcessGroupNCCL writes one file per rank when its watchdog gives up (TORCH_NCCL_DUMP_ON_TIMEOUT),
// as a pickle, or on request as JSON (torch/csrc/distributed/c10d/FlightRecorderDetail.hpp, versions 1.5 to 2.10).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"

namespace railbed::diagnose {

// `kScheduled` also stands for a call whose start was not recorded, because only timing records it
// (TORCH_NCCL_ENABLE_TIMING).
enum class FlightState { kScheduled, kStarted, kCompleted };
constexpr auto enum_names(FlightState) {
  return std::array<std::string_view, 3>{"scheduled", "started", "completed"};
}

// One call of a collective, or of send or recv.
struct FlightCall {
  std::string operation = {};  // "all_reduce"; "send 1->2" with ranks of the group
  std::int64_t number = 0;     // counts the collectives of its group from 1; sends and receives separately
  bool point_to_point = false;
  FlightState state = FlightState::kScheduled;
  std::string types = {};       // element types of input and output: "Float -> Float"
  std::string sizes = {};       // their shapes: "[1024, 5] -> [1024, 5]"
  std::string where = {};       // the user's line that called it: "train.py:88 (step)"; empty without a stack
  std::int64_t created_ns = 0;  // since the epoch, by the clock of its node; 0: not recorded
  std::int64_t timeout_ms = 0;  // after which the watchdog gives it up; 0: not recorded
  FIELDS(FlightCall, operation, number, point_to_point, state, types, sizes, where, created_ns, timeout_ms);
};

struct FlightGroup {
  std::string name = {};               // "0"
  std::string description = {};        // "default_pg"; empty if unknown
  std::vector<int> ranks = {};         // of the whole job; empty if the dump does not state them
  std::vector<FlightCall> calls = {};  // all that are not completed, and the last one of each kind that is
  FIELDS(FlightGroup, name, description, ranks, calls);
};

struct FlightDump {
  int rank = -1;     // by the file's name; -1 if it has no number
  std::string file;  // its name
  std::string version;
  std::string nccl;
  bool records_starts = false;  // whether "scheduled" means that the GPU has not begun
  std::vector<FlightGroup> groups;
  FIELDS(FlightDump, rank, file, version, nccl, records_starts, groups);
};

// Returns whether a file's first bytes and its name can be those of a dump. `head` is the first kilobyte or more.
bool may_be_flight_dump(std::string_view head);
// Reads a dump, pickle or JSON. The rank is the number at the end of the file's name ("nccl_trace_rank_3",
// "rank_3.json"). Fails with kBadInput if the bytes are no dump.
Result<FlightDump> read_flight_dump(std::string_view bytes, std::string_view file);

}  // namespace railbed::diagnose
