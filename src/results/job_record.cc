#include "results/job_record.h"

#include <algorithm>

#include "base/result.h"

namespace railbed {

bool restarted(const JobRecord& record) {
  return record.begin && record.end && !record.begin->boot_id.empty() && !record.end->boot_id.empty() &&
         record.begin->boot_id != record.end->boot_id;
}

std::optional<double> seconds_of(const JobRecord& record) {
  if (!record.begin || !record.end) return std::nullopt;
  double seconds = record.end->time - record.begin->time;
  if (!restarted(record) && record.begin->uptime && record.end->uptime)
    seconds = *record.end->uptime - *record.begin->uptime;
  if (!(seconds >= 0)) return std::nullopt;
  return seconds;
}

int exit_code(const JobRecord& record) {
  const auto has = [&](JobStatus status) {
    return std::ranges::find(record.changes, status, &JobChange::status) != record.changes.end();
  };
  if (has(JobStatus::kFailure)) return kExitFailures;
  if (!record.begin || !record.end || has(JobStatus::kUnknown)) return kExitCouldNotLook;
  return has(JobStatus::kWarning) ? kExitWarnings : kExitClean;
}

int exit_code(const std::vector<NodeJob>& nodes) {
  const auto any = [&](int code) {
    return std::ranges::any_of(nodes, [&](const NodeJob& node) {
      return (node.record ? exit_code(*node.record) : kExitCouldNotLook) == code;
    });
  };
  for (const int code : {kExitFailures, kExitCouldNotLook, kExitWarnings})
    if (any(code)) return code;
  return kExitClean;
}

}  // namespace railbed
