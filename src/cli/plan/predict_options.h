// The options of `railbed predict`.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/look/evidence.h"
#include "campaign/look/gather.h"
#include "predict/collective_forecast.h"

namespace CLI {
class App;
}

namespace railbed {

// The cluster to predict for: captured nodes, cluster.yaml, or a description in options.
struct ShapeOptions {
  Sources sources;
  ShapeWords words;
  std::string nic_slot;
  std::string calibration;
};
// Adds the options, bound to `options`, which must outlive the parsing.
void declare_shape_options(CLI::App& app, ShapeOptions& options);

// The cluster that a prediction is about, and the evidence for it.
struct Subject {
  ClusterShape shape;
  Evidence evidence;
};
// Finds the subject of the options; this machine if they name none.
Result<Subject> find_subject(const ShapeOptions& options);
Result<Calibration> find_calibration(const ShapeOptions& options);

struct PredictOptions {
  ShapeOptions cluster;
  std::string operation = "all_reduce";
  std::string type = "float32";
  std::string sizes = "8:16G";
  std::string algorithm;
  bool graph = false;
  bool algorithms = false;
  bool said = false;
  bool csv = false;
  bool json = false;
  std::string against;
  std::vector<std::string> calibrate;
  std::string output;
  std::string store;
};

// Adds the options, bound to `options`, which must outlive the parsing.
void declare_predict_options(CLI::App& app, PredictOptions& options);

Result<Collective> predicted_operation(const PredictOptions& options);
Result<std::vector<std::uint64_t>> predicted_sizes(const PredictOptions& options);
Result<ForecastChoice> predicted_choice(const PredictOptions& options);

}  // namespace railbed
