// Whether this node may be probed now: not while a Slurm job has it.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "campaign/slurm.h"
#include "monitor/probe.h"

namespace railbed {

class JobGate {
 public:
  // `beside_jobs`: it is always open.
  JobGate(std::string node, bool beside_jobs, RunProgram run)
      : node_(std::move(node)), beside_jobs_(beside_jobs), run_(std::move(run)) {}

  // As it was at most so long ago. Where Slurm is not installed, no job of its can be here; where it does not
  // answer, the gate is shut. Thread-safe; takes as long as Slurm may take to answer.
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
