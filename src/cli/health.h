// railbed as somebody's health check: one node, one line, an exit code of the caller's, and an end in time.
#pragma once

#include <string>

#include "base/result.h"
#include "campaign/slurm.h"
#include "verify/verify.h"

namespace railbed {

// SLURMD_NODENAME, which slurmd sets, else slurm_host_name().
std::string slurm_node_name();

// For Slurm: drains or undrains `node`, prints one line. 0, also with warnings; 2 with failures; 3 when
// looking or telling failed.
int report_to_slurm(const std::string& node, const Result<Verdict>& verdict);
// The line that says what was done.
std::string slurm_text(const std::string& node, const std::string& line, const SlurmStep& step);

// For Kubernetes' node-problem-detector: prints one line of at most 80 bytes. 0 OK, also with warnings; 1
// problem; 2 could not look (docs/custom_plugin_monitor.md there; max_output_length is 80 by default).
int report_problem(const Result<Verdict>& verdict);

}  // namespace railbed
