// railbed nccl --running, --pid, --container: running jobs, each as it sees this node.
#pragma once

#include <optional>
#include <string>

#include "host/host.h"
#include "nccl/lint.h"

namespace railbed {

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
