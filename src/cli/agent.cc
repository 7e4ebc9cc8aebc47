// railbed agent: the program that the controller starts on each node. People do not need it.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "apply/keeper.h"
#include "base/result.h"
#include "bench/burn/held_burn.h"
#include "campaign/agent_handlers.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "host/open.h"
#include "nvidia/calls.h"
#include "os/supervisor.h"

namespace railbed {

namespace {

// Modes that a node starts by itself: during a change (apply/keeper.h), during a burn-in (bench/burn/held_burn.h), and
// as the supervisor of a user's program.
struct AgentAlone {
  std::string burn;
  std::string keep;
  std::string recover;
  bool booting = false;
  bool supervise = false;
};

int keep_alone(const AgentAlone& alone) {
  WritableHost host;
  if (!alone.keep.empty()) {
    const auto kept = keep_apply(host, alone.keep);
    return kept ? kExitClean : report(kept.error());
  }
  const auto back =
      recover_applies(host, alone.recover, {.booting = alone.booting, .overdue = !alone.booting});
  if (!back) return report(back.error());
  for (const std::string& id : *back) fmt::print("{} was taken back\n", id);
  return kExitClean;
}

int hold_burn_alone(const std::string& name) {
  const auto held = hold_burn(name, nvidia_libraries(), open_this_machine(), interrupted());
  // At once, as in serve_agent(): work that hangs in a driver must not lose static objects.
  _exit(held ? kExitClean : report(held.error()));
}

}  // namespace

Action declare_agent(CLI::App& app) {
  auto alone = std::make_shared<AgentAlone>();
  app.add_option("--burn", alone->burn, "hold this burn-in until it ends, or nobody looks any more");
  app.add_option("--keep", alone->keep, "carry out this apply, and take it back if nobody commits it");
  app.add_option("--recover", alone->recover, "take back this apply if it is open still; all: any");
  app.add_flag("--booting", alone->booting, "with --recover: the network is not up yet");
  app.add_flag("--supervise", alone->supervise, "start the program that stdin names, and end it with stdin");
  app.footer(
      "Started by the other commands on each node, through ssh. It reads framed requests on stdin, "
      "answers on\n"
      "stdout, listens on no port and ends when its stdin does. "
      "docs/reference/agent-protocol.md has the frames.");
  return [alone] {
    if (!alone->burn.empty()) return hold_burn_alone(alone->burn);
    if (!alone->keep.empty() || !alone->recover.empty()) return keep_alone(*alone);
    if (alone->supervise) return supervise(STDIN_FILENO);
    if (isatty(STDIN_FILENO) == 1)
      return report(
          {ErrorKind::kBadInput,
           "agent: stdin is a terminal; other commands start agents by themselves, e.g. `railbed verify`"});
    // A signal ends its work in order, as the end of its input does: a measurement may have files to remove.
    const std::size_t still_running = serve_agent(interrupted());
    // At once: a handler that ignored its stop may still run, and must not lose static objects.
    _exit(still_running == 0 ? kExitClean : kExitInternal);
  };
}

}  // namespace railbed
