// A rehearsal of data-parallel training as it runs on the nodes: the request to an agent and its reply. Each
// rank sleeps for the time in which its GPU would compute, and really exchanges and checks gradients
// meanwhile.
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
// The same over RDMA sessions. These stay open, because other ranks may still have to receive a rank's bytes.
inline constexpr std::string_view kTrainRunRdma = "bench.train.run.rdma";  // TrainRun → TrainRan

struct TrainRun {
  std::string session;   // TCP: the listener, closed by this request; RDMA: the session to the next rank
  std::string incoming;  // RDMA: the session from the rank before
  int rank = 0;
  int ranks = 2;
  TcpTarget next;        // TCP: the next rank's listener
  std::string previous;  // TCP: the node of the rank before
  Step step;
  int word_bytes = 4;
  double seconds = 0;  // time for all rounds; at least kFewestRounds are done
  std::uint64_t seed = 0;
  FIELDS(TrainRun, session, incoming, rank, ranks, next, previous, step, word_bytes, seconds, seed);
};

// The seconds of every round, one entry for each. A round is a whole step, then only the exchange, then only
// the computing. They take turns, so that a drift of the machine affects all three.
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

// Runs one rank over these links. Returns soon after a neighbor has ended or a stop is requested. It is a
// failure if no byte moves for ring_patience().
TrainRan train_over(std::unique_ptr<RingLinks> links, const TrainRun& run, std::stop_token stop);
// Connects to the next rank and accepts the one before, then runs train_over().
TrainRan train_over_tcp(const TcpDoor& door, const TrainRun& run, std::stop_token stop);
// Returns the timeout for a byte to move. It grows with the computing time of a step, because a neighbor may
// compute meanwhile.
std::chrono::milliseconds ring_patience(const Step& step);

// Returns the run for which both ends of an RDMA link are prepared. Its size is the largest of a message.
inline RdmaRun ring_run(std::string session) {
  return {std::move(session), RdmaOperation::kSend, std::uint64_t{256} << 10, 0, 1, 0};
}

// Checks numbers from an untrusted caller. Fails if one is outside its limits.
Result<void> check_run(const TrainRun& run);
// Returns the bytes of memory that the gradients of a run take, rounded up.
std::uint64_t memory_of(const TrainRun& run);

}  // namespace railbed
