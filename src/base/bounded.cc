#include "base/bounded.h"

#include <algorithm>

namespace railbed {

std::string cut_to(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  // A UTF-8 character has at most four bytes. A longer run of continuation bytes is not UTF-8; cut it
  // anywhere.
  for (int back = 0; back < 3 && bytes > 0 && continues(bytes); ++back) --bytes;
  return std::string(text.substr(0, bytes)) + "…";
}

std::size_t longest_string(std::string_view json) {
  std::size_t longest = 0;
  for (std::size_t at = json.find('"'); at != std::string_view::npos; at = json.find('"', at)) {
    const std::size_t begin = ++at;
    while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? 2 : 1;
    at = std::min(at, json.size());
    longest = std::max(longest, at - begin);
    if (at < json.size()) ++at;
  }
  return longest;
}

}  // namespace railbed
