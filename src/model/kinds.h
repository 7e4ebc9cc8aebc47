// What a node is made of, in words that can be compared with another node's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/survey.h"

namespace railbed {

// "2 × ConnectX-7, 1 × BlueField-3"; "none".
std::string counted(const std::map<std::string, int>& kinds);
std::string adapters_text(const NodeView& node);

// Memory sizes of nodes that are alike: one within 5 % of an earlier one is told as that one (ours: firmware
// and integrated graphics take unequal shares).
class MemorySizes {
 public:
  std::string text(ByteCount size);

 private:
  std::vector<double> seen_;
};

}  // namespace railbed
