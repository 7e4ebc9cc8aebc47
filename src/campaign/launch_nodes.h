// The commands of a Launch, run on their nodes: all at once, their output line by line, and none left behind.
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
  std::string folder;              // on every node; empty: where its login begins
  std::chrono::seconds grace{10};  // from SIGTERM to SIGKILL
};

// A line of what a node's command printed, cleaned; by one thread at a time. While it is not done, who prints
// waits.
struct PrintedLine {
  const std::string& node;
  bool error = false;  // on standard error
  std::string_view text;
};
using HearLine = std::function<void(const PrintedLine& line)>;

struct CommandEnd {
  std::string node;
  int status = 0;                  // the exit code, or 128 + signal
  std::optional<Error> lost = {};  // it could not be started or heard of any more
  bool good() const { return status == 0 && !lost; }
  std::string to_text() const;  // "gpu2: exit status 137 (SIGKILL)"
};

struct LaunchEnd {
  std::vector<CommandEnd> ends;           // in the order of the commands
  std::optional<std::size_t> first = {};  // of them: the first that failed by itself
  bool stopped = false;                   // the others, because of it
  bool cancelled = false;                 // all, because the caller wanted it
};

// How the node of a command is called: where srun is, by the program.
std::string name_of(const NodeCommand& command);

// An error where any node cannot be reached, or has no such program: then nothing was started anywhere. Once
// one fails, the others are told to end after a moment for their last words.
Result<LaunchEnd> launch_nodes(const Cluster& cluster, const Launch& launch, const LaunchChoice& choice,
                               ReachOptions reach, const Caller& caller, const HearLine& hear);

}  // namespace railbed
