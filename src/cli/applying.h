// What `railbed apply` and `railbed fix` do: look, show the plan, ask, make it true, and reboot where that
// was said.
#pragma once

#include "campaign/reboot_nodes.h"
#include "cli/apply_options.h"
#include "cli/fleet_options.h"
#include "cli/plan_options.h"
#include "report/plan_text.h"

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

// The options of both, bound to `command`, which must outlive the parsing.
void add_applying_options(CLI::App& app, ApplyCommand& command);

// The exit code; `changed`: something was committed.
struct Applied {
  int status = 0;
  bool changed = false;
};
Applied look_and_apply(const ApplyCommand& command);

}  // namespace railbed
