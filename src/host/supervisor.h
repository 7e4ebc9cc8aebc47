// A program of a person's own, with everything that it starts, and one process above them that ends them all
// when nobody wants them any more: `railbed agent --supervise`, between the agent and the program.
//
// The agent can be killed at any moment, and what programs start leaves their process group (torchrun's
// workers, podman's monitor, mpirun's ranks). So the process above is its own: it hears by the end of its
// input that the agent is gone, and the kernel gives it every process that lost its parent (prctl(2),
// PR_SET_CHILD_SUBREAPER), so that it ends only when none is left.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/child.h"

namespace railbed {

struct SupervisedJob {
  std::vector<std::string> words = {};        // no shell reads them
  std::vector<std::string> environment = {};  // "NAME=VALUE", beside what the agent has
  std::string folder = {};                    // where it is started; empty: where the agent is
  std::chrono::seconds grace{10};             // from SIGTERM to SIGKILL
  std::chrono::seconds patience{60};          // so long it lives without a sign of life
};

// What can be known before it is started: whether its folder is there, and the program in PATH. Refuses where
// the agent became root by sudo, for what that does is a closed list.
Result<void> check_job(const SupervisedJob& job);

// The program's standard output and error are out and err; it reads nothing. Each byte that is sent to `in`
// is a sign of life; when `in` is closed, all are ended. The child ends when all have: with the program's
// exit code, 128 + signal, or as shells say it 127 (no such program) and 126 (it cannot be started). It
// outlives the object: closing `in`, as when the agent ends, is how it is told to end.
Result<Program> start_supervised(const SupervisedJob& job);

// What the process above does: takes the job from `in`, and returns what it has to exit with.
int supervise(int in);

}  // namespace railbed
