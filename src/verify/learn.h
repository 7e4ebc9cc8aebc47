// Derives expectations from a healthy fleet, so that later runs can check nodes against them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "verify/verify.h"

namespace railbed {

struct Learnt {
  Expectations expect;
  std::size_t nodes = 0;              // number of nodes that were used
  std::size_t all = 0;                // number of all nodes, unreachable ones included
  std::vector<std::string> left_out;  // one line for each property or node that was left out, with the reason
};

// Learns from the nodes that have facts and no failure. Fails with kUnavailable if they are fewer than two
// thirds of all nodes. A property is learned if two thirds of all nodes have the same value; nodes with
// another value are listed in left_out.
Result<Learnt> learn(const Evidence& evidence, const Verdict& verdict);

}  // namespace railbed
