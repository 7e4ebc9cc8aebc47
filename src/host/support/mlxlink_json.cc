// mlxlink --json, by example (mstflint, mlxlink_commander.cpp and json11), as it prints it, as jq indents it anew, or a part of
// it that jq picked:
//
//   {
//       "result" :
//       {
//           "output" :
//           {
//               "Operational Info" :
//               {
//                   "State" : "Active",
//               …
//               "Physical Counters and BER Info" :
//               {
//                   "Raw Physical Errors Per Lane" :
//                   {
//                       "values" : [ "3183333", "242074" ]
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "host/support/texts.h"

namespace railbed {
namespace {

// Returns the length of the JSON object with which a text begins; 0 if it does not end.
std::size_t object_length(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && text[i] == '{')
      ++depth;
    else if (!quoted && text[i] == '}' && --depth == 0)
      return i + 1;
  }
  return 0;
}

// Returns a value as mlxlink prints it without --json: a list is parted by commas.
std::string value_text(const json::Value& value) {
  if (value.is_string()) return printable(value.get<std::string>());
  if (value.is_array()) {
    std::vector<std::string> parts;
    for (const json::Value& one : value)
      if (!one.is_structured()) parts.push_back(value_text(one));
    return fmt::format("{}", fmt::join(parts, ","));
  }
  return value.is_structured() ? "" : value.dump();
}

void add_values(const json::Value& section, std::string& lines) {
  for (const auto& [key, value] : section.items()) {
    const bool list = value.is_object() && value.size() == 1 && value.contains("values");
    if (value.is_object() && !list)
      add_values(value, lines);
    else
      lines += fmt::format("{} : {}\n", printable(key), value_text(list ? value["values"] : value));
  }
}

}  // namespace

std::string mlxlink_lines(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    if (text.front() != '{') {
      const auto size = std::min(text.find('\n'), text.size() - 1) + 1;
      plain.append(text.substr(0, size));
      text.remove_prefix(size);
      continue;
    }
    const std::size_t length = object_length(text);
    const auto document = length > 0 ? json::parse(text.substr(0, length)) : Result<json::Value>();
    if (length == 0 || !document || !document->is_object()) return plain.append(text);
    plain += "Operational Info\n----------------\n";
    add_values(*document, plain);
    text.remove_prefix(length);
  }
  return plain;
}

}  // namespace railbed
