// railbed as a health check of another program: one node, one line, that program's exit codes, and a time
// limit.
#pragma once

#include <string>

#include "base/result.h"
#include "campaign/change/slurm.h"
#include "verify/verify.h"

namespace railbed {

// Returns SLURMD_NODENAME, which slurmd sets, else slurm_host_name().
std::string slurm_node_name();

// Drains or undrains `node` in Slurm by the verdict, and prints one line. Returns 0, also with warnings; 2
// with failures; 3 if the node could not be read or Slurm could not be reached.
int report_to_slurm(const std::string& node, const Result<Verdict>& verdict);
// Returns the line that reports the outcome of this step.
std::string slurm_text(const std::string& node, const std::string& line, const SlurmStep& step);

// Prints one line of at most 80 bytes for Kubernetes' node-problem-detector. Returns 0 for OK, also with
// warnings; 1 for a problem; 2 if the node could not be read (docs/custom_plugin_monitor.md there;
// max_output_length is 80 by default).
int report_problem(const Result<Verdict>& verdict);

}  // namespace railbed
