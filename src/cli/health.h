// railbed as somebody's health check: one node, one line, an exit code of the caller's, and an end in time.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "facts/facts.h"
#include "verify/verify.h"

namespace railbed {

// slurmd kills a health check after 60 s (slurm.conf(5)); this leaves time to tell slurmctld.
inline constexpr std::chrono::seconds kHealthDeadline{40};

// This machine's facts, collected in a child that is given up at the deadline: nothing that hangs there can
// hang the caller.
Result<Facts> look_within(std::chrono::milliseconds deadline, const CollectOptions& options);

// Leaves `node` alone in the evidence, under that name. Refuses evidence of several nodes, and a cluster that
// does not know it.
Result<void> narrow_to(const std::string& node, Evidence& evidence);

// For Slurm: drains or undrains `node`, prints one line. 0, also with warnings; 2 with failures; 3 when
// looking or telling failed.
int report_to_slurm(const std::string& node, const Result<Verdict>& verdict);

// For Kubernetes' node-problem-detector: prints one line of at most 80 bytes. 0 OK, also with warnings; 1
// problem; 2 could not look (docs/custom_plugin_monitor.md there; max_output_length is 80 by default).
int report_problem(const Result<Verdict>& verdict);

}  // namespace railbed
