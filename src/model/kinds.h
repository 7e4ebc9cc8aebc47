// The components of a node as text that can be compared with another node's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/survey.h"

namespace railbed {

// Returns "2 × ConnectX-7, 1 × BlueField-3", or "none".
std::string counted(const std::map<std::string, int>& kinds);
std::string adapters_text(const NodeView& node);

// Texts for memory sizes that are equal for similar nodes: a size within 5 % of an earlier one gets the text
// of that one (our value: firmware and integrated graphics reserve different shares).
class MemorySizes {
 public:
  std::string text(ByteCount size);

 private:
  std::vector<double> seen_;
};

}  // namespace railbed
