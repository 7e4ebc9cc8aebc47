#include "campaign/look/jobs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/moment.h"
#include "base/version.h"
#include "facts/job_look.h"
#include "verify/job_changes.h"

namespace railbed {
namespace {

// Records among which other jobs of the same time are searched: the latest, so that the search costs little.
constexpr std::size_t kMostBeside = 32;

bool is_whole(const JobLook& look) {
  return look.unread.empty() &&
         std::ranges::all_of(look.gpus, [](const auto& one) { return one.second.unread.empty(); });
}

// Returns the jobs that ran on this node in the time of the record. One without an end counts while the node has not
// restarted since.
std::vector<std::string> jobs_beside(const JobRecords& records, const JobRecord& record) {
  std::vector<std::string> beside;
  for (const JobRecord& other : records.newest(kMostBeside).records) {
    if (other.id == record.id || !other.begin || other.node != record.node) continue;
    const bool before_our_end = other.begin->time < record.end->time;
    const bool after_our_begin =
        other.end ? other.end->time > record.begin->time : other.begin->boot_id == record.end->boot_id;
    if (before_our_end && after_our_begin) beside.push_back(other.id);
  }
  std::ranges::sort(beside);
  return beside;
}

void keep(const JobRecords& records, JobOutcome& outcome) {
  if (auto written = records.write(outcome.record); !written)
    outcome.not_written = std::move(written.error());
}

}  // namespace

JobOutcome begin_job(const std::shared_ptr<Host>& host, const JobRecords& records, const JobOrder& request) {
  JobGlance seen = glance_at_node(host, request.patience, std::nullopt);
  JobOutcome outcome;
  outcome.whole = is_whole(seen.look);
  outcome.hangs = seen.hangs;
  JobRecord& record = outcome.record;
  record.id = request.id;
  record.node = request.node;
  record.railbed = railbed_version();
  record.gpus = request.gpus;
  const auto before = records.find(request.id);
  record.begun = before && *before ? std::clamp((*before)->begun, 0, 1'000'000) + 1 : 1;
  record.begin = std::move(seen.look);
  keep(records, outcome);
  records.prune(now_unix());
  return outcome;
}

Result<JobOutcome> end_job(const std::shared_ptr<Host>& host, const JobRecords& records,
                           const JobOrder& request) {
  ASSIGN_OR_RETURN(auto found, records.find(request.id));
  JobOutcome outcome;
  JobRecord& record = outcome.record;
  if (found) record = std::move(*found);
  JobGlance seen =
      glance_at_node(host, request.patience, record.begin ? std::optional(record.begin->time) : std::nullopt);
  outcome.whole = is_whole(seen.look);
  outcome.hangs = seen.hangs;
  record.id = request.id;
  record.railbed = railbed_version();
  if (record.node.empty()) record.node = request.node;
  record.end = std::move(seen.look);
  if (record.begin) {
    record.beside = jobs_beside(records, record);
    record.changes = judge_job(record, seen.log);
  }
  keep(records, outcome);
  return outcome;
}

}  // namespace railbed
