// NCCL's variables that make it use the rails on a node: only those that NCCL does not choose well by itself.
// Used for /etc/nccl.conf and for the environment of a job that is launched.
#pragma once

#include <string>
#include <vector>

#include "settings/setting.h"
#include "settings/target.h"

namespace railbed {

// One variable with its reason.
struct NcclWish {
  std::string name;   // NCCL_IB_HCA
  std::string value;  // "=mlx5_0:1,mlx5_1:1"
  std::string why;    // a line without "=": NCCL's first releases parse a comment with "=" as a variable
};

// The variables for a node, and what they are to achieve.
struct NcclWishes {
  std::vector<NcclWish> variables;
  std::vector<Need> needs;  // of the node, however they are met; all are open if the node has no facts
  std::vector<std::string> notes;
};

// Returns no variables without rails, and on a node that is known to have no GPUs.
NcclWishes nccl_wishes(const Target& target);

// Returns true if `value` has the same effect on this node: lists may name a device with and without its
// port.
bool means_the_same(const Facts& facts, const NcclWish& wish, const std::string& value);

}  // namespace railbed
