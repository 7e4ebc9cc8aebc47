// Judges the changes on a node during a job, and whose fault they may be. Pure: reads two looks and the log of the time between.
#pragma once

#include <vector>

#include "base/reading.h"
#include "facts/log/kernel_log.h"
#include "results/job_record.h"

namespace railbed {

// Returns the changes between `record.begin` and `record.end`, the worst first. `log` holds the events since the beginning;
// after a restart it begins with that. Limits are those of a load window (verify/load_window.h), as rates over the job's
// time. A fault is called the program's, the hardware's or somebody else's only if the change shows it.
std::vector<JobChange> judge_job(const JobRecord& record, const Reading<KernelLog>& log);

}  // namespace railbed
