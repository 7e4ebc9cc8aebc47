#include "fleet/ssh_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace railbed::fleet {
namespace {

constexpr std::size_t kLongestScanned = 253;  // RFC 1035
constexpr std::size_t kMostScanned = 16;      // there are seven kinds

// Returns whether the text is one name or address for ssh-keyscan, which treats a comma as a separator, and a
// slash as a range of addresses.
bool is_one_host(std::string_view host) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:%-";
  return !host.empty() && host.size() <= kLongestScanned && !host.starts_with('-') &&
         host.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::vector<std::string> files_in(std::string_view value) {
  std::vector<std::string> files;
  for (const auto file : words(value))
    if (file != "none" && file != "/dev/null") files.emplace_back(file);
  return files;
}

void take(SshWay& way, std::string_view key, std::string_view value) {
  if (key == "hostname") way.host = lower(value);
  if (key == "port") way.port = parse_number<int>(value).value_or(0);
  if (key == "hostkeyalias") way.alias = lower(value);
  if (key == "proxyjump" && value != "none") way.proxy = "ProxyJump " + std::string(value);
  if (key == "proxycommand" && value != "none") way.proxy = "ProxyCommand " + std::string(value);
  if (key == "userknownhostsfile") way.user_files = files_in(value);
  if (key == "globalknownhostsfile") way.global_files = files_in(value);
  if (key == "hashknownhosts") way.hashed = value == "yes";
  if (key == "stricthostkeychecking") way.unchecked = value == "no" || value == "off" || value == "false";
}

std::string with_port(const std::string& host, int port) {
  return port == 22 ? host : fmt::format("[{}]:{}", host, port);
}

std::optional<PublicKey> key_of(std::string_view type, std::string_view base64) {
  return PublicKey::parse(fmt::format("{} {}", type, base64));
}

}  // namespace

std::string SshWay::known_name() const { return alias.empty() ? with_port(host, port) : alias; }

Result<SshWay> parse_ssh_way(std::string_view text) {
  SshWay way;
  for (const auto line : lines(text)) {
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos) take(way, line.substr(0, space), trim(line.substr(space + 1)));
  }
  if (!is_one_host(way.host) || way.port < 1 || way.port > 65535)
    return fail(ErrorKind::kBadInput, fmt::format("ssh would connect to \"{}\" port {}, which is no host",
                                                  printable(way.host), way.port));
  if (!way.alias.empty() && !is_plain_word(way.alias, kLongestScanned))
    return fail(ErrorKind::kBadInput,
                fmt::format("HostKeyAlias is \"{}\", which is no name", printable(way.alias)));
  return way;
}

Result<std::vector<PublicKey>> parse_scan(std::string_view text, const SshWay& way) {
  const std::string name = with_port(way.host, way.port);
  std::vector<PublicKey> keys;
  for (const auto line : lines(text)) {
    const auto columns = words(line);
    if (columns.empty() || columns[0].starts_with('#')) continue;
    const auto key =
        columns.size() == 3 && lower(columns[0]) == name ? key_of(columns[1], columns[2]) : std::nullopt;
    if (!key || keys.size() == kMostScanned)
      return fail(ErrorKind::kUnavailable, "what answered there gave no sound host key");
    const auto same = std::ranges::find(keys, key->type, &PublicKey::type);
    if (same == keys.end())
      keys.push_back(*key);
    else if (*same != *key)
      return fail(ErrorKind::kUnavailable, "what answered there gave two host keys of one kind");
  }
  return keys;
}

std::vector<FoundKey> parse_found(std::string_view text) {
  std::vector<FoundKey> found;
  for (const auto line : lines(text)) {
    auto columns = words(line);
    if (columns.empty() || columns[0].starts_with('#')) continue;
    const bool revoked = columns[0] == "@revoked";
    if (columns[0].starts_with('@') && !revoked) continue;
    if (revoked) columns.erase(columns.begin());
    if (columns.size() < 3) continue;
    if (auto key = key_of(columns[1], columns[2])) found.push_back({*std::move(key), revoked});
  }
  return found;
}

}  // namespace railbed::fleet
