// One run of the history as text.
#pragma once

#include <string>

#include "results/run.h"

namespace railbed {

// Returns "Run 3: back-to-back"; a run without number and label is named by its command.
std::string run_name(const BenchRun& run);
// Returns "Run 3: back-to-back, 2026-11-20T09:00:00Z, bench ladder: 12 measurements, 1 failed\n".
std::string run_line(const BenchRun& run);
// Returns the text of `railbed runs show` below a run's heading: the parameters, the nodes, and all results.
std::string run_text(const BenchRun& run);

}  // namespace railbed
