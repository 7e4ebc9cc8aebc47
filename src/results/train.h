// The results of a rehearsal of data-parallel training (`railbed bench train`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/units.h"
#include "results/measurement.h"

namespace railbed {

// The results of a rehearsal. Times are in seconds; summaries are medians with their 95 % intervals.
struct TrainReport {
  std::string model;
  std::string sample;              // "image", "sequence"
  std::vector<std::string> nodes;  // one per rank
  std::uint64_t parameters = 0;
  std::uint64_t gradient_bytes = 0;
  std::uint64_t buckets = 0;
  std::uint64_t batch = 0;   // per rank
  std::uint64_t tokens = 0;  // per sample; 0 if it has none
  int word_bytes = 4;
  double flops_per_second = 0;  // per rank: the simulated speed of computing, or the one reached on its GPU
  std::string transport;        // "TCP", "RDMA", "NCCL"
  bool on_gpus = false;         // otherwise in host buffers
  std::string compute_kind;     // "simulated on CPUs", "cuBLAS bf16 on NVIDIA H200"
  std::string libraries;        // "NCCL 2.28.3, cuBLAS 13.1.0"
  double peak_flops = 0;        // of a GPU's tensor cores, from its data sheet; 0 if unknown
  std::uint64_t memory_bytes = 0;  // used on each GPU
  std::uint64_t rounds = 0;
  Summary step;
  Summary exchange;
  Summary compute;
  double exposed = 0;     // per step: the time that the exchange adds to the computing
  double efficiency = 0;  // computing alone ÷ whole step: 1 is perfect scaling
  double overlap = 0;     // share of the exchange that the backward pass hides
  double samples_per_second = 0;
  double tokens_per_second = 0;
  BitRate exchange_rate;  // sent by each rank during an exchange alone
  // The least rate at which at most kHiddenShare of the computing is exposed.
  BitRate hiding_rate;
  // exposed_seconds() at exchange_rate; the time above it is not caused by bandwidth.
  double predicted_exposed = 0;
  Ceiling ceiling;  // of exchange_rate
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  std::optional<Failure> failure;
  FIELDS(TrainReport, model, sample, nodes, parameters, gradient_bytes, buckets, batch, tokens, word_bytes,
         flops_per_second, transport, on_gpus, compute_kind, libraries, peak_flops, memory_bytes, rounds,
         step, exchange, compute, exposed, efficiency, overlap, samples_per_second, tokens_per_second,
         exchange_rate, hiding_rate, predicted_exposed, ceiling, checked_bytes, wrong_bytes, failure);
};

// Our own choice: less than 5 % of a step is hardly worth a faster network.
inline constexpr double kHiddenShare = 0.05;

}  // namespace railbed
