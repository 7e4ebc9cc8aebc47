// What a healthy fleet looks like, as expectations to hold it to from now on.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "verify/verify.h"

namespace railbed {

struct Learnt {
  Expectations expect;
  std::size_t nodes = 0;              // learnt from so many
  std::size_t all = 0;                // of so many
  std::vector<std::string> left_out;  // what was not learnt, and of whom not: one line each
};

// Learns from the nodes that answered and have no failure. An error when these are under two thirds of all. A
// property is learnt when two thirds of all nodes have it; those that have another are named.
Result<Learnt> learn(const Evidence& evidence, const Verdict& verdict);

}  // namespace railbed
