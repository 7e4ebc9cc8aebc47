// What NCCL has to be told on a node so that it uses the rails: only what it does not do well by itself. For
// /etc/nccl.conf and for the environment of a job that is launched.
#pragma once

#include <string>
#include <vector>

#include "settings/setting.h"
#include "settings/target.h"

namespace railbed {

struct NcclWish {
  std::string name;   // NCCL_IB_HCA
  std::string value;  // "=mlx5_0:1,mlx5_1:1"
  std::string why;    // a line without "=": NCCL's first releases read a comment with one as a variable
};

struct NcclWishes {
  std::vector<NcclWish> variables;
  std::vector<Need> needs;  // of the node, whoever meets them; all are open where nobody has looked
  std::vector<std::string> notes;
};

// Empty without rails, and on a node without GPUs.
NcclWishes nccl_wishes(const Target& target);

// Whether `value` makes NCCL do the same on this node: lists may name a device with and without its port.
bool means_the_same(const Facts& facts, const NcclWish& wish, const std::string& value);

}  // namespace railbed
