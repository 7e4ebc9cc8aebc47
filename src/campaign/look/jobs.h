// A job's record on this node: begun, ended and judged (`railbed job`).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/peer.h"
#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/measure/gpu_places.h"
#include "campaign/reach.h"
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

// Returns the records that these nodes keep of a job, the worst first and those without one last. An empty folder is the default one of
// the user as whom each node is reached.
std::vector<NodeJob> find_job_on_nodes(const std::string& id, const std::string& folder,
                                       const GpuPlaces& places, ReachOptions reach, const Caller& caller);

// Returns the agent's handler of that: JobQuestion → NodeJob.
Handlers job_record_handlers();

}  // namespace railbed
