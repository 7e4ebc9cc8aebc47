// Parses YAML text into a tree of values that know their position, and writes text as YAML. Supports what
// cluster.yaml and netplan need: text, lists and mappings. Anchors and a second document are errors; size and
// depth are bounded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/complaint.h"

namespace railbed {

struct YamlKey {
  std::string text;
  Spot spot;
};

struct YamlValue {
  enum class Kind { kNothing, kText, kList, kMapping };
  Kind kind = Kind::kNothing;
  Spot spot = {};
  std::string text = {};              // for kText
  bool literal = false;               // the file holds the text unchanged, from spot.offset + quote
  std::size_t quote = 0;              // 1 if the text is quoted, else 0
  std::vector<YamlValue> items = {};  // for kList and kMapping
  std::vector<YamlKey> keys = {};     // for kMapping: one per item
};

inline constexpr std::size_t kMaxFileBytes = 4 << 20;  // 20,000 nodes on a line each; ranges take less

// Returns the value of the document; nullopt, with the reasons added to `complaints`, if the text is not
// valid.
std::optional<YamlValue> parse_yaml(std::string_view text, Complaints& complaints);

// Write any text as a scalar between double quotes, and as a comment of one line without a newline. No text
// can end the scalar or the comment early.
std::string yaml_quoted(std::string_view text);
std::string yaml_comment(std::string_view text);

}  // namespace railbed
