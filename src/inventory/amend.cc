#include "inventory/amend.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/yaml.h"
#include "inventory/load.h"

namespace railbed {
namespace {

constexpr std::string_view kSpace = " \t";

// The place of the top level's `expect:` in the text.
struct Place {
  std::size_t key = 0;    // offset of the key
  std::size_t value = 0;  // offset of its value
  std::set<std::string> keys;
};

// Returns the place of the top level's `expect:`, if it is a mapping.
std::optional<Place> find_expect(const YamlValue& root) {
  for (std::size_t i = 0; i < root.keys.size(); ++i) {
    if (root.keys[i].text != "expect" || root.items[i].kind != YamlValue::Kind::kMapping) continue;
    Place place{root.keys[i].spot.offset, root.items[i].spot.offset, {}};
    for (const YamlKey& key : root.items[i].keys) place.keys.insert(key.text);
    return place;
  }
  return std::nullopt;
}

std::size_t line_end(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end + 1;
}

// Returns the offset of the brace that ends the flow mapping at `open`.
std::optional<std::size_t> closing_brace(std::string_view text, std::size_t open) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (quote == '"' && c == '\\')
        ++i;
      else if (c == quote)
        quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#' && i > 0 && kSpace.find(text[i - 1]) != std::string_view::npos) {
      i = line_end(text, i) - 1;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return i;
    }
  }
  return std::nullopt;
}

// Adds to a flow mapping `{gpus: 8}`: ", driver: …" before the brace, and the comment on a line above.
std::optional<std::string> into_flow(std::string_view text, const Place& place, const std::string& comment,
                                     const std::vector<std::string>& added) {
  const auto brace = closing_brace(text, place.value);
  if (!brace) return std::nullopt;
  std::size_t last = *brace;
  while (last > place.value && std::string_view(" \t\r\n").find(text[last - 1]) != std::string_view::npos)
    --last;
  const bool separated = place.keys.empty() || text[last - 1] == ',';
  std::string joined = fmt::format("{}{}", separated ? "" : ", ", fmt::join(added, ", "));
  if (text[last - 1] == ',') joined.insert(0, " ");
  return std::string(text.substr(0, place.key)) + comment +
         std::string(text.substr(place.key, last - place.key)) + joined + std::string(text.substr(last));
}

// Adds below the last line of a block mapping, with the indentation of its first line.
std::string into_block(std::string_view text, const Place& place, const std::string& comment,
                       const std::vector<std::string>& added) {
  std::size_t first = place.value;
  while (first > 0 && text[first - 1] != '\n') --first;
  const std::string indent(text.substr(first, place.value - first));
  std::size_t end = line_end(text, place.value);
  for (std::size_t at = end; at < text.size(); at = line_end(text, at)) {
    const std::string_view line = text.substr(at, line_end(text, at) - at);
    if (trim(line).empty()) continue;  // blank lines belong to the block only if it continues below them
    if (!line.starts_with(indent)) break;
    end = line_end(text, at);
  }
  std::string block = end > 0 && text[end - 1] != '\n' ? "\n" : "";
  block += indent + comment;
  for (const std::string& one : added) block += indent + one + "\n";
  return std::string(text.substr(0, end)) + block + std::string(text.substr(end));
}

// Adds `expect:` above the nodes of a file without it.
std::optional<std::string> as_new(std::string_view text, const YamlValue& root, const std::string& comment,
                                  const std::vector<std::string>& added) {
  const auto nodes = std::ranges::find(root.keys, "nodes", &YamlKey::text);
  if (nodes == root.keys.end()) return std::nullopt;
  const std::size_t at = nodes->spot.offset;
  if (at > 0 && text[at - 1] != '\n') return std::nullopt;
  std::string block = comment + "expect:\n";
  for (const std::string& one : added) block += "  " + one + "\n";
  return std::string(text.substr(0, at)) + block + "\n" + std::string(text.substr(at));
}

// Returns true if both clusters differ in their expectations only.
bool only_adds(const Cluster& before, const Cluster& after) {
  if (before.nodes.size() != after.nodes.size()) return false;
  Cluster same = after;
  for (std::size_t i = 0; i < before.nodes.size(); ++i) same.nodes[i].expect = before.nodes[i].expect;
  return write_cluster(same) == write_cluster(before);
}

}  // namespace

// The text is edited at the offsets that the YAML reader reports, because rendering it again would lose
// comments and layout. The edited text is then parsed, and the edit is only accepted if the cluster differs
// in its expectations alone.
Result<Amended> add_expectations(std::string_view text, std::string_view file, const Expectations& expect,
                                 std::string_view comment) {
  const auto before = parse_cluster(text, file);
  if (!before) return fail(before.error());
  Complaints complaints(text, file);
  const auto root = parse_yaml(text, complaints);
  if (!root) return fail(ErrorKind::kBadInput, fmt::format("{} cannot be read", file));
  const auto place = find_expect(*root);
  Amended amended{std::string(text), {}, {}};
  const auto defaults = settings_of({});
  for (const auto& [key, value] : settings_of(expect))
    if (std::ranges::find(defaults, std::pair{key, value}) != defaults.end())
      continue;
    else if (place && place->keys.contains(std::string(key)))
      amended.kept.emplace_back(key);
    else
      amended.added.push_back(fmt::format("{}: {}", key, value));
  if (amended.added.empty()) return amended;
  const std::string line = yaml_comment(comment) + "\n";
  std::optional<std::string> changed;
  if (!place)
    changed = as_new(text, *root, line, amended.added);
  else if (place->value < text.size() && text[place->value] == '{')
    changed = into_flow(text, *place, line, amended.added);
  else
    changed = into_block(text, *place, line, amended.added);
  const auto after = changed ? parse_cluster(*changed, file) : before;
  if (!changed || !after || !only_adds(*before, *after))
    return fail(ErrorKind::kBadInput, fmt::format("{} is written so that nothing can be added to it safely; "
                                                  "add below its top level's \"expect:\" yourself: {}",
                                                  file, fmt::join(amended.added, ", ")));
  amended.text = std::move(*changed);
  return amended;
}

}  // namespace railbed
