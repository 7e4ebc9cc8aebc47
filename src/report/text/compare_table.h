// Text for people about a comparison of two runs.
#pragma once

#include <string>
#include <vector>

#include "results/comparison.h"
#include "results/run.h"

namespace railbed {

// Returns 0 for PASS, 2 for FAIL, 3 for INCONCLUSIVE.
int exit_code_of(Outcome outcome);

std::string compare_table(const std::vector<BenchRun>& a, const std::vector<BenchRun>& b,
                          const CompareResult& result, const CompareOptions& options);

}  // namespace railbed
