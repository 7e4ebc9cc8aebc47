// Finds many phrases in one pass over a text.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace railbed {

// A table has, for each pair of bytes, the place of the phrases that begin with it: at most positions of a text no
// phrase can begin, and only the others are compared with the phrases. The phrases must outlive the index.
class Phrases {
 public:
  // Precondition: each phrase has at least two bytes, and there are fewer than 65,535 of them.
  explicit Phrases(std::span<const std::string_view> phrases) {
    for (std::size_t i = 0; i < phrases.size(); ++i) sorted_.push_back({phrases[i], i});
    std::ranges::stable_sort(sorted_, {}, [](const Phrase& phrase) { return pair_at(phrase.text, 0); });
    for (std::size_t i = sorted_.size(); i-- > 0;)
      first_[pair_at(sorted_[i].text, 0)] = static_cast<std::uint16_t>(i + 1);
  }
  explicit Phrases(std::initializer_list<std::string_view> phrases)
      : Phrases(std::span(phrases.begin(), phrases.size())) {}

  // Calls `found` with the index of each phrase in the text, once for each place where it stands.
  template <class Found>
  void visit(std::string_view text, Found found) const {
    walk(text, [&](std::size_t index) { return found(index), false; });
  }

  // Returns whether the text has any of the phrases.
  bool any_in(std::string_view text) const {
    return walk(text, [](std::size_t) { return true; });
  }

 private:
  struct Phrase {
    std::string_view text;
    std::size_t index;
  };
  // Calls `stops` with the index of each phrase in the text until it returns true, and returns whether it did.
  template <class Stops>
  bool walk(std::string_view text, Stops stops) const {
    for (std::size_t at = 0; at + 1 < text.size(); ++at) {
      const std::size_t pair = pair_at(text, at);
      if (first_[pair] == 0) continue;
      for (std::size_t i = first_[pair] - 1u; i < sorted_.size() && pair_at(sorted_[i].text, 0) == pair; ++i)
        if (text.substr(at).starts_with(sorted_[i].text) && stops(sorted_[i].index)) return true;
    }
    return false;
  }
  static std::size_t pair_at(std::string_view text, std::size_t at) {
    return std::size_t{static_cast<unsigned char>(text[at])} << 8 | static_cast<unsigned char>(text[at + 1]);
  }

  std::vector<Phrase> sorted_;                  // by their first two bytes
  std::array<std::uint16_t, 1 << 16> first_{};  // place in sorted_ plus one; 0: none
};

}  // namespace railbed
