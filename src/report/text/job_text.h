// A job's records as text (results/job_record.h).
#pragma once

#include <string>
#include <vector>

#include "results/job_record.h"

namespace railbed {

// Returns a record: how long it ran, what changed, the worst first, and the GPUs before and after it.
std::string job_text(const JobRecord& record);
// Returns one line for each record: when, how long, how bad, and the first change.
std::string jobs_text(const std::vector<JobRecord>& records);
// Returns a job on several nodes: how many are sound, then the records with findings, then the nodes without a record.
std::string node_jobs_text(const std::string& id, const std::vector<NodeJob>& nodes, bool all);
// Returns what a look before a job found: "8 GPUs, 8 RDMA ports".
std::string looked_at_text(const JobLook& look);

}  // namespace railbed
