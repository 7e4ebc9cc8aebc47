// A job's record on this node: begun, ended and judged (`railbed job`).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "host/host.h"
#include "results/job_record.h"
#include "store/job_records.h"

namespace railbed {

struct JobOrder {
  std::string id;
  std::string node;
  std::string gpus = {};  // as Slurm names them
  std::chrono::milliseconds patience{1000};
};

struct JobOutcome {
  JobRecord record = {};
  bool whole = true;                      // everything could be read
  bool hangs = false;                     // JobGlance::hangs
  std::optional<Error> not_written = {};  // the record is not kept
};

// Look at the node and keep the record: a new one, or the end of the one that began.
JobOutcome begin_job(const std::shared_ptr<Host>& host, const JobRecords& records, const JobOrder& request);
Result<JobOutcome> end_job(const std::shared_ptr<Host>& host, const JobRecords& records,
                           const JobOrder& request);

}  // namespace railbed
