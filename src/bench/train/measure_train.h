// A rehearsal of training over several ranks: the controller's side.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/core/pair.h"
#include "bench/train/step.h"
#include "bench/train/train.h"
#include "results/measurement.h"
#include "results/train.h"

namespace railbed {

// What several agents answered, in the order of the ranks, and the order in
// which they did.
struct TrainAnswers {
  std::vector<Result<TrainRan>> ranks;
  std::vector<std::size_t> order;
};

// The cause to show of what all ranks saw. Damaged data first, then an agent
// that is gone, then the first who saw its neighbour's silence, then the first
// who saw a connection closed: that is what the others' ends look like. Nothing
// when all are well.
std::optional<Failure> train_cause(const std::vector<std::string>& nodes, const TrainAnswers& answers);

struct TrainResult {
  std::vector<double> step;      // seconds, the slowest rank's, round by round
  std::vector<double> exchange;  // the exchange alone
  std::vector<double> compute;   // the computing alone: what one rank does without the others
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  Ceiling ceiling;  // of the slowest link between two ranks
  std::optional<Failure> failure;
};

// One end is one rank, of which several may live on one node. Each sends to the next, the last to the first:
// over TCP, whose ends need addresses, or over RDMA. Ends within `seconds`, some rounds, and a patience; what
// went wrong stands in the failure, and no rank goes on without the others.
TrainResult measure_train(const std::vector<PairEnd>& ends, Engine transport, const Step& step,
                          int word_bytes, double seconds, std::stop_token stop);

// Pure. The report's names, ceiling and kinds are the caller's to fill in.
TrainReport report_of(const Model& model, const StepPlan& plan, const Step& step, int ranks,
                      const TrainResult& result);

// For the history: the time of a step, and the exchange's bandwidth.
std::vector<Measurement> train_measurements(const TrainReport& report);

}  // namespace railbed
