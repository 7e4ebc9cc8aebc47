// Nodes rebooted one after the other, so that a change which breaks the boot costs one node and not all.
// Where Slurm has the node its jobs end first; after the boot the node is looked at, and the next one's turn
// comes only where all is as it shall be.
#pragma once

#include <string>
#include <vector>

#include "apply/outcome.h"
#include "base/fields.h"
#include "campaign/caller.h"
#include "campaign/plan_nodes.h"
#include "campaign/reach.h"
#include "inventory/cluster.h"

namespace railbed {

struct RebootChoice {
  std::string who = {};      // "alice@head"
  int seconds = 1200;        // until the node answers again: servers with much memory test it for minutes
  int drain_seconds = 3600;  // until Slurm's jobs have ended
};

// What Slurm has to do with a node; asked and told by its agent, as root.
struct SlurmAnswer {
  bool member = false;  // slurmd runs there
  bool drained = false;
  bool ours = false;  // drained for a reboot, by railbed
  bool busy = false;
  FIELDS(SlurmAnswer, member, drained, ours, busy);
};
struct SlurmDrainAsked {
  std::string who = {};
  FIELDS(SlurmDrainAsked, who);
};
Handlers slurm_handlers();

// `request`: what the nodes shall be. In the order given.
RebootOutcome reboot_nodes(const Cluster& cluster, const PlanRequest& request,
                           const std::vector<std::string>& nodes, const RebootChoice& choice,
                           ReachOptions reach, const Caller& caller);

}  // namespace railbed
