// railbed predict: what a cluster would give, by arithmetic alone.
#include <CLI/CLI.hpp>

#include "cli/planning_commands.h"

namespace railbed {

Action declare_predict(CLI::App& app) {
  const auto chosen = add_predict_subcommands(app);
  app.require_subcommand(1);
  app.footer("\nrailbed predict train --help shows its options.");
  return [chosen] { return (*chosen)(); };
}

}  // namespace railbed
