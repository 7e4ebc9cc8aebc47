#include "cli/plan/planning_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "base/wording.h"

namespace railbed {

std::shared_ptr<Action> add_predict_subcommands(CLI::App& app) {
  auto chosen = std::make_shared<Action>();
  const auto add = [&](const char* name, const char* summary, Action (*declare)(CLI::App&)) {
    CLI::App* command = app.add_subcommand(name, summary);
    command->callback([chosen, action = declare(*command)] { *chosen = action; });
  };
  add("experts", "what a layer with experts (MoE) exchanges: dispatch and combine", declare_predict_experts);
  add("goodput", "what failures and checkpoints leave of a long training run, and what it costs",
      declare_predict_goodput);
  add("latency", "where a message's time goes, beside what was measured", declare_predict_latency);
  add("network", "what flows get on a topology, and what a broken part costs", declare_predict_network);
  add("train", "a training step, the network it needs, checkpoints, how many nodes pay",
      declare_predict_train);
  return chosen;
}

Result<BitRate> rate_option(const std::string& option, const std::string& text) {
  const auto rate = parse_bit_rate(text);
  if (!rate || !(rate->bits_per_second > 0))
    return fail(ErrorKind::kBadInput,
                fmt::format("{} {}: write a speed with its unit, as 100G or \"40 Gb/s\"{}", option,
                            printable(text), did_you_mean_rate(text)));
  return *rate;
}

}  // namespace railbed
