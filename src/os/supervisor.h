// Runs a user's program with everything that it starts, and one process above them that ends them all when
// they are no longer wanted: `railbed agent --supervise`, between the agent and the program.
//
// The agent can be killed at any moment, and processes that a program starts leave its process group
// (torchrun's workers, podman's monitor, mpirun's ranks). So the supervisor is a process of its own. End of
// file on its input shows that the agent is gone. As a child subreaper (prctl(2), PR_SET_CHILD_SUBREAPER) it
// becomes the parent of every orphan, so that it ends only when no process is left.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/child.h"

namespace railbed {

struct SupervisedJob {
  std::vector<std::string> words = {};        // not interpreted by a shell
  std::vector<std::string> environment = {};  // "NAME=VALUE", added to the agent's
  std::string folder = {};                    // working folder; empty: the agent's
  std::chrono::seconds grace{10};             // from SIGTERM to SIGKILL
  std::chrono::seconds patience{60};          // heartbeat timeout
};

// Checks what can be checked before the start: that the folder exists and that the program is in PATH.
// Refuses if the agent became root by sudo, because such an agent may only do the actions on a closed list.
Result<void> check_job(const SupervisedJob& job);

// Starts the job. `out` and `err` are the program's standard output and error; it has no input. Each byte
// sent to `in` is a heartbeat. When `in` is closed, or without a heartbeat for `patience`, all processes are
// ended. The child ends when all have ended: with the program's exit code, 128 + signal, or, as in a shell,
// 127 (no such program) or 126 (it cannot be started). It outlives this object: to end it, close `in`, as
// happens when the agent ends.
Result<Program> start_supervised(const SupervisedJob& job);

// The supervisor's main function: reads the job from `in` and returns the process's exit code; 126 if the job
// cannot be read.
int supervise(int in);

}  // namespace railbed
