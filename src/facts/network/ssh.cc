#include "facts/network/ssh.h"

#include <algorithm>

#include "facts/readings.h"
#include "host/host.h"

namespace railbed {
namespace {

const std::string kSshdConfig = "/etc/ssh/sshd_config";
const std::string kSshdFolder = "/etc/ssh/sshd_config.d";
const std::string kKnownHosts = "/etc/ssh/ssh_known_hosts";
constexpr std::size_t kLargestConfig = 256 << 10;
constexpr std::size_t kLargestKnownHosts = 2 << 20;
constexpr std::size_t kLargestKeyFile = 16 << 10;
constexpr std::size_t kMostHostKeys = 16;
constexpr std::size_t kMostKnownHosts = 16384;
constexpr std::size_t kMostKnownNames = 64;
constexpr std::size_t kLongestKeyPath = 255;

// sshd_config(5): the default host keys of sshd.
const std::vector<std::string> kDefaultKeys = {"/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_ecdsa_key",
                                               "/etc/ssh/ssh_host_rsa_key"};

// Returns the value of "Keyword value", "Keyword=value" or "Keyword "value""; empty for another line.
std::string_view sshd_value(std::string_view line, std::string_view keyword) {
  line = trim(line);
  const std::size_t end = line.find_first_of(" \t=");
  if (end == std::string_view::npos || lower(line.substr(0, end)) != keyword) return {};
  line.remove_prefix(end);
  line.remove_prefix(std::min(line.find_first_not_of(" \t="), line.size()));
  if (line.size() >= 2 && line.front() == '"' && line.back() == '"') line = line.substr(1, line.size() - 2);
  return line;
}

bool is_used_by_sshd(std::string_view line) {
  return !sshd_value(line, "hostkey").empty() || !sshd_value(line, "include").empty();
}

void add_named(std::string_view config, std::vector<std::string>& files) {
  for (const auto line : lines(config)) {
    const auto file = sshd_value(line, "hostkey");
    if (file.starts_with('/') && is_plain_word(file, kLongestKeyPath) && files.size() < kMostHostKeys)
      files.emplace_back(file);
  }
}

// Returns the files of host keys. A configuration that cannot be read counts as naming none: RHEL lets only
// root read its own, in which HostKey is commented out.
std::vector<std::string> key_files(Host& host) {
  const auto config = host.read(kSshdConfig, kLargestConfig);
  if (!config) return kDefaultKeys;
  std::vector<std::string> files;
  const bool includes = std::ranges::any_of(lines(*config), [](std::string_view line) {
    return sshd_value(line, "include").find(kSshdFolder) != std::string_view::npos;
  });
  if (includes)
    for (const std::string& name : host.list(kSshdFolder).value_or({}))
      if (name.ends_with(".conf"))
        if (const auto more = host.read(kSshdFolder + "/" + name, kLargestConfig)) add_named(*more, files);
  add_named(*config, files);
  return files.empty() ? kDefaultKeys : files;
}

// Returns "TYPE BASE64" of "TYPE BASE64 COMMENT".
std::string without_comment(std::string_view line) {
  const auto columns = words(line);
  return columns.size() < 2 ? "" : std::string(columns[0]) + " " + std::string(columns[1]);
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

Reading<HostKey> read_host_key(Host& host, const std::string& file) {
  const std::string path = file.ends_with(".pub") ? file : file + ".pub";
  return host.read(path, kLargestKeyFile).parsed([&](const std::string& text) -> std::optional<HostKey> {
    const auto key = PublicKey::parse(without_comment(first_line(text)));
    if (!key) return std::nullopt;
    return HostKey{path, *key, fingerprint_of(*key)};
  });
}

// Reads the host keys. Without any key the reading has the reason of a file that exists but cannot be used,
// if there is one, else that of a missing file.
Reading<std::vector<HostKey>> collect_host_keys(Host& host) {
  std::vector<HostKey> keys;
  Reading<HostKey> missed;
  for (const std::string& file : key_files(host)) {
    auto key = read_host_key(host, file);
    if (key)
      keys.push_back(*key);
    else if (missed.from().empty() || (missed.absent() && !key.absent()))
      missed = std::move(key);
  }
  if (keys.empty()) return {missed.miss(), missed.from()};
  return {std::move(keys), "/etc/ssh"};
}

std::vector<KnownHost> parse_known_hosts(std::string_view text) {
  std::vector<KnownHost> hosts;
  bool railbed = false;
  for (const auto line : lines(text)) {
    if (line.starts_with("# railbed begin")) railbed = true;
    if (line.starts_with("# railbed end")) railbed = false;
    auto host = parse_known_host(line);
    if (!host || hosts.size() == kMostKnownHosts) continue;
    host->railbed = railbed;
    hosts.push_back(std::move(*host));
  }
  return hosts;
}

Reading<std::vector<KnownHost>> collect_known_hosts(Host& host) {
  const auto text = host.read(kKnownHosts, kLargestKnownHosts + 1);
  if (text && text->size() > kLargestKnownHosts)
    return {Miss{Missing::kUnsupported, "larger than 2 MiB"}, text.from()};
  return text.parsed([](const std::string& content) { return std::optional(parse_known_hosts(content)); });
}

}  // namespace

std::optional<KnownHost> parse_known_host(std::string_view line) {
  const auto columns = words(line);
  if (columns.size() < 3 || columns[0].starts_with('#') || columns[0].starts_with('@') ||
      columns[0].starts_with('|'))
    return std::nullopt;
  auto key = PublicKey::parse(std::string(columns[1]) + " " + std::string(columns[2]));
  if (!key) return std::nullopt;
  KnownHost host{.names = {}, .key = std::move(*key)};
  for (const auto name : split(columns[0], ','))
    if (is_plain_word(name, kLongestHost + 8) && host.names.size() < kMostKnownNames)  // "[NAME]:65535"
      host.names.emplace_back(name);
  return host;
}

Ssh collect_ssh(Host& host) { return {collect_host_keys(host), collect_known_hosts(host)}; }

std::string used_ssh(std::string_view path, std::string_view text) {
  if (path.ends_with(".pub")) return without_comment(first_line(text)) + "\n";
  std::string used;
  const bool known_hosts = path == kKnownHosts;
  for (const auto line : lines(text)) {
    const bool mark = line.starts_with("# railbed begin") || line.starts_with("# railbed end");
    if (known_hosts ? mark || parse_known_host(line) : is_used_by_sshd(line))
      used += std::string(line) + "\n";
  }
  return used;
}

}  // namespace railbed
