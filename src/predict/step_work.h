// The computing of a training step by layer: products of matrices at the rate that a GPU reaches, and
// everything between them at the rate of its memory.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/result.h"
#include "hardware/gpu_speed.h"
#include "model/trained_models.h"
#include "predict/cluster_shape.h"

namespace railbed {

// What is computed again in the backward pass instead of being kept.
enum class Recompute {
  kNone,
  kSelective,  // every second product of matrices is kept, and attention's result (torchtitan: "selective op")
  kFull,       // nothing but the input of each block is kept
};
constexpr auto enum_names(Recompute) { return std::array<std::string_view, 3>{"none", "selective", "full"}; }

// Rates that a GPU reaches while it trains. Operations and bytes a second.
struct TrainingRates {
  double matrix = 0;   // products of matrices
  double wide = 0;     // attention and the output layer, which FP8 leaves in 16 bits; 0: as `matrix`
  double memory = 0;   // 0: `matrix` stands for the whole computing
  double peak = 0;     // of the data sheet, in the type of `matrix`; 0: unknown
  std::string source;  // "fitted (5 sources)", "assumed", "command line"
  FIELDS(TrainingRates, matrix, wide, memory, peak, source);
};

// The share of the data sheet's rate that products of matrices reach while a model trains.
struct AchievedShare {
  GpuArchitecture architecture;
  MatrixType type;  // 16-bit types have one row, that of BF16
  double share;
  int sources;  // it was fitted to; 0: assumed
};
std::span<const AchievedShare> achieved_shares();
// Returns the row of the architecture and type; a row with no source if there is none.
AchievedShare achieved_share(GpuArchitecture architecture, MatrixType type);

// Returns the row of the GPUs' speeds, or an error that names those alike.
Result<const GpuSpeed*> speed_of(const ClusterShape& shape);
// Returns the rates; an error if the GPU has no unit for the type.
Result<TrainingRates> rates_of(const ClusterShape& shape, MatrixType type);
// The same with another share of the data sheet's rate.
Result<TrainingRates> rates_with(const ClusterShape& shape, MatrixType type, double share);

// The computing of one sample by one GPU alone. Seconds.
struct SampleWork {
  double forward = 0;
  double backward = 0;  // with what is recomputed
};
SampleWork sample_work(const Model& model, const TrainingRates& rates, Recompute recompute);

// Returns the operations that count for MFU: one sample forward and twice as much backward, attention's
// masked half and everything recomputed left out.
double useful_flops(const Model& model);

// Returns the seconds of the optimizer for so many parameters; 0 without a rate of memory.
double optimizer_seconds(double parameters, const TrainingRates& rates);

}  // namespace railbed
