// A burn-in that goes on without its agent. A process of its own on the node holds it, `railbed agent --burn NAME`: it
// belongs to no ssh session, writes the state of the work into a folder every two seconds, and ends with the work, on
// request, or when no agent has looked for as long as the plan allows.
//
// Agents reach it by the folder alone, also after that process has ended or the node has been restarted. The folder
// is /var/tmp/railbed-burn-UID/NAME: on the node itself, because home folders of several nodes may be
// one. Its files:
//
//   plan    the BurnPlan
//   lock    locked (flock) by the process that holds the burn-in
//   state   HeldState, replaced as a whole
//   seen    its time of change is that of the last look
//   end     there is a request to end
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "bench/burn/burn.h"
#include "host/host.h"
#include "nvidia/calls.h"

namespace railbed {

// Starts the process, and returns when the work has begun. After a stop the work ends. Precondition: `plan.keep` is set.
Result<BurnName> start_held_burn(const BurnPlan& plan, const std::stop_token& stop);

// Holds a burn-in: the main function of that process. Returns when the work has ended, also after a stop, which leaves it unfinished.
Result<void> hold_burn(const std::string& name, const NvidiaLibraries& from,
                       const std::shared_ptr<Host>& host, const std::stop_token& stop);

// Returns the last state. If the process ended before the work did, `gone` has the reason. Fails with kBadInput if
// there is no such burn-in.
Result<BurnState> look_at_held_burn(const std::string& name, Host& host);

// Ends the work, removes the folder, and returns the last state. The folder stays if the process does not end within
// 15 s.
Result<BurnState> end_held_burn(const std::string& name, Host& host);

}  // namespace railbed
