// A rehearsal of training over several ranks: the controller's side.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/core/pair.h"
#include "bench/train/train.h"
#include "model/training_step.h"
#include "results/measurement.h"
#include "results/train.h"

namespace railbed {

template <class Answer>
struct Answers;
// The cause to show of what all ranks answered: the rule of core/ask_all.h, which believes first who answered
// first, but those who only saw a connection closed last: that is what the others' ends look like.
std::optional<Failure> train_cause(const std::vector<std::string>& nodes, const Answers<TrainRan>& answers);

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
