// What `railbed predict` reads, and what verify's findings say of measurements below their forecast.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "predict/against.h"
#include "predict/calibration_fit.h"
#include "results/run.h"
#include "verify/verify.h"

namespace railbed {

// A run of the history as find_run() knows it, or a file: an exported run, what `railbed bench collectives
// --json` printed, or measurements of `railbed bench --json`.
Result<BenchRun> find_run_to_check(const std::string& store, const std::string& word);

// The red findings that can explain why a path is slow, root causes only, worst first: of adapters and their
// way to the GPUs where data passes adapters, of GPUs and NCCL else.
std::vector<Finding> explaining(const Findings& findings, bool network);

// Of a file that `railbed predict --calibrate … -o` wrote.
Result<Calibration> read_calibration(const std::string& file);

// The collectives of runs, as times to fit to. Each run counts as one cluster.
std::vector<MeasuredTime> times_to_fit(const std::vector<BenchRun>& runs, const ClusterShape& shape);

}  // namespace railbed
