// railbed plan: the changes that apply would make on each node, and why.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "campaign/change/plan_nodes.h"
#include "cli/change/plan_options.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/terminal.h"
#include "report/text/plan_text.h"

namespace railbed {
namespace {

struct PlanCommand {
  PlanOptionsSaid said;
  PlanTextOptions text;
  ReachOptions reach;
};

int run_plan(const PlanCommand& command) {
  const auto plan = plan_nodes(request_of(command.said), command.reach, terminal_caller());
  if (!plan) return report(plan.error());
  PlanTextOptions text = command.text;
  text.colour = use_colour(STDOUT_FILENO);
  print_result(command.said.json ? document_text(kPlanDocument, *plan) : plan_text(*plan, text));
  return plan->exit_code();
}

}  // namespace

Action declare_plan(CLI::App& app) {
  auto command = std::make_shared<PlanCommand>();
  add_plan_options(app, command->said);
  app.add_option("--root", command->said.request.sources.root,
                 "plan for captured machines instead: a folder like /, a .tree file, or a folder of them");
  app.add_flag("--fix", command->said.request.fix,
               "only what answers a finding of `railbed verify`: what `railbed fix` would do");
  app.add_flag("--diff", command->text.diff, "show what changes in each file");
  app.add_flag("--all", command->text.all, "list what is already as it shall be, too");
  app.add_flag("--take-over", command->said.request.take_over,
               "overwrite files that a person edited; without it their changes are held");
  app.add_flag(
      "--as-root", command->reach.as_root,
      "look as root, by sudo where ssh logs in as another user: what only root may read is no longer held");
  add_fleet_options(app, command->reach);
  app.footer(
      "\nNothing is changed on any node. A setting that is met now and after the next boot is left alone, whoever\n"
      "saw to that. What is not readable for the ssh user is held: --as-root sees all. Examples:\n"
      "  railbed plan cluster.yaml\n"
      "  railbed plan cluster.yaml gpu[01-08] --only network --diff\n\n"
      "Exit codes: 0 nothing to do, 1 changes, 3 a node could not be planned.");
  return [command] { return run_plan(*command); };
}

}  // namespace railbed
