// Outputs of infiniband-diags about single ports: perfquery, ibportstate, smpquery portinfo and smpquery nodeinfo, any
// number of them one after another, prompts between them or not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fabric/counters.h"
#include "fabric/subnet.h"

namespace railbed {

struct IbPortReport {
  std::string from = {};  // the file
  IbFabric fabric = {};   // nodes by LID or path, with the ports that are named; a cable where the peer is
  std::vector<unsigned> lids = {};  // of each node; 0: a path names it
  IbCounterLook look = {};          // each port whose error counters are printed, once for each set of errors
  std::vector<IbEnd> disabled = {};      // ports whose PhysLinkState is Disabled
  std::vector<IbEnd> polling = {};       // that look for a peer and have none
  std::vector<IbEnd> sums = {};          // blocks about all ports of a node together, for which no limit is
  std::vector<IbEnd> traffic_only = {};  // perfquery -x of a device that counts errors in 32 bits alone
  std::vector<IbEnd> differing = {};     // printed again with other values, which a node of its own has
  std::vector<IbEnd> passing = {};  // active before they were set, and on their way back, which is no state
  std::string summary() const;      // one line: what it holds, and what of it is not judged
};

// Returns whether a text has such a block, by its first 64 KiB.
bool is_port_report(std::string_view text);
// Fails (kBadInput) on a text that is none.
Result<IbPortReport> parse_port_report(std::string_view text, std::string_view file);

// Returns all that the reports have. A LID or a path of two files may be two nodes, and stays two, which are named with
// their files.
IbPortReport joined(std::vector<IbPortReport> reports);

// Returns the counters by the nodes and ports of `fabric`, found by their LIDs; ports that it lacks are left out and
// counted in `unknown`.
IbCounterLook counters_in(const IbFabric& fabric, const IbPortReport& report, std::size_t& unknown);

}  // namespace railbed
