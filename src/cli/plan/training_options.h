// Options that describe a training job: `railbed predict train` and `predict goodput` share them.
#pragma once

#include <string>

#include "cli/plan/predict_options.h"
#include "predict/training_memory.h"

namespace railbed {

struct TrainingOptions {
  ShapeOptions cluster;
  TrainingPlan plan;
  ModelSize size;
  std::string model = "gpt2-xl";
  double billions = 0;
  double batch = 0;
  std::string type;
  std::string sharding = "ddp";
  bool sharded = false;
  std::string recompute = "none";
  std::string optimizer = "adam";
  double mfu = 0;
  double teraflops = 0;
  double gpu_memory = 0;  // GiB
};
// Adds the options, bound to `options`, which must outlive the parsing.
void declare_training_options(CLI::App& app, TrainingOptions& options);

// Returns the job that the options describe.
Result<TrainingPlan> training_plan(const TrainingOptions& options);
// Returns the bytes of memory of its GPUs; 0 if neither the options nor their name say.
double gpu_memory(const TrainingOptions& options, const TrainingPlan& plan);

}  // namespace railbed
