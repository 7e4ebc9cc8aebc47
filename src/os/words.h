#pragma once

#include <string>
#include <vector>

namespace railbed {

// Joins words with spaces: a command for people, and the key of its output in a tree.
inline std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += text.empty() ? word : " " + word;
  return text;
}

}  // namespace railbed
