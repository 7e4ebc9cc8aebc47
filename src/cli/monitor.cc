// railbed monitor: nodes that are watched.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/result.h"
#include "cli/command.h"
#include "cli/monitor_files.h"

namespace railbed {

Action declare_monitor(CLI::App& app) {
  auto chosen = std::make_shared<Action>();
  add_monitor_files(app, chosen);
  app.require_subcommand(1);
  return [chosen] { return *chosen ? (*chosen)() : kExitUsage; };
}

}  // namespace railbed
