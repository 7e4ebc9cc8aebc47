// The words of a command, as no shell has read them.
#pragma once

#include <string>
#include <vector>

namespace railbed {

using Words = std::vector<std::string>;

inline void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

}  // namespace railbed
