// Error counters of a subnet's ports: the output of ibqueryerrors (infiniband-diags), which has those that counted errors,
// and ibdiagnet's file ibdiagnet2.pm, which has all.
#pragma once

#include <string_view>

#include "base/result.h"
#include "fabric/counters.h"
#include "fabric/subnet.h"

namespace railbed {

// Nodes and ports as the output names them, without cables: it states neither which ports exist beside these
// nor what they are cabled to.
struct IbCounterList {
  IbFabric fabric = {};
  IbCounterLook look = {};  // one reading of each port in `fabric`; what the output leaves out is 0
};

// Returns whether a text is such an output, by its first 64 KiB.
bool is_counter_list(std::string_view text);
// Fails (kBadInput) on a text that is none.
Result<IbCounterList> parse_counter_list(std::string_view text, std::string_view file);

// Returns the counters by the nodes and ports of `fabric`, found by their GUIDs; ports of the list that it lacks are left
// out and counted in `unknown`.
IbCounterLook counters_in(const IbFabric& fabric, const IbCounterList& list, std::size_t& unknown);

}  // namespace railbed
