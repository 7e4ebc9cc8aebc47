// What an interface is like now: asked for after a failure, to explain it.
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
  std::optional<IpAddress> address;  // that it should have
  FIELDS(LinkQuestion, interface, address);
};
struct LinkState {
  std::string trouble;  // "eth1 is down", "eth1 has no carrier"; empty: none seen
  std::string remedy;
  bool remote = false;  // what happens at the other end of the link may be the cause
  FIELDS(LinkState, trouble, remedy, remote);
};

// The agent's side.
Handlers link_handlers(std::shared_ptr<Host> host);

// The controller's side. Puts first what the ends' own interfaces tell now. One that is down, or lost its
// address, is the cause of whatever the engines saw; one that only misses its carrier may do so because the
// other is down.
void blame_links(const std::vector<PairEnd>& ends, Failure& failure, const std::stop_token& stop);

}  // namespace railbed
