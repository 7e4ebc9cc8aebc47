// Subcommands of `railbed advise` and `railbed predict` with a file each.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "cli/command.h"

namespace railbed {

Action declare_advise_gpus(CLI::App& app);
Action declare_advise_rails(CLI::App& app);
Action declare_advise_switch(CLI::App& app);
Action declare_advise_upgrades(CLI::App& app);

Action declare_predict_experts(CLI::App& app);
Action declare_predict_goodput(CLI::App& app);
Action declare_predict_latency(CLI::App& app);
Action declare_predict_network(CLI::App& app);
Action declare_predict_train(CLI::App& app);

// Adds the last five as subcommands. The result holds the action of the one that was typed; it is empty if
// none was.
std::shared_ptr<Action> add_predict_subcommands(CLI::App& app);

// Parses an option's value as a speed: "100G", "40 Gb/s". An error names the option.
Result<BitRate> rate_option(const std::string& option, const std::string& text);

}  // namespace railbed
