// Detects what keeps a kernel module from being loaded: modprobe's configuration, and a kernel that requires
// signatures.
#include <algorithm>
#include <set>

#include "facts/collectors.h"
#include "facts/readings.h"

namespace railbed {
namespace {

// modprobe.d(5), in falling precedence: a file hides the files of the same name in later folders. On merged
// systems /lib is a link to /usr/lib.
const std::string kFolders[] = {"/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d",
                                "/usr/lib/modprobe.d", "/lib/modprobe.d"};
constexpr std::size_t kMostFiles = 256;
constexpr std::size_t kLargestFile = 1 << 16;
constexpr std::size_t kLongestModule = 55;  // MODULE_NAME_LEN - 1, linux/module.h

// Returns true for the drivers of GPUs and RDMA adapters. Other blocked modules are not collected.
bool is_watched(std::string_view module) {
  constexpr std::string_view kBegins[] = {"nvidia", "nouveau", "nova", "mlx4_", "mlx5_", "ib_", "rdma_"};
  return module.size() <= kLongestModule &&
         std::ranges::any_of(kBegins, [&](std::string_view begins) { return module.starts_with(begins); });
}

// Replaces dashes by underscores; modprobe(8) treats them as equal.
std::string with_underscores(std::string_view name) {
  std::string module(name);
  std::ranges::replace(module, '-', '_');
  return module;
}

// Parses "blacklist nvidia" or "install nvidia /bin/false"; nullopt if the line does not block a watched
// module. Debian's "install nvidia modprobe -i nvidia-current" loads the module, by another name.
std::optional<BlockedModule> blocked_by(std::string_view line) {
  const auto parts = words(line.substr(0, line.find('#')));
  if (parts.size() < 2) return std::nullopt;
  BlockedModule found{with_underscores(parts[1]), std::string(parts[0]), {}};
  if (!is_watched(found.name)) return std::nullopt;
  if (found.how == "blacklist") return found;
  if (found.how != "install" || parts.size() < 3) return std::nullopt;
  const std::string program = last_part(parts[2]);
  return program == "false" || program == "true" ? std::optional(found) : std::nullopt;
}

void add_from_file(Host& host, const std::string& path, std::vector<BlockedModule>& blocked) {
  const auto text = host.read(path, kLargestFile);
  if (!text) return;
  for (const auto line : lines(*text))
    if (auto found = blocked_by(line)) {
      found->file = path;
      blocked.push_back(std::move(*found));
    }
}

// modprobe(8) and the kernel's own parameters: "modprobe.blacklist=a,b", "module_blacklist=a,b".
void add_from_command_line(std::string_view line, std::vector<BlockedModule>& blocked) {
  for (const auto word : words(line))
    for (const std::string_view key : {"modprobe.blacklist", "module_blacklist"}) {
      if (!word.starts_with(key) || word.substr(key.size(), 1) != "=") continue;
      for (const auto name : split(word.substr(key.size() + 1), ',')) {
        BlockedModule found{with_underscores(name), std::string(key), "/proc/cmdline"};
        if (is_watched(found.name)) blocked.push_back(std::move(found));
      }
    }
}

}  // namespace

Reading<std::vector<BlockedModule>> collect_blocked_modules(Host& host,
                                                            const Reading<std::string>& command_line) {
  std::vector<BlockedModule> blocked;
  std::set<std::string> seen;
  bool any = false;
  for (const auto& folder : kFolders) {
    const auto names = host.list(folder);
    if (names.absent()) continue;
    if (!names) return {names.miss(), names.from()};
    any = true;
    const std::string inside = folder + "/";
    for (const auto& name : *names) {
      if (!is_device_name(name, 255) || !name.ends_with(".conf") || seen.size() >= kMostFiles ||
          !seen.insert(name).second)
        continue;
      add_from_file(host, inside + name, blocked);
    }
  }
  if (!any) return {Miss{Missing::kAbsent, "no modprobe.d"}, kFolders[0]};
  if (command_line) add_from_command_line(*command_line, blocked);
  return {std::move(blocked), kFolders[0]};
}

std::string used_modprobe(std::string_view text) {
  std::string used;
  for (const auto line : lines(text))
    if (blocked_by(line)) {
      const auto parts = words(line.substr(0, line.find('#')));
      used += std::string(parts[0]) + " " + std::string(parts[1]);
      if (parts[0] == "install") used += " /bin/" + last_part(parts[2]);
      used += "\n";
    }
  return used;
}

// Under Secure Boot, distributions lock the kernel down, and a locked kernel requires signatures.
Reading<bool> collect_signatures_required(Host& host) {
  const auto enforced = host.read_line("/sys/module/module/parameters/sig_enforce");
  if (enforced && *enforced == "Y") return {true, enforced.from()};
  const auto lockdown = host.read_line("/sys/kernel/security/lockdown");
  if (lockdown) return {lockdown->find("[none]") == std::string::npos, lockdown.from()};
  if (enforced && lockdown.absent()) return {false, enforced.from()};
  return {lockdown.miss(), lockdown.from()};
}

}  // namespace railbed
