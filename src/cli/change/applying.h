// The work of `railbed apply` and `railbed fix`: read the nodes, show the plan, get agreement, apply it, and
// reboot nodes if that was requested.
#pragma once

#include "campaign/change/reboot_nodes.h"
#include "cli/change/apply_options.h"
#include "cli/change/plan_options.h"
#include "cli/fleet_options.h"
#include "report/text/plan_text.h"

namespace railbed {

struct ApplyCommand {
  PlanOptionsSaid said;
  ApplyOptionsSaid apply;
  PlanTextOptions text;
  RebootChoice reboots;
  bool reboot = false;
  bool reboot_all = false;
  ReachOptions reach;
};

// Adds the options that both share, bound to `command`, which must outlive the parsing.
void add_applying_options(CLI::App& app, ApplyCommand& command);

// The exit code, and whether something was committed.
struct Applied {
  int status = 0;
  bool changed = false;
};
// Does the work and prints its results; errors are printed as well.
Applied look_and_apply(const ApplyCommand& command);

}  // namespace railbed
