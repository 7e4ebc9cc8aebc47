// railbed: from racked to proven, and watched. One row a command; the rest of the program is in the rooms.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "cli/command.h"

namespace railbed {
namespace {

constexpr Command kCommands[] = {
    {"facts", "what this machine is: everything the rules know, as text or JSON", nullptr},
};

}  // namespace

std::span<const Command> all_commands() { return kCommands; }

}  // namespace railbed

int main(int argc, char** argv) {
  using namespace railbed;
  CLI::App app{"railbed takes GPU nodes with an RDMA fabric from racked to proven, and watched."};
  app.set_version_flag("--version", std::string("railbed ") + RAILBED_VERSION);
  app.require_subcommand(1);
  Action action;
  for (const Command& command : all_commands()) {
    if (command.declare == nullptr) continue;
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    sub->final_callback([run = command.declare(*sub), &action] { action = run; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitClean : kExitUsage;
  }
  return action ? action() : kExitUsage;
}
