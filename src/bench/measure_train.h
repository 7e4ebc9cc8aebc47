// A rehearsal of training over several ranks: the controller's side.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/step.h"
#include "bench/train.h"
#include "facts/measurement.h"

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

// What a rehearsal says, seconds; medians with their 95 % intervals.
struct TrainReport {
  std::string model;
  std::string sample;              // "image", "sequence"
  std::vector<std::string> nodes;  // of each rank
  std::uint64_t parameters = 0;
  std::uint64_t gradient_bytes = 0;
  std::uint64_t buckets = 0;
  std::uint64_t batch = 0;   // of a rank
  std::uint64_t tokens = 0;  // of a sample; 0: none
  int word_bytes = 4;
  double flops_per_second = 0;     // of a rank: that the computing is simulated at, or came to on its GPU
  std::string transport;           // "TCP", "RDMA", "NCCL"
  bool on_gpus = false;            // else in host buffers
  std::string compute_kind;        // "simulated on CPUs", "cuBLAS bf16 on NVIDIA H200"
  std::string libraries;           // "NCCL 2.28.3, cuBLAS 13.1.0"
  double peak_flops = 0;           // of a GPU's tensor cores, by its data sheet; 0: not known
  std::uint64_t memory_bytes = 0;  // that the rehearsal took of each GPU
  std::uint64_t rounds = 0;
  Summary step;
  Summary exchange;
  Summary compute;
  double exposed = 0;     // of a step: what the exchange adds to the computing
  double efficiency = 0;  // computing alone ÷ whole step: 1 is perfect scaling
  double overlap = 0;     // the part of the exchange that the backward pass hides
  double samples_per_second = 0;
  double tokens_per_second = 0;
  BitRate exchange_rate;         // sent by each rank while exchanging alone
  BitRate hiding_rate;           // from which on at most kHiddenShare of the computing is
                                 // exposed
  double predicted_exposed = 0;  // by exposed_seconds() at exchange_rate: what
                                 // is above it is not bandwidth
  Ceiling ceiling;               // of exchange_rate
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  std::optional<Failure> failure;
  static void fields(auto&& field) {
    field("model", &TrainReport::model);
    field("sample", &TrainReport::sample);
    field("nodes", &TrainReport::nodes);
    field("parameters", &TrainReport::parameters);
    field("gradient_bytes", &TrainReport::gradient_bytes);
    field("buckets", &TrainReport::buckets);
    field("batch", &TrainReport::batch);
    field("tokens", &TrainReport::tokens);
    field("word_bytes", &TrainReport::word_bytes);
    field("flops_per_second", &TrainReport::flops_per_second);
    field("transport", &TrainReport::transport);
    field("on_gpus", &TrainReport::on_gpus);
    field("compute_kind", &TrainReport::compute_kind);
    field("libraries", &TrainReport::libraries);
    field("peak_flops", &TrainReport::peak_flops);
    field("memory_bytes", &TrainReport::memory_bytes);
    field("rounds", &TrainReport::rounds);
    field("step", &TrainReport::step);
    field("exchange", &TrainReport::exchange);
    field("compute", &TrainReport::compute);
    field("exposed", &TrainReport::exposed);
    field("efficiency", &TrainReport::efficiency);
    field("overlap", &TrainReport::overlap);
    field("samples_per_second", &TrainReport::samples_per_second);
    field("tokens_per_second", &TrainReport::tokens_per_second);
    field("exchange_rate", &TrainReport::exchange_rate);
    field("hiding_rate", &TrainReport::hiding_rate);
    field("predicted_exposed", &TrainReport::predicted_exposed);
    field("ceiling", &TrainReport::ceiling);
    field("checked_bytes", &TrainReport::checked_bytes);
    field("wrong_bytes", &TrainReport::wrong_bytes);
    field("failure", &TrainReport::failure);
  }
};

// Ours: less than 5 % of a step is hardly worth a faster network.
inline constexpr double kHiddenShare = 0.05;

// Pure. The report's names, ceiling and kinds are the caller's to fill in.
TrainReport report_of(const Model& model, const StepPlan& plan, const Step& step, int ranks,
                      const TrainResult& result);

// For the history: the time of a step, and the exchange's bandwidth.
std::vector<Measurement> train_measurements(const TrainReport& report);

}  // namespace railbed
