// One run of the history as text.
#pragma once

#include <string>

#include "results/run.h"

namespace railbed {

// "Run 3: back-to-back"; a run without number and label is called by its command.
std::string run_name(const BenchRun& run);
// "Run 3: back-to-back, 2026-11-20T09:00:00Z, bench ladder: 12 measurements, 1 failed\n".
std::string run_line(const BenchRun& run);
// What `railbed runs show` prints below a run's heading: what was asked for, on what, and all that was found.
std::string run_text(const BenchRun& run);

}  // namespace railbed
