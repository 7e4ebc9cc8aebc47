// The words of a command, without a shell's syntax.
#pragma once

#include <string>
#include <vector>

namespace railbed {

using Words = std::vector<std::string>;

inline void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

}  // namespace railbed
