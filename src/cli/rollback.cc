// railbed rollback: back to what was before an apply. railbed history: the applies that nodes remember.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/json.h"
#include "base/wipe.h"
#include "campaign/apply_nodes.h"
#include "campaign/plan_nodes.h"
#include "cli/apply_options.h"
#include "cli/command.h"
#include "cli/fleet_options.h"
#include "cli/terminal.h"
#include "inventory/load.h"
#include "report/apply_text.h"
#include "report/hostlist.h"

namespace railbed {
namespace {

struct PastCommand {
  std::string cluster;
  std::vector<std::string> nodes;
  std::string id;  // empty: the latest that is committed
  bool json = false;
  ApplyOptionsSaid apply;
  ReachOptions reach;
};

struct Remembered {
  Cluster cluster;
  std::vector<NodeHistory> histories;
};

Result<Remembered> remember(const PastCommand& command) {
  auto cluster = load_cluster(command.cluster);
  if (!cluster) return fail(cluster.error());
  const auto names = chosen_nodes(command.nodes, *cluster);
  if (!names) return fail(names.error());
  Remembered all{*std::move(cluster), {}};
  all.histories =
      read_histories(all.cluster, {names->begin(), names->end()}, command.reach, terminal_caller());
  return all;
}

int run_history(PastCommand& command) {
  const auto all = remember(command);
  wipe(command.reach.sudo_password);
  if (!all) return report(all.error());
  fmt::print("{}",
             command.json ? json::dump_pretty(json::encode(all->histories)) : history_text(all->histories));
  const bool missing =
      std::ranges::any_of(all->histories, [](const auto& one) { return !one.error.empty(); });
  return missing ? kExitCouldNotLook : kExitClean;
}

bool is_committed(const PastApply& one) { return one.state == ApplyState::kCommitted; }

std::string latest_of(const std::vector<NodeHistory>& histories) {
  std::string latest;
  for (const NodeHistory& node : histories)
    for (const PastApply& one : node.applies)
      if (is_committed(one)) latest = std::max(latest, one.id);
  return latest;
}

std::vector<std::string> nodes_with(const std::vector<NodeHistory>& histories, const std::string& id) {
  std::vector<std::string> nodes;
  for (const NodeHistory& node : histories)
    if (std::ranges::any_of(node.applies,
                            [&](const PastApply& one) { return one.id == id && is_committed(one); }))
      nodes.push_back(node.node);
  return nodes;
}

// What goes with it: the settings of that apply and of all that came later on these nodes.
void tell(const Remembered& all, const std::vector<std::string>& nodes, const std::string& id) {
  print_to_stderr("On {} these are taken back:\n", listed_hosts(nodes));
  std::vector<NodeHistory> gone;
  for (NodeHistory node : all.histories) {
    std::erase_if(node.applies, [&](const PastApply& one) { return one.id < id || !is_committed(one); });
    if (!node.applies.empty()) gone.push_back(std::move(node));
  }
  print_to_stderr("{}", history_text(gone));
}

int roll_back_to(const PastCommand& command) {
  const auto all = remember(command);
  if (!all) return report(all.error());
  for (const NodeHistory& node : all->histories)
    if (!node.error.empty())
      return report(
          {ErrorKind::kUnavailable, "nothing was changed, since a node did not answer: " + node.error});
  const std::string id = command.id.empty() ? latest_of(all->histories) : command.id;
  const auto nodes = nodes_with(all->histories, id);
  if (nodes.empty())
    return report({ErrorKind::kBadInput,
                   id.empty() ? "nothing was applied on these nodes"
                              : "no node has a committed apply " + id + "; `railbed history` lists them"});
  tell(*all, nodes, id);
  if (!is_agreed(command.apply, "Take them back?")) {
    fmt::print("nothing was changed\n");
    return kExitWarnings;
  }
  const ApplyOutcome outcome =
      roll_back(all->cluster, id, nodes, choice_of(command.apply), command.reach, terminal_caller());
  return print_outcome(outcome, command.json);
}

int run_rollback(PastCommand& command) {
  const int status = roll_back_to(command);
  wipe(command.reach.sudo_password);
  return status;
}

void add_past_options(CLI::App& app, PastCommand& command) {
  app.add_option("cluster", command.cluster, "the cluster")->required()->type_name("CLUSTER.YAML");
  app.add_option("--nodes", command.nodes, "these nodes alone: names and ranges, gpu[01-08]")
      ->type_name("NODE");
  app.add_flag("--json", command.json, "as JSON");
  add_fleet_options(app, command.reach);
  add_root_options(app, command.reach);
}

}  // namespace

Action declare_history(CLI::App& app) {
  auto command = std::make_shared<PastCommand>();
  add_past_options(app, *command);
  app.footer("\nEach node remembers its last twenty applies, with all that takes them back.");
  return [command] { return run_history(*command); };
}

Action declare_rollback(CLI::App& app) {
  auto command = std::make_shared<PastCommand>();
  command->apply.unproven = true;
  add_past_options(app, *command);
  app.add_option("apply", command->id, "take back this apply and all that came after it; else the latest")
      ->type_name("ID");
  app.add_flag("--yes,-y", command->apply.yes, "do not ask before it begins");
  app.footer(
      "\nFiles come back with their content, mode and owner; what was not there is removed; units, sysctls, addresses and\n"
      "MTUs become what they were. It is a change like any other: kept first, looked at over fresh connections,\n"
      "and taken back itself where something fails. Installed packages stay. Examples:\n"
      "  railbed history cluster.yaml\n"
      "  railbed rollback cluster.yaml\n\n"
      "Exit codes: 0 done, 1 you did not agree, 2 it was taken back, 3 it could not be begun.");
  return [command] { return run_rollback(*command); };
}

}  // namespace railbed
