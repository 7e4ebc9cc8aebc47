// Reboots nodes one after the other, so that a change that breaks the boot costs one node and not all. If
// Slurm manages the node, its jobs end first. After the boot the node is checked, and the next node follows
// only if all is as it should be.
#pragma once

#include <string>
#include <vector>

#include "apply/outcome.h"
#include "base/fields.h"
#include "campaign/caller.h"
#include "campaign/change/plan_nodes.h"
#include "campaign/reach.h"
#include "inventory/cluster.h"

namespace railbed {

struct RebootChoice {
  std::string who = {};      // "alice@head"
  int seconds = 1200;        // until the node responds again: servers with much memory test it for minutes
  int drain_seconds = 3600;  // until Slurm's jobs have ended
};

// Slurm's state of a node, as its agent reads it with scontrol.
struct SlurmAnswer {
  bool member = false;  // slurmd runs there
  bool drained = false;
  bool ours = false;  // drained by railbed for a reboot
  bool busy = false;
  FIELDS(SlurmAnswer, member, drained, ours, busy);
};
struct SlurmDrainAsked {
  std::string who = {};
  FIELDS(SlurmDrainAsked, who);
};
// Returns the agent's methods "slurm.…". They fail if the agent does not run as root.
Handlers slurm_handlers();

// Reboots `nodes` in the given order and stops at the first that fails. `request` describes the settings that
// a node must have after its reboot.
RebootOutcome reboot_nodes(const Cluster& cluster, const PlanRequest& request,
                           const std::vector<std::string>& nodes, const RebootChoice& choice,
                           ReachOptions reach, const Caller& caller);

}  // namespace railbed
