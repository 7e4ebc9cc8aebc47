#include "cli/change/applying.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "campaign/change/plan_nodes.h"
#include "cli/document.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "inventory/load.h"
#include "report/text/apply_text.h"
#include "report/text/hostlist.h"

namespace railbed {
namespace {

// One apply, as a sequence: plan the nodes, check the plan, show it, get agreement. Then the packages are
// applied alone and the nodes planned again, because packages bring tools and devices that other settings
// depend on. The rest of that second plan follows. If nodes are to reboot, a third plan names those whose
// changes need it.
class Applying {
 public:
  Applying(const ApplyCommand& command, Cluster cluster)
      : command_(command), cluster_(std::move(cluster)), choice_(choice_of(command.apply)) {}

  Applied run() {
    auto plan = look();
    if (!plan) return {report(plan.error())};
    if (const auto checked = check_apply(*plan, choice_); !checked) {
      print_to_stderr("{}", shown(*plan));
      return {report(checked.error())};
    }
    const bool nothing = plan->exit_code() == kExitClean;
    if (nothing && command_.said.json)
      print_document(kPlanDocument, *plan);
    else if (!command_.said.json)
      fmt::print("{}", shown(*plan));
    if (nothing) return {reboot(*plan)};
    if (!is_agreed(command_.apply, question())) {
      fmt::print("nothing was changed\n");
      return {kExitWarnings};
    }
    Applied applied{make(*std::move(plan)), changed_};
    if (applied.status == kExitClean && reboots()) applied.status = look_and_reboot();
    return applied;
  }

 private:
  Result<ClusterPlan> look() const {
    return plan_nodes(request_of(command_.said), command_.reach, terminal_caller());
  }
  std::string shown(const ClusterPlan& plan) const {
    if (command_.said.json) return document_text(kPlanDocument, plan);
    PlanTextOptions text = command_.text;
    text.colour = use_colour(STDOUT_FILENO);
    return plan_text(plan, text);
  }
  bool reboots() const { return command_.reboot || command_.reboot_all; }
  std::string_view question() const {
    return reboots() ? "Make these changes, and reboot nodes one after the other?" : "Make these changes?";
  }
  static bool has_changes(const ClusterPlan& plan) {
    return std::ranges::any_of(plan.nodes, [](const NodePlan& node) {
      return std::ranges::any_of(node.changes, [](const NodeChange& change) { return change.held.empty(); });
    });
  }

  int make(ClusterPlan plan) {
    const auto is_package = [](const NodeChange& change) { return change.section == Section::kPackages; };
    const ClusterPlan packages = part_of(plan, is_package);
    if (has_changes(packages)) {
      if (const int status = make_part(packages); status != kExitClean) return status;
      auto again = look();
      if (!again) return report(again.error());
      plan = part_of(*again, [&](const NodeChange& change) { return !is_package(change); });
      if (const auto checked = check_apply(plan, choice_); !checked) return report(checked.error());
    }
    return has_changes(plan) ? make_part(plan) : kExitClean;
  }

  int make_part(const ClusterPlan& plan) {
    const ApplyOutcome outcome = apply_plan(cluster_, plan, choice_, command_.reach, terminal_caller());
    changed_ = changed_ || outcome.committed;
    return print_outcome(outcome, command_.said.json);
  }

  int look_and_reboot() const {
    const auto plan = look();
    return plan ? reboot(*plan) : report(plan.error());
  }

  int reboot(const ClusterPlan& plan) const {
    std::vector<std::string> nodes;
    for (const NodePlan& node : plan.nodes)
      if (command_.reboot_all || (command_.reboot && node.wants_reboot)) nodes.push_back(node.node);
    if (nodes.empty()) return kExitClean;
    // Agreement to the changes covers the reboots; without changes it is still missing.
    if (!changed_ &&
        !is_agreed(command_.apply, fmt::format("Reboot {}, one after the other?", listed_hosts(nodes)))) {
      fmt::print("nothing was rebooted\n");
      return kExitWarnings;
    }
    RebootChoice choice = command_.reboots;
    choice.who = choice_.who;
    const RebootOutcome outcome =
        reboot_nodes(cluster_, request_of(command_.said), nodes, choice, command_.reach, terminal_caller());
    print_result(command_.said.json ? document_text(kRebootDocument, outcome) : reboot_text(outcome));
    return outcome.is_complete() ? kExitClean : kExitFailures;
  }

  const ApplyCommand& command_;
  const Cluster cluster_;
  const ApplyChoice choice_;
  bool changed_ = false;
};

}  // namespace

void add_applying_options(CLI::App& app, ApplyCommand& command) {
  add_plan_options(app, command.said);
  app.get_option("cluster.yaml")->required();
  add_apply_options(app, command.apply);
  app.add_flag("--diff", command.text.diff, "show what changes in each file");
  app.add_flag("--take-over", command.said.request.take_over,
               "overwrite files that a person edited; without it nothing is done while any is held");
  app.add_flag("--skip-held", command.apply.choice.skip_held, "leave out what is held, and do the rest");
  app.add_option("--canary", command.apply.choice.canary,
                 "change so many nodes first, prove and commit them, then the rest")
      ->type_name("N");
  auto* reboot =
      app.add_flag("--reboot", command.reboot,
                   "then reboot the nodes on which a change takes effect only after a boot: one after "
                   "the other, each looked at before the next; jobs of Slurm end first");
  auto* all =
      app.add_flag("--reboot-all", command.reboot_all,
                   "reboot all of these nodes in the same way, whether they need it or not: it proves that "
                   "everything outlives a reboot");
  reboot->excludes(all);
  app.add_option("--reboot-timeout", command.reboots.seconds, "how long a node may take to come back")
      ->check(between(30, 7200))
      ->capture_default_str()
      ->type_name("SECONDS");
  app.add_option("--drain-timeout", command.reboots.drain_seconds,
                 "how long Slurm's jobs may take to end on a node that is to reboot")
      ->check(between(0, 7 * 86400))
      ->capture_default_str()
      ->type_name("SECONDS");
  add_fleet_options(app, command.reach);
  add_root_options(app, command.reach);
}

Applied look_and_apply(const ApplyCommand& command) {
  auto cluster = load_cluster(command.said.request.sources.cluster);
  if (!cluster) return {report(cluster.error())};
  return Applying(command, *std::move(cluster)).run();
}

}  // namespace railbed
