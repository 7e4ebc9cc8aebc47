// Finds the cables between nodes whose fast ports have no address: chooses the ports, sets those that are down up
// for the look if a person agrees, and listens.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/look/look_at_hosts.h"
#include "campaign/reach.h"
#include "model/cables.h"

namespace railbed {

struct CableChoice {
  std::vector<std::string> ports;  // ports_to_ask(); empty: railbed chooses
  bool always = false;             // look even if all ports have addresses
  std::chrono::seconds listen{3};  // at least
  std::string who;                 // "alice@head", for the nodes that change
  // Decides whether ports that are down may be set up for the look. Empty: no.
  std::function<bool(std::string_view question)> may_bring_up = {};
};

// Returns the observations of all ports; none if all ports have addresses, or there are fewer than two nodes.
// Changes nothing for longer than the look: it sets links that it set up down again before it returns, whatever
// happens: by the node itself half a minute after the listening if this process dies (apply/keeper.h).
// Fails if stopped, and if a named port does not exist. Reports what it could not do by caller.note().
Result<CablesSeen> find_cables(const LookedAt& seen, const CableChoice& choice, ReachOptions reach,
                               const Caller& caller);

}  // namespace railbed
