// railbed agent: what the controller starts on each node. People have no need of it.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "campaign/agent_handlers.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace railbed {

Action declare_agent(CLI::App& app) {
  app.footer(
      "Started by the other commands on each node, through ssh. It reads framed requests on stdin, "
      "answers on\n"
      "stdout, listens on no port and ends when its stdin does. "
      "docs/reference/agent-protocol.md has the frames.");
  return [] {
    if (isatty(STDIN_FILENO) == 1)
      return report(
          {ErrorKind::kBadInput,
           "agent: stdin is a terminal; other commands start agents by themselves, e.g. `railbed verify`"});
    // At once: a handler that did not heed its stop may still run, and static objects must not go under it.
    _exit(serve_agent() == 0 ? kExitClean : kExitInternal);
  };
}

}  // namespace railbed
