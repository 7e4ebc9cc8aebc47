// Reads the inputs of `railbed predict`, and picks the findings of verify that can explain a measurement
// below its forecast.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "predict/against.h"
#include "predict/calibration_fit.h"
#include "results/run.h"
#include "verify/verify.h"

namespace railbed {

// Finds a run as find_run() does, or reads a file of more kinds: the output of `railbed bench collectives
// --json`, or measurements of `railbed bench --json`.
Result<BenchRun> find_run_to_check(const std::string& store, const std::string& word, const Caller& caller);

// Returns the failures and warnings that can explain a slow path, root causes only, worst first. With
// `network`, those of adapters and their paths to the GPUs; otherwise those of GPUs and NCCL.
std::vector<Finding> explaining(const Findings& findings, bool network);

// Reads a file that `railbed predict --calibrate … -o` wrote.
Result<Calibration> read_calibration(const std::string& file);

// Returns the measured times of the runs' collectives, to fit a calibration to. Each run counts as one
// cluster.
std::vector<MeasuredTime> times_to_fit(const std::vector<BenchRun>& runs, const ClusterShape& shape);

}  // namespace railbed
