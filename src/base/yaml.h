// YAML text → a tree of values that know where they stand. Only what a cluster.yaml and netplan need: text,
// lists and mappings; no anchors, no second document, bounded in size and depth. And text → what stands in
// YAML for it.
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
  std::string text = {};              // of kText
  bool literal = false;               // the text stands in the file as it is, from spot.offset + quote
  std::size_t quote = 0;              // 1 when the text is quoted
  std::vector<YamlValue> items = {};  // of kList and kMapping
  std::vector<YamlKey> keys = {};     // of kMapping: one an item
};

inline constexpr std::size_t kMaxFileBytes = 4 << 20;  // 20,000 nodes on a line each; ranges take less

// Nothing when the text could not be read at all; the complaints then say why.
std::optional<YamlValue> parse_yaml(std::string_view text, Complaints& complaints);

// Any text as a scalar between double quotes, and as a comment of one line, without its newline. Neither can
// say anything else, whatever the text.
std::string yaml_quoted(std::string_view text);
std::string yaml_comment(std::string_view text);

}  // namespace railbed
