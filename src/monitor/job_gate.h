// Decides whether this node may be probed now: not while a Slurm job has it.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "campaign/change/slurm.h"
#include "monitor/probe/probe.h"

namespace railbed {

// See the head of this file. Thread-safe.
class JobGate {
 public:
  // `beside_jobs`: probing is always permitted.
  JobGate(std::string node, bool beside_jobs, RunProgram run)
      : node_(std::move(node)), beside_jobs_(beside_jobs), run_(std::move(run)) {}

  // Returns why the node may not be probed; empty if it may. The result may be as old as `at_most_old`.
  // Without Slurm on the node, there can be no job of it, and probing is permitted. If Slurm does not
  // respond, it is not. Thread-safe; takes as long as Slurm's response.
  ProbePause ask(std::chrono::steady_clock::duration at_most_old);

 private:
  ProbePause ask_slurm_now() const;

  const std::string node_;
  const bool beside_jobs_;
  const RunProgram run_;
  std::mutex mutex_;
  ProbePause known_;
  std::chrono::steady_clock::time_point asked_ = {};
  bool ever_ = false;
};

}  // namespace railbed
