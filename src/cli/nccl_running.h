// railbed nccl --running, --pid, --container: jobs that run now, each as it sees this node.
#pragma once

#include <optional>
#include <string>

#include "host/host.h"
#include "nccl/lint.h"

namespace railbed {

// Which processes; one of the three.
struct RunningOptions {
  std::optional<int> pid;
  std::string container;
  bool all = false;
  bool asked() const { return pid || !container.empty() || all; }
};

// Prints the verdicts and returns the exit code.
int look_at_running(Host& host, const RunningOptions& which, const nccl::Expectation& expected, bool json);

}  // namespace railbed
