// Runs the commands of a Launch on their nodes, all at once, with their output line by line. No process is
// left behind.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/reach.h"
#include "configure/launch.h"
#include "inventory/cluster.h"

namespace railbed {

struct LaunchChoice {
  std::string folder;              // on every node; empty: the start folder of the agent
  std::chrono::seconds grace{10};  // from SIGTERM to SIGKILL
};

// A line of output of a node's command, without control characters. Calls are serialized; while one runs, the
// commands that print wait.
struct PrintedLine {
  const std::string& node;
  bool error = false;  // from standard error
  std::string_view text;
};
using HearLine = std::function<void(const PrintedLine& line)>;

struct CommandEnd {
  std::string node;
  int status = 0;                  // the exit code, or 128 + signal number
  std::optional<Error> lost = {};  // it could not be started, or its connection was lost
  bool good() const { return status == 0 && !lost; }
  std::string to_text() const;  // "gpu2: exit status 137 (SIGKILL)"
};

struct LaunchEnd {
  std::vector<CommandEnd> ends;           // in the order of the commands
  std::optional<std::size_t> first = {};  // index of the first that failed by itself
  bool stopped = false;                   // the others were stopped
  bool cancelled = false;                 // the caller stopped all
};

// Returns the node of a command for messages, or the program if the command has no node (as with srun).
std::string name_of(const NodeCommand& command);

// Runs the commands until all have ended. Fails if a node cannot be reached or lacks the program; then
// nothing was started anywhere. When one command fails, the others are stopped after a short time for their
// last output.
Result<LaunchEnd> launch_nodes(const Cluster& cluster, const Launch& launch, const LaunchChoice& choice,
                               ReachOptions reach, const Caller& caller, const HearLine& hear);

}  // namespace railbed
