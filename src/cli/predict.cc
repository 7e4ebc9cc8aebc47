// railbed predict: what a cluster would give, by arithmetic alone.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/planning_commands.h"

namespace railbed {

Action declare_predict(CLI::App& app) {
  auto chosen = std::make_shared<Action>();
  const auto add = [&](const char* name, const char* summary, Action (*declare)(CLI::App&)) {
    CLI::App* command = app.add_subcommand(name, summary);
    command->callback([chosen, action = declare(*command)] { *chosen = action; });
  };
  add("latency", "where a message's time goes, beside what was measured", declare_predict_latency);
  add("network", "what flows get on a topology, and what a broken part costs", declare_predict_network);
  add("train", "a training step, the network it needs, checkpoints, how many nodes pay",
      declare_predict_train);
  app.require_subcommand(1);
  app.footer("\nrailbed predict train --help shows its options.");
  return [chosen] { return (*chosen)(); };
}

}  // namespace railbed
