#include "settings/known_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/text.h"

namespace railbed {
namespace {

using KnownLines = std::vector<const KnownHost*>;

// Groups lines by name in lower case: ssh looks names up in lower case, and treats those in known_hosts in
// the same way (OpenSSH's hostfile.c).
std::unordered_map<std::string, KnownLines> lines_by_name(const std::vector<KnownHost>& hosts) {
  std::unordered_map<std::string, KnownLines> lines;
  for (const KnownHost& host : hosts)
    for (const std::string& name : host.names) lines[lower(name)].push_back(&host);
  return lines;
}

bool is_known(const KnownLines& lines, const PublicKey& key) {
  return std::ranges::any_of(lines, [&](const KnownHost* line) { return line->key == key; });
}

// Returns the line that contradicts these keys: a different key of the same type, or a key of any type if
// none of these keys is known. Null if there is none.
const KnownHost* contradiction_of(const KnownLines& lines, const std::vector<PublicKey>& keys) {
  const bool acquainted =
      std::ranges::any_of(keys, [&](const PublicKey& key) { return is_known(lines, key); });
  for (const KnownHost* line : lines) {
    const auto same = std::ranges::find(keys, line->key.type, &PublicKey::type);
    if (same == keys.end() ? !acquainted : !is_known(lines, *same)) return line;
  }
  return nullptr;
}

std::string told(std::string_view node, const std::vector<PublicKey>& keys, const KnownHost& line) {
  const auto same = std::ranges::find(keys, line.key.type, &PublicKey::type);
  const PublicKey& now = same == keys.end() ? keys.front() : *same;
  return fmt::format("{} has the host key {} and not {}, which is known of it", node, fingerprint_of(now),
                     fingerprint_of(line.key));
}

void add_line(std::string_view node, const PublicKey& key, std::string& lines) {
  lines += fmt::format("{} {}\n", node, key.to_text());
}

// Keeps the lines that railbed wrote earlier about the node; returns false if there are none.
bool keep_lines(std::string_view node, const KnownLines& known, std::string& lines) {
  bool kept = false;
  for (const KnownHost* line : known)
    if (line->railbed) {
      add_line(node, line->key, lines);
      kept = true;
    }
  return kept;
}

}  // namespace

KnownHostsWish known_hosts_for(const Target& target) {
  const auto known = lines_by_name(items(target.facts().system.ssh.known_hosts));
  KnownHostsWish wish;
  for (const HostKeysOf& of : target.wide.host_keys) {
    static const KnownLines kNone;
    const auto found = known.find(lower(of.node));
    const KnownLines& lines = found == known.end() ? kNone : found->second;
    if (of.keys.empty()) {
      wish.unread.emplace_back(of.node);
      wish.known += keep_lines(of.node, lines, wish.lines);
      continue;
    }
    ++wish.known;
    bool stranger = false;
    for (std::size_t i = 0; i < of.worth_telling; ++i) {
      add_line(of.node, of.keys[i], wish.lines);
      stranger = stranger || !is_known(lines, of.keys[i]);
    }
    if (stranger) wish.strangers.emplace_back(of.node);
    if (const KnownHost* line = contradiction_of(lines, of.keys))
      wish.changed.push_back(told(of.node, of.keys, *line));
  }
  return wish;
}

}  // namespace railbed
