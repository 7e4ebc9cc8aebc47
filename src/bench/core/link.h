// The present state of an interface. After a failure the controller requests it from both ends, to explain
// the failure.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "bench/core/pair.h"
#include "host/host.h"

namespace railbed {

inline constexpr std::string_view kLink = "bench.link";  // LinkQuestion → LinkState

struct LinkQuestion {
  std::string interface;
  std::optional<IpAddress> address;  // the address that the interface should have
  FIELDS(LinkQuestion, interface, address);
};
struct LinkState {
  std::string trouble;  // "eth1 is down", "eth1 has no carrier"; empty: none seen
  std::string remedy;
  bool remote = false;  // the cause may be at the other end of the link
  FIELDS(LinkState, trouble, remedy, remote);
};

// The agent's side: the handler of kLink.
Handlers link_handlers(std::shared_ptr<Host> host);

// The controller's side. Requests the state of each end's interface. If one has a problem, puts it first in
// the failure's cause and replaces the remedy. An interface that is down, or lost its address, is the cause
// of all that the engines saw. An interface that only has no carrier may have lost it because the other one
// is down, so a problem of the first kind is preferred. Does nothing once a stop was requested, or if the
// data was damaged (stage "verify"): no interface explains that.
void blame_links(const std::vector<PairEnd>& ends, Failure& failure, const std::stop_token& stop);

}  // namespace railbed
