// A collective's report for people.
#pragma once

#include <string>

#include "facts/collective.h"
#include "nccl/log.h"

namespace railbed {

// `log`: what NCCL said of the run.
std::string collective_table(const CollectiveReport& report, const nccl::Log& log);

}  // namespace railbed
