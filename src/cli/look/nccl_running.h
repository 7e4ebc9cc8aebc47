// railbed nccl --running, --pid, --container: running jobs, each as it sees this node.
#pragma once

#include <optional>
#include <string>

#include "base/document.h"
#include "base/fields.h"
#include "host/host.h"
#include "nccl/lint.h"
#include "nccl/process_lint.h"

namespace railbed {

// The output of `railbed nccl --running` and `--pid`.
struct RunningOutput {
  std::vector<nccl::ProcessVerdict> processes;
  std::vector<std::string> left_out;
  FIELDS(RunningOutput, processes, left_out);
};
inline constexpr Document<RunningOutput> kRunningDocument{"railbed-nccl-processes"};

// The processes to read; only one of the three is set.
struct RunningOptions {
  std::optional<int> pid;
  std::string container;
  bool all = false;
  bool asked() const { return pid || !container.empty() || all; }
};

// Prints the verdict on each process and returns the exit code.
int look_at_running(Host& host, const RunningOptions& which, const nccl::Expectation& expected, bool json);

}  // namespace railbed
