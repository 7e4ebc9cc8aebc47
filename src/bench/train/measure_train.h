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
// Returns the cause to show, by the rule of core/ask_all.h. The failure of the rank that ended first is
// preferred. Ranks that only saw a closed connection come last, because that is how another rank's end looks.
std::optional<Failure> train_cause(const std::vector<std::string>& nodes, const Answers<TrainRan>& answers);

struct TrainResult {
  std::vector<double> step;      // seconds, the slowest rank's, round by round
  std::vector<double> exchange;  // only the exchange
  std::vector<double> compute;   // only the computing, as one rank does it without the others
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  Ceiling ceiling;  // of the slowest link between two ranks
  std::optional<Failure> failure;
};

// Runs the rehearsal. Each end is one rank; several may be on one node. Each rank sends to the next, the last
// to the first: over TCP, whose ends need addresses, or over RDMA. Returns after `seconds` and the round that
// is then running; each rank has half an hour more than `seconds`. A failure is reported in the result, and
// no rank continues without the others.
TrainResult measure_train(const std::vector<PairEnd>& ends, Engine transport, const Step& step,
                          int word_bytes, double seconds, std::stop_token stop);

// Computes the report; a pure function. The caller fills in the nodes, the transport and the kind of
// computing.
TrainReport report_of(const Model& model, const StepPlan& plan, const Step& step, int ranks,
                      const TrainResult& result);

// Returns two measurements for the history: the time of a step, and the bandwidth of the exchange.
std::vector<Measurement> train_measurements(const TrainReport& report);

}  // namespace railbed
