// railbed rollback: restores the state before an apply. railbed history: the applies that nodes remember.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>

#include "base/wipe.h"
#include "campaign/change/apply_nodes.h"
#include "campaign/change/plan_nodes.h"
#include "cli/change/apply_options.h"
#include "cli/change/plan_options.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/terminal.h"
#include "inventory/load.h"
#include "report/text/apply_text.h"
#include "report/text/hostlist.h"

namespace railbed {
namespace {

struct PastCommand {
  std::string cluster;
  std::vector<std::string> nodes;
  std::string id;  // empty: the latest committed one
  bool json = false;
  ApplyOptionsSaid apply;
  ReachOptions reach;
};

struct Remembered {
  Cluster cluster;
  std::vector<NodeHistory> histories;
};

constexpr Document<std::vector<NodeHistory>> kHistoryDocument{"railbed-history", 1, "nodes"};

Result<Remembered> remember(const PastCommand& command) {
  ASSIGN_OR_RETURN(auto cluster, load_cluster(command.cluster));
  ASSIGN_OR_RETURN(const auto names, chosen_nodes(command.nodes, cluster));
  Remembered all{std::move(cluster), {}};
  all.histories = read_histories(all.cluster, {names.begin(), names.end()}, command.reach, terminal_caller());
  return all;
}

int run_history(PastCommand& command) {
  const auto all = remember(command);
  wipe(command.reach.sudo_password);
  if (!all) return report(all.error());
  print_result(command.json ? document_text(kHistoryDocument, all->histories) : history_text(all->histories));
  const bool missing =
      std::ranges::any_of(all->histories, [](const auto& one) { return !one.error.empty(); });
  return missing ? kExitCouldNotLook : kExitClean;
}

bool is_committed(const PastApply& apply) { return apply.state == ApplyState::kCommitted; }

// Returns the last committed apply of a node, in the order of the node's own count; empty if it has none.
std::string latest_of(const NodeHistory& node) {
  const auto latest = std::ranges::find_if(node.applies, is_committed);
  return latest == node.applies.end() ? "" : latest->id;
}

// Returns the last apply if it is the same on all nodes. Otherwise this fails, because no node may decide for
// the others: one may have been left out of an apply, or report a false history.
Result<std::string> latest_of_all(const std::vector<NodeHistory>& histories) {
  std::map<std::string, std::vector<std::string>> nodes_of;
  for (const NodeHistory& node : histories) nodes_of[latest_of(node)].push_back(node.node);
  if (nodes_of.size() == 1 && !nodes_of.begin()->first.empty()) return nodes_of.begin()->first;
  if (nodes_of.size() <= 1) return fail(ErrorKind::kBadInput, "nothing was applied on these nodes");
  std::string text = "nothing was changed, since the nodes' last applies differ:";
  for (const auto& [id, nodes] : nodes_of)
    text += fmt::format("\n  {}: {}", listed_hosts(nodes), id.empty() ? "none" : id);
  return fail(ErrorKind::kBadInput,
              text +
                  "\nName the apply that is to be rolled back, or the nodes with --nodes; "
                  "`railbed history` lists what each of them remembers.");
}

std::vector<std::string> nodes_with(const std::vector<NodeHistory>& histories, const std::string& id,
                                    bool with) {
  std::vector<std::string> nodes;
  for (const NodeHistory& node : histories)
    if (with == std::ranges::any_of(node.applies, [&](const PastApply& apply) {
          return apply.id == id && is_committed(apply);
        }))
      nodes.push_back(node.node);
  return nodes;
}

// Prints the settings of that apply and of all later ones on these nodes, since the rollback undoes them too.
void show_rolled_back(const Remembered& all, const std::vector<std::string>& nodes, const std::string& id) {
  print_to_stderr("On {} these are taken back:\n", listed_hosts(nodes));
  std::vector<NodeHistory> gone;
  for (NodeHistory node : all.histories) {
    if (std::ranges::find(nodes, node.node) == nodes.end()) continue;
    const auto last = std::ranges::find(node.applies, id, &PastApply::id);
    node.applies.erase(std::next(last), node.applies.end());
    std::erase_if(node.applies, [](const PastApply& apply) { return !is_committed(apply); });
    gone.push_back(std::move(node));
  }
  print_to_stderr("{}", history_text(gone));
  if (const auto others = nodes_with(all.histories, id, false); !others.empty())
    print_to_stderr("Not touched, since they have no committed apply {}: {}\n", id, listed_hosts(others));
}

// Reads the history of every node first, and changes nothing if one does not respond. Then it selects the
// apply (the named one, or the last if that is the same on all nodes), shows the settings that the rollback
// undoes, gets agreement, and rolls back on the nodes that committed this apply.
int roll_back_to(const PastCommand& command) {
  const auto all = remember(command);
  if (!all) return report(all.error());
  for (const NodeHistory& node : all->histories)
    if (!node.error.empty())
      return report(
          {ErrorKind::kUnavailable, "nothing was changed, since a node did not answer: " + node.error});
  const Result<std::string> id = command.id.empty() ? latest_of_all(all->histories) : command.id;
  if (!id) return report(id.error());
  const auto nodes = nodes_with(all->histories, *id, true);
  if (nodes.empty())
    return report(
        {ErrorKind::kBadInput, "no node has a committed apply " + *id + "; `railbed history` lists them"});
  show_rolled_back(*all, nodes, *id);
  if (!is_agreed(command.apply, "Take them back?")) {
    fmt::print("nothing was changed\n");
    return kExitWarnings;
  }
  const ApplyOutcome outcome =
      roll_back(all->cluster, *id, nodes, choice_of(command.apply), command.reach, terminal_caller());
  return print_outcome(outcome, command.json);
}

int run_rollback(PastCommand& command) {
  const int status = roll_back_to(command);
  wipe(command.reach.sudo_password);
  return status;
}

void add_past_options(CLI::App& app, PastCommand& command) {
  app.add_option("cluster.yaml", command.cluster, "the cluster")->required();
  add_json_flag(app, command.json, "print one JSON document", kHistoryDocument, kApplyDocument);
  add_fleet_options(app, command.reach);
  add_root_options(app, command.reach);
}

}  // namespace

Action declare_history(CLI::App& app) {
  auto command = std::make_shared<PastCommand>();
  add_past_options(app, *command);
  add_nodes_options(app, command->nodes);
  app.footer("\nEach node remembers its last twenty applies, with all that takes them back.");
  return [command] { return run_history(*command); };
}

Action declare_rollback(CLI::App& app) {
  auto command = std::make_shared<PastCommand>();
  command->apply.unproven = true;
  add_past_options(app, *command);
  // One list, so that the ID behind it is none of the nodes.
  app.add_option("--nodes", command->nodes, "these nodes alone: names, or a list like gpu[01-08],nas")
      ->allow_extra_args(false)
      ->type_name("HOSTLIST");
  app.add_option(
         "apply", command->id,
         "take back this apply and all that came after it; else the latest, if it is the same on all nodes")
      ->type_name("ID");
  app.add_flag("--yes,-y", command->apply.yes, "do not ask before it begins");
  app.add_flag(
      "--discard", command->apply.choice.discard,
      "drop what people edited since in files that are rolled back; else the rollback refuses and shows it");
  app.footer(
      "\nFiles come back with their content, mode and owner; what was not there is removed; units, sysctls, addresses and\n"
      "MTUs become what they were. Lines that people added outside of railbed's marks stay; nodes count their applies\n"
      "themselves, whatever the clocks were. It is a change like any other: kept first, looked at over fresh connections,\n"
      "and taken back itself where something fails. Installed packages stay. Examples:\n"
      "  railbed history cluster.yaml\n"
      "  railbed rollback cluster.yaml\n\n"
      "Exit codes: 0 done, 1 you did not agree, 2 it was taken back, 3 it could not be begun.");
  return [command] { return run_rollback(*command); };
}

}  // namespace railbed
