// A command is one row: the group under which `railbed --help` lists it, its name, one-line help, and a function that
// declares its options and returns its action.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace railbed {

// Runs after parsing; returns the exit code (base/result.h).
using Action = std::function<int()>;

struct Command {
  std::string_view group;
  std::string_view name;
  std::string_view summary;
  // Declares options on `app`, bound to state that the returned action owns.
  Action (*declare)(CLI::App& app);
};

Action declare_advise(CLI::App& app);
Action declare_agent(CLI::App& app);
Action declare_apply(CLI::App& app);
Action declare_autoinstall(CLI::App& app);
Action declare_bench(CLI::App& app);
Action declare_bmc(CLI::App& app);
Action declare_boot(CLI::App& app);
Action declare_burn(CLI::App& app);
Action declare_capture(CLI::App& app);
Action declare_check(CLI::App& app);
Action declare_compare(CLI::App& app);
Action declare_completion(CLI::App& app);
Action declare_console(CLI::App& app);
Action declare_events(CLI::App& app);
Action declare_explain(CLI::App& app);
Action declare_fabric(CLI::App& app);
Action declare_facts(CLI::App& app);
Action declare_fix(CLI::App& app);
Action declare_history(CLI::App& app);
Action declare_hostkeys(CLI::App& app);
Action declare_identify(CLI::App& app);
Action declare_init(CLI::App& app);
Action declare_job(CLI::App& app);
Action declare_launch(CLI::App& app);
Action declare_monitor(CLI::App& app);
Action declare_watch(CLI::App& app);
Action declare_top(CLI::App& app);
Action declare_nccl(CLI::App& app);
Action declare_plan(CLI::App& app);
Action declare_power(CLI::App& app);
Action declare_predict(CLI::App& app);
Action declare_prove(CLI::App& app);
Action declare_render(CLI::App& app);
Action declare_report(CLI::App& app);
Action declare_rollback(CLI::App& app);
Action declare_rules(CLI::App& app);
Action declare_runs(CLI::App& app);
Action declare_schema(CLI::App& app);
Action declare_sel(CLI::App& app);
Action declare_self_check(CLI::App& app);
Action declare_sensors(CLI::App& app);
Action declare_tour(CLI::App& app);
Action declare_verify(CLI::App& app);

// All commands, in the order `railbed --help` lists them (cli/commands.cc).
std::span<const Command> all_commands();

}  // namespace railbed
