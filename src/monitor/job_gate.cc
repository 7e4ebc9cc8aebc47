#include "monitor/job_gate.h"

#include <fmt/format.h>

namespace railbed {

ProbePause JobGate::ask_slurm_now() const {
  const auto busy = job_has_node(node_, run_);
  if (!busy)
    return {
        "slurm-silent",
        fmt::format("Slurm does not say whether a job has {}: {}. --probe-beside-jobs probes all the same",
                    node_, busy.error().text)};
  if (*busy)
    return {"job", fmt::format("a Slurm job has {}. --probe-beside-jobs probes all the same", node_)};
  return {};
}

ProbePause JobGate::ask(std::chrono::steady_clock::duration at_most_old) {
  if (beside_jobs_) return {};
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (ever_ && now - asked_ < at_most_old) return known_;
  known_ = ask_slurm_now();
  asked_ = now;
  ever_ = true;
  return known_;
}

}  // namespace railbed
