#include "settings/files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/toml.h"
#include "settings/hosts_lines.h"

namespace railbed {
namespace {

constexpr std::string_view kDigestLine = "# sha256 of the lines below: ";

// Offsets of the marked block: the first mark, the lines between the marks, and the text after them.
struct BlockPlace {
  std::size_t outer = 0;
  std::size_t inner = 0;
  std::size_t inner_end = 0;
  std::size_t outer_end = 0;
  std::string_view digest;
};

// Returns the offset of the first line from `from` on that begins with `mark`; npos if there is none.
std::size_t find_line(std::string_view content, std::string_view mark, std::size_t from) {
  std::size_t at = content.find(mark, from);
  while (at != std::string_view::npos && at != 0 && content[at - 1] != '\n') at = content.find(mark, at + 1);
  return at;
}

// Returns nullopt if the second mark is missing: a guess at the block's end could delete another author's
// lines. For the same reason the block begins at the last first mark before the second one.
std::optional<BlockPlace> find_block(std::string_view content) {
  std::size_t begin = find_line(content, kBlockBegin, 0);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = find_line(content, kBlockEnd, begin + 1);
  if (end == std::string_view::npos) return std::nullopt;
  for (std::size_t next = begin; next < end; next = find_line(content, kBlockBegin, next + 1)) begin = next;
  const std::size_t line_end = content.find('\n', begin);
  const std::size_t digest = begin + kBlockBegin.size();
  return BlockPlace{begin, line_end + 1, end, end + kBlockEnd.size(),
                    content.substr(digest, line_end - digest)};
}

Author author_by(std::string_view digest, std::string_view lines) {
  return digest == sha256_hex(lines) ? Author::kRailbed : Author::kEdited;
}

// Returns the block's digest, and caches the last one. The longest block, that of /etc/hosts, is the same on
// every node of a plan, and comparing it takes a fraction of the time of its digest.
std::string digest_of(std::string_view block) {
  thread_local std::string last;
  thread_local std::string digest = sha256_hex(last);
  if (block != last) {
    last = block;
    digest = sha256_hex(last);
  }
  return digest;
}

}  // namespace

std::string seal(std::string_view content) {
  if (!content.starts_with(kFileMark)) return std::string(content);
  const std::string_view below = content.substr(kFileMark.size());
  if (below.starts_with(kDigestLine)) return std::string(content);  // sealed already
  return fmt::format("{}{}{}\n{}", kFileMark, kDigestLine, sha256_hex(below), below);
}

Author author_of(std::string_view content, bool block) {
  if (block) {
    const auto place = find_block(content);
    if (!place) return Author::kRailbed;
    return author_by(place->digest, content.substr(place->inner, place->inner_end - place->inner));
  }
  if (!content.starts_with(kFileMark)) return Author::kOther;
  const std::string_view rest = content.substr(kFileMark.size());
  const std::size_t end = rest.find('\n');
  if (!rest.starts_with(kDigestLine) || end == std::string_view::npos) return Author::kEdited;
  return author_by(rest.substr(kDigestLine.size(), end - kDigestLine.size()), rest.substr(end + 1));
}

std::string with_block(std::string_view content, std::string_view block) {
  std::string marked;
  if (!block.empty()) marked = fmt::format("{}{}\n{}{}", kBlockBegin, digest_of(block), block, kBlockEnd);
  if (const auto place = find_block(content))
    return fmt::format("{}{}{}", content.substr(0, place->outer), marked, content.substr(place->outer_end));
  const bool ends = content.empty() || content.back() == '\n' || marked.empty();
  return fmt::format("{}{}{}", content, ends ? "" : "\n", marked);
}

std::optional<std::string> block_in(std::string_view content) {
  const auto place = find_block(content);
  if (!place) return std::nullopt;
  return std::string(content.substr(place->inner, place->inner_end - place->inner));
}

namespace {

// Members that are objects on both sides are joined; others are replaced. A file that is no JSON object stays as it is:
// whoever wrote it has to mend it first.
void join_members(json::Value& into, const json::Value& from) {
  for (const auto& [name, value] : from.items()) {
    json::Value& member = into[name];
    if (member.is_object() && value.is_object())
      join_members(member, value);
    else
      member = value;
  }
}

}  // namespace

std::string with_members(std::string_view content, std::string_view members) {
  const bool blank = trim(content).empty();
  auto whole = blank ? Result<json::Value>(json::Value::object()) : json::parse(content);
  const auto wanted = json::parse(members);
  if (!whole || !whole->is_object() || !wanted || !wanted->is_object()) return std::string(content);
  const json::Value before = *whole;
  join_members(*whole, *wanted);
  return !blank && *whole == before ? std::string(content) : json::dump_pretty(*whole);
}

namespace {

// Returns true if `now` has a table with settings of `wanted`.
bool shares_a_table(const json::Value& now, const json::Value& wanted) {
  for (const auto& [name, value] : wanted.items()) {
    const auto found = now.find(name);
    if (found == now.end() || !value.is_object()) continue;
    const bool has_settings =
        std::ranges::any_of(value, [](const json::Value& one) { return !one.is_object(); });
    if (!found->is_object() || has_settings || shares_a_table(*found, value)) return true;
  }
  return false;
}

}  // namespace

std::string with_tables(std::string_view content, std::string_view tables) {
  const auto now = parse_toml(content);
  const auto wanted = parse_toml(tables);
  if (!now || !wanted || shares_a_table(*now, *wanted)) return std::string(content);
  const bool ends = content.empty() || content.back() == '\n';
  std::string whole = fmt::format("{}{}{}", content, ends ? "" : "\n", tables);
  // Joined, they are no TOML where a key is there already, or a value has the name of a table.
  return parse_toml(whole) ? whole : std::string(content);
}

std::string aside_name(const std::string& path) { return path + ".railbed-aside~"; }

std::string content_after(const DesiredFile& file, const std::optional<std::string>& now) {
  if (!file.block) return file.content;
  std::string content = now.value_or("");
  if (file.json) return with_members(content, file.content);
  if (file.toml) return with_tables(content, file.content);
  if (const HostsTable* const table = file.hosts.table.get()) {
    const std::string_view whole = content;
    const auto place = find_block(whole).value_or(BlockPlace{whole.size(), 0, 0, whole.size(), {}});
    content = table->corrected(whole.substr(0, place.outer), file.hosts.node) +
              std::string(whole.substr(place.outer, place.outer_end - place.outer)) +
              table->corrected(whole.substr(place.outer_end), file.hosts.node);
  }
  return with_block(content, file.content);
}

}  // namespace railbed
