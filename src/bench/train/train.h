// A rehearsal of data-parallel training as it runs on the nodes: what an agent
// is asked and what it answers. Each rank waits as long as its GPU would
// compute, and really exchanges and checks gradients meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "bench/tcp/tcp.h"
#include "bench/train/ring_links.h"
#include "bench/verbs/rdma.h"
#include "model/training_step.h"
#include "results/measurement.h"

namespace railbed {

inline constexpr std::string_view kTrainListen = "bench.train.listen";  // TcpListen → TcpListening
inline constexpr std::string_view kTrainRun = "bench.train.run";        // TrainRun → TrainRan
// The same over RDMA sessions, which stay open: others may still have to receive what a rank has sent.
inline constexpr std::string_view kTrainRunRdma = "bench.train.run.rdma";  // TrainRun → TrainRan

struct TrainRun {
  std::string session;   // TCP's ends with this request; over RDMA, the one towards the next rank
  std::string incoming;  // over RDMA: the session from the rank before
  int rank = 0;
  int ranks = 2;
  TcpTarget next;        // over TCP: where this rank sends to
  std::string previous;  // over TCP: the node that it receives from
  Step step;
  int word_bytes = 4;
  double seconds = 0;  // rounds go on as long; at least kFewestRounds
  std::uint64_t seed = 0;
  FIELDS(TrainRun, session, incoming, rank, ranks, next, previous, step, word_bytes, seconds, seed);
};

// Seconds of every round, one entry each. A round is a whole step, then the
// exchange alone, then the computing alone: taking turns, so that a drift of
// the machine meets all three.
struct TrainRan {
  std::vector<double> step;
  std::vector<double> exchange;
  std::vector<double> compute;
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  std::optional<Failure> failure;
  FailureKind kind = FailureKind::kOther;  // of the failure
  FIELDS(TrainRan, step, exchange, compute, checked_bytes, wrong_bytes, failure, kind);
};

inline constexpr int kMostRanks = 256;
inline constexpr int kFewestRounds = 3;
inline constexpr int kMostRounds = 1000;

// Returns soon after a neighbour is gone or a stop is requested. No byte moving
// for the patience is a failure; a neighbour may compute meanwhile, so that is
// the longer the more there is to compute.
TrainRan train_over(std::unique_ptr<RingLinks> links, const TrainRun& run, std::stop_token stop);
// Makes the links first.
TrainRan train_over_tcp(const TcpDoor& door, const TrainRun& run, std::stop_token stop);
std::chrono::milliseconds ring_patience(const Step& step);

// What both ends of an RDMA link are prepared for: the size is that of a message at most.
inline RdmaRun ring_run(std::string session) {
  return {std::move(session), RdmaOperation::kSend, std::uint64_t{256} << 10, 0, 1, 0};
}

// Refuses what no caller may ask: untrusted numbers end here.
Result<void> check_run(const TrainRun& run);
// What the gradients of a run take of this machine's memory.
std::uint64_t memory_of(const TrainRun& run);

}  // namespace railbed
