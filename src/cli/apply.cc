// railbed apply: makes a plan true, on all its nodes or on none.
#include <fmt/format.h>
#include <unistd.h>

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
#include "cli/plan_options.h"
#include "cli/terminal.h"
#include "inventory/load.h"
#include "report/plan_text.h"

namespace railbed {
namespace {

struct ApplyCommand {
  PlanOptionsSaid said;
  ApplyOptionsSaid apply;
  PlanTextOptions text;
  ReachOptions reach;
};

// What is asked for, once more after packages were installed: they bring tools and devices that settings wait
// for.
class Applying {
 public:
  Applying(const ApplyCommand& command, Cluster cluster)
      : command_(command), cluster_(std::move(cluster)), choice_(choice_of(command.apply)) {}

  int run() {
    auto plan = look();
    if (!plan) return report(plan.error());
    if (const auto checked = check_apply(*plan, choice_); !checked) {
      fmt::print(stderr, "{}", shown(*plan));
      return report(checked.error());
    }
    if (!command_.said.json || plan->exit_code() == kExitClean) fmt::print("{}", shown(*plan));
    if (plan->exit_code() == kExitClean) return kExitClean;
    if (!is_agreed(command_.apply, "Make these changes?")) {
      fmt::print("nothing was changed\n");
      return kExitWarnings;
    }
    return make(*std::move(plan));
  }

 private:
  Result<ClusterPlan> look() const {
    return plan_nodes(request_of(command_.said), command_.reach, terminal_caller());
  }
  std::string shown(const ClusterPlan& plan) const {
    if (command_.said.json) return json::dump_pretty(json::encode(plan));
    PlanTextOptions text = command_.text;
    text.colour = use_colour(STDOUT_FILENO);
    return plan_text(plan, text);
  }
  static bool has_changes(const ClusterPlan& plan) {
    return std::ranges::any_of(plan.nodes, [](const NodePlan& node) {
      return std::ranges::any_of(node.changes, [](const NodeChange& one) { return one.held.empty(); });
    });
  }

  int make(ClusterPlan plan) {
    const auto is_package = [](const NodeChange& one) { return one.section == Section::kPackages; };
    const ClusterPlan packages = part_of(plan, is_package);
    if (has_changes(packages)) {
      if (const int status = make_part(packages); status != kExitClean) return status;
      auto again = look();
      if (!again) return report(again.error());
      plan = part_of(*again, [&](const NodeChange& one) { return !is_package(one); });
      if (const auto checked = check_apply(plan, choice_); !checked) return report(checked.error());
    }
    return has_changes(plan) ? make_part(plan) : kExitClean;
  }

  int make_part(const ClusterPlan& plan) const {
    const ApplyOutcome outcome = apply_plan(cluster_, plan, choice_, command_.reach, terminal_caller());
    return print_outcome(outcome, command_.said.json);
  }

  const ApplyCommand& command_;
  const Cluster cluster_;
  const ApplyChoice choice_;
};

int run_apply(ApplyCommand& command) {
  auto cluster = load_cluster(command.said.request.sources.cluster);
  if (!cluster) return report(cluster.error());
  const int status = Applying(command, *std::move(cluster)).run();
  wipe(command.reach.sudo_password);
  return status;
}

}  // namespace

Action declare_apply(CLI::App& app) {
  auto command = std::make_shared<ApplyCommand>();
  add_plan_options(app, command->said);
  add_apply_options(app, command->apply);
  app.add_flag("--diff", command->text.diff, "show what changes in each file");
  app.add_flag("--take-over", command->said.request.take_over,
               "overwrite files that a person edited; without it nothing is done while any is held");
  app.add_flag("--skip-held", command->apply.choice.skip_held, "leave out what is held, and do the rest");
  app.add_flag("--management", command->apply.choice.management,
               "allow changes of the network that this session runs over");
  app.add_option("--canary", command->apply.choice.canary,
                 "change so many nodes first, prove and commit them, then the rest")
      ->type_name("N");
  add_fleet_options(app, command->reach);
  add_root_options(app, command->reach);
  app.footer(
      "\nShows the plan, asks, and then changes all nodes or none: files and running state are kept first, all\n"
      "nodes switch, each is reached over a fresh connection, the rails are looked at from both ends, and only\n"
      "then it is kept. Whatever fails takes all of them back. A node that cannot be reached any more goes back\n"
      "by itself, after a power cut too. Needs root on the nodes: by ssh, or by sudo (-K asks for its password).\n"
      "Examples:\n"
      "  railbed apply cluster.yaml\n"
      "  railbed apply cluster.yaml gpu[01-08] --only network --canary 1 --yes\n\n"
      "Exit codes: 0 all is as it shall be, 1 nothing was changed since nobody agreed, 2 it was taken back,\n"
      "3 it could not be begun.");
  return [command] { return run_apply(*command); };
}

}  // namespace railbed
