// Text for people about a comparison of two runs.
#pragma once

#include <string>

#include "results/comparison.h"
#include "results/run.h"

namespace railbed {

// Returns 0 for PASS, 2 for FAIL, 3 for INCONCLUSIVE.
int exit_code_of(Outcome outcome);

std::string compare_table(const BenchRun& a, const BenchRun& b, const CompareResult& result,
                          const CompareOptions& options);

}  // namespace railbed
