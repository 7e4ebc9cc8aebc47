// NCCL's RAS service answers with the communicators of a running job, the state of their ranks, and the number of
// collectives that each rank has launched. Two formats carry it, and both become a RasAnswer:
//
//   text  of NCCL 2.24 and newer ("VERBOSE STATUS"). It names what differs: a communicator whose ranks are all alike is
//         counted in a group and has neither a hash nor counts, and of ranks that differ, the most are only counted.
//   JSON  of NCCL 2.28.7 and newer ("SET FORMAT json"). It has every rank of every communicator.
//
// Formats: NVIDIA/nccl, src/ras/client_support.cc of 2.24.3 to 2.30.7, and the user guide's page "RAS".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"

namespace railbed::diagnose {

// A process of the job that does not answer the others' RAS threads.
struct RasProcess {
  int pid = 0;
  std::string node = {};  // its address, as NCCL's bootstrap uses it
  std::string gpus = {};  // "5", "0,1 (NVML 4,5)"
  FIELDS(RasProcess, pid, node, gpus);
  bool operator==(const RasProcess&) const = default;
};

enum class RasState {
  kUnknown,
  kInit,
  kRunning,
  kFinalize,
  kAbort,
  kNotMember,     // its process answers, and has left the communicator or not entered it yet
  kUnresponsive,  // its process does not answer
  kDead,          // its process has not answered for 60 s: RAS asks it no longer
};
constexpr auto enum_names(RasState) {
  return std::array<std::string_view, 8>{"unknown", "INIT",       "RUNNING",      "FINALIZE",
                                         "ABORT",   "not member", "unresponsive", "dead"};
}

struct RasRank {
  int rank = 0;                 // in its communicator
  std::string node = {};        // empty if unknown
  std::optional<int> pid = {};  // nothing if unknown
  std::optional<int> gpu = {};  // NVML's number; nothing if unknown
  RasState state = RasState::kUnknown;
  std::string error = {};  // of its initialization or what ncclCommGetAsyncError would return; empty if none
  FIELDS(RasRank, rank, node, pid, gpu, state, error);
};

// Ranks that launched the same number of collectives.
struct RasParty {
  std::uint64_t launched = 0;
  int count = 0;                // how many ranks
  std::vector<int> ranks = {};  // ascending; empty if the answer does not name them
  FIELDS(RasParty, launched, count, ranks);
};

// How many collectives of one kind each rank launched.
struct RasCount {
  std::string function = {};           // AllReduce; "collective" before NCCL 2.26, which counts all together
  std::vector<RasParty> parties = {};  // the fewest first
  FIELDS(RasCount, function, parties);
};

struct RasTally {
  RasState state = RasState::kUnknown;
  int ranks = 0;
  FIELDS(RasTally, state, ranks);
  bool operator==(const RasTally&) const = default;
};

struct RasCommunicator {
  std::string id = {};  // "27a079b828ff1a75": commHash, which NCCL_DEBUG=INFO calls commId
  int size = 0;
  std::vector<RasRank> ranks = {};    // those that the answer names, ascending
  std::vector<RasTally> states = {};  // most ranks first
  std::vector<RasCount> counts = {};  // of text: those that differ between ranks
  FIELDS(RasCommunicator, id, size, ranks, states, counts);

  const RasRank* find(int rank) const;  // null if the answer does not name it
  bool has(RasState state) const;
};

// Communicators that the text summarises in one line.
struct RasGroup {
  int communicators = 0;
  int size = 0;             // ranks of each
  std::string status = {};  // RUNNING
  std::string errors = {};  // OK, "INCOMPLETE,MISMATCH"
  FIELDS(RasGroup, communicators, size, status, errors);
};

struct RasAnswer {
  std::string version = {};    // of NCCL: "2.28.9"
  bool names_all = false;      // JSON: every rank and every count
  int nodes = 0;               // 0: not known
  int processes = 0;           // 0: not known
  int communicator_count = 0;  // all of them, those without a hash, too
  std::vector<RasGroup> groups = {};
  std::vector<RasCommunicator> communicators = {};
  std::vector<RasProcess> unresponsive = {};
  std::vector<RasProcess> dead = {};
  int unresponsive_count = 0;  // may exceed those that are named
  int dead_count = 0;
  int timeouts = 0;  // of RAS itself, while it gathered this
  int unsound = 0;   // communicators and ranks left out, because their numbers cannot be
  FIELDS(RasAnswer, version, names_all, nodes, processes, communicator_count, groups, communicators,
         unresponsive, dead, unresponsive_count, dead_count, timeouts, unsound);
};

// Both read one whole answer, and fail with kBadInput if it is another text or ends early. Texts in the result are
// printable. Not more than kMostRasRanks ranks and kMostRasCommunicators communicators are accepted.
inline constexpr int kMostRasRanks = 1 << 20;
inline constexpr std::size_t kMostRasCommunicators = 1 << 16;
Result<RasAnswer> read_ras_text(std::string_view text);
Result<RasAnswer> read_ras_json(std::string_view text);

// Returns whether NCCL's text is sound, too, in the version that the first lines of this JSON name. The text of versions
// before 2.29.2 may crash the job if ranks are missing (NVIDIA/nccl issue 1762); their JSON does not.
bool may_ask_for_ras_text(std::string_view json);

}  // namespace railbed::diagnose
