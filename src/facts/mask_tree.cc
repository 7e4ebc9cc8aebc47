#include <algorithm>
#include <set>

#include "base/text.h"
#include "facts/boot_section.h"
#include "facts/collectors.h"
#include "facts/mask.h"
#include "facts/nccl.h"
#include "facts/pci_config.h"

namespace railbed {
namespace {

constexpr std::string_view kHostname = "/proc/sys/kernel/hostname";

// The Device Serial Number capability is the adapter's GUID.
std::string without_serial_number(std::string config) {
  constexpr std::uint16_t kSerialNumber = 0x0003;
  const auto at = find_extended_capability(config, kSerialNumber);
  if (at && *at + 12 <= config.size()) config.replace(*at + 4, 8, 8, '\0');
  return config;
}

// VPD holds serial and part numbers; one mark in it is a fact (rdma.h, management).
std::string only_mark(std::string_view vpd) {
  constexpr std::string_view kMark = "SW_MNG";
  return vpd.find(kMark) == std::string_view::npos ? "\n" : std::string(kMark) + "\n";
}

std::string without_comments(std::string_view text) {
  std::string kept;
  for (const auto line : lines(text)) kept += std::string(line.substr(0, line.find('#'))) + "\n";
  return kept;
}

std::string_view short_name(std::string_view hostname) { return hostname.substr(0, hostname.find('.')); }

// Whoever stands in /etc/hosts is a machine with a name. By the alphabet: nodes whose files have the same
// names then get the same words for them, whichever of them each lists first.
void hide_hosts(std::string_view text, Mask& mask) {
  std::set<std::string_view> names;
  for (const auto line : lines(text)) {
    const auto columns = words(line.substr(0, line.find('#')));
    for (std::size_t i = 1; i < columns.size(); ++i) names.insert(columns[i]);
  }
  for (const auto name : names) mask.hide(name);
}

// A name that is too short to be hidden in other texts is hidden here.
std::string masked_hostname(std::string_view name, Mask& mask) {
  return (name.size() < kShortestHidden ? "host" : mask(name)) + "\n";
}

bool is_users_file(std::string_view path) {
  if (path == "/etc/os-release") return false;
  return !path.starts_with("/sys/") && !path.starts_with("/proc/") && !path.starts_with("/usr/lib/") &&
         !path.starts_with("/boot/");
}

std::string masked_file(const std::string& path, const std::string& content, Mask& mask) {
  if (path.ends_with("/vpd")) return only_mark(content);
  if (path.ends_with("/config")) return without_serial_number(content);
  // Versions look like addresses and words like hostnames: what these files hold is public.
  if (path == "/etc/hosts") return mask(without_comments(content));
  if (path.ends_with("/os-release") || path.starts_with("/boot/") || path.starts_with("/lib/modules/"))
    return content;
  if (path.find("/modprobe.d/") != std::string::npos) return used_modprobe(content);
  if (path.find("/sysctl.d/") != std::string::npos || path == "/etc/sysctl.conf") return used_sysctl(content);
  if (is_boot_menu_file(path)) return used_boot_menu(content);
  if (is_boot_file(path)) return mask(used_boot_file(path, content));
  if (path == kHostname) return masked_hostname(short_name(trim(content)), mask);
  if (path == "/proc/cmdline") return masked_command_line(content);
  return is_users_file(path) ? mask(only_nccl_lines(content)) : mask.addresses(content);
}

// An ARM board's serial number stands at the end of /proc/cpuinfo.
std::string without_serial_line(const std::string& cpuinfo) {
  std::string kept;
  for (const auto line : lines(cpuinfo))
    kept += std::string(line.starts_with("Serial") ? "Serial\t\t: masked" : line) + "\n";
  return kept;
}

}  // namespace

Tree masked(const Tree& tree, Mask& mask) {
  if (const TreeEntry* hosts = tree.find("/etc/hosts")) hide_hosts(hosts->content, mask);
  if (const TreeEntry* hostname = tree.find(kHostname)) {
    const auto name = trim(hostname->content);
    mask.hide(short_name(name));
    mask.hide(name);
  }
  Tree hidden;
  tree.each([&](const std::string& path, const TreeEntry& entry) {
    // A host key is the name of a machine, which anybody on its network can ask for; so are the hosts it
    // knows.
    if (entry.kind == TreeEntry::Kind::kFile && (path.starts_with("/etc/ssh/") || path.ends_with(".pub")))
      return;
    TreeEntry kept = entry;
    if (entry.kind == TreeEntry::Kind::kFile) kept.content = masked_file(path, entry.content, mask);
    if (path == "/proc/cpuinfo") kept.content = without_serial_line(entry.content);
    const bool home = path.starts_with("/home/");
    if (auto set = hidden.set(home ? mask(path) : path, std::move(kept)); !set) return;
  });
  for (const auto& [words, output] : tree.commands) {
    const bool environment = words.starts_with(kShowEnvironment);
    hidden.commands.emplace(words, output.parsed([&](CommandOutput seen) {
      seen.output = mask(environment ? only_nccl_environment(seen.output) : seen.output);
      seen.error_output.clear();
      return std::optional(std::move(seen));
    }));
  }
  for (const auto& [name, answer] : tree.calls) {
    const bool log = name.starts_with("kernel-log");
    hidden.calls.emplace(name, answer.parsed([&](const std::string& text) {
      return std::optional(log ? mask.addresses(text) : mask(text));
    }));
  }
  return hidden;
}

}  // namespace railbed
