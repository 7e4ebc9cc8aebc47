#pragma once

#include <string>
#include <vector>

namespace railbed {

// A command as people write it, and the key under which a tree keeps its output.
inline std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += text.empty() ? word : " " + word;
  return text;
}

}  // namespace railbed
