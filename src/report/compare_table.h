// A comparison as people read it.
#pragma once

#include <string>

#include "results/comparison.h"
#include "results/run.h"

namespace railbed {

// 0 PASS, 2 FAIL, 3 INCONCLUSIVE.
int exit_code_of(Outcome outcome);

std::string compare_table(const BenchRun& a, const BenchRun& b, const CompareResult& result,
                          const CompareOptions& options);

}  // namespace railbed
