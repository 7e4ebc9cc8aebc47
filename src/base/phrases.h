// Finds many phrases in one pass over a text.
#pragma once

#include <bitset>
#include <cstddef>
#include <map>
#include <span>
#include <string_view>

namespace railbed {

// A table of 65,536 bits has the first two bytes of each phrase: at most positions of a text no phrase can
// begin, and only the others are compared with the phrases. The phrases must outlive the index.
class Phrases {
 public:
  // Precondition: each phrase has at least two bytes.
  explicit Phrases(std::span<const std::string_view> phrases) {
    for (std::size_t i = 0; i < phrases.size(); ++i) {
      begins_.set(pair_at(phrases[i], 0));
      by_pair_.emplace(pair_at(phrases[i], 0), Phrase{phrases[i], i});
    }
  }

  // Calls `found` with the index of each phrase in the text, once for each place where it stands.
  template <class Found>
  void visit(std::string_view text, Found found) const {
    for (std::size_t at = 0; at + 1 < text.size(); ++at) {
      const std::size_t pair = pair_at(text, at);
      if (!begins_[pair]) continue;
      for (auto [here, end] = by_pair_.equal_range(pair); here != end; ++here)
        if (text.substr(at).starts_with(here->second.text)) found(here->second.index);
    }
  }

 private:
  struct Phrase {
    std::string_view text;
    std::size_t index;
  };
  static std::size_t pair_at(std::string_view text, std::size_t at) {
    return std::size_t{static_cast<unsigned char>(text[at])} << 8 | static_cast<unsigned char>(text[at + 1]);
  }

  std::bitset<1 << 16> begins_;
  std::multimap<std::size_t, Phrase> by_pair_;
};

}  // namespace railbed
