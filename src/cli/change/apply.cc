// railbed apply: applies a plan to all its nodes or to none.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/wipe.h"
#include "cli/change/applying.h"
#include "cli/command.h"

namespace railbed {

Action declare_apply(CLI::App& app) {
  auto command = std::make_shared<ApplyCommand>();
  add_applying_options(app, *command);
  app.add_flag("--management", command->apply.choice.management,
               "allow changes of the network that this session runs over");
  app.footer(
      "\nShows the plan, asks, and then changes all nodes or none: files and running state are kept first, all\n"
      "nodes switch, each is reached over a fresh connection, the rails are looked at from both ends, and only\n"
      "then it is kept. Whatever fails takes all of them back. A node that cannot be reached any more goes back\n"
      "by itself, after a power cut too. Needs root on the nodes: by ssh, or by sudo (-K asks for its password).\n"
      "Examples:\n"
      "  railbed apply cluster.yaml\n"
      "  railbed apply cluster.yaml gpu[01-08] --only network --canary 1 --yes\n\n"
      "Exit codes: 0 all is as it should be, 1 nothing was changed because you did not agree, 2 it was taken back, or\n"
      "a node did not come back well from its reboot, 3 it could not be begun.");
  return [command] {
    const Applied applied = look_and_apply(*command);
    wipe(command->reach.sudo_password);
    return applied.status;
  };
}

}  // namespace railbed
