#include <algorithm>

#include "facts/collectors.h"
#include "facts/readings.h"

namespace railbed {
namespace {

constexpr std::string_view kKeys[] = {
    "net.core.rmem_max", "net.core.wmem_max", "net.core.rmem_default", "net.core.wmem_default",
    "net.core.optmem_max", "net.core.netdev_max_backlog", "net.core.somaxconn", "net.core.default_qdisc",
    "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_timestamps", "net.ipv4.tcp_sack",
    // Several rails in one node: replies must leave by the rail they are for.
    "net.ipv4.conf.all.rp_filter", "net.ipv4.conf.default.rp_filter", "net.ipv4.conf.all.arp_ignore",
    "net.ipv4.conf.all.arp_announce", "net.ipv4.conf.all.arp_filter", "vm.swappiness", "vm.nr_hugepages",
    "vm.max_map_count", "vm.overcommit_memory", "vm.zone_reclaim_mode", "kernel.numa_balancing",
    "kernel.randomize_va_space", "kernel.panic", "fs.file-max"};

// tcp_rmem separates its numbers by tabs.
std::string spaced(std::string_view text) {
  std::string words_of;
  for (const auto word : words(text)) words_of += (words_of.empty() ? "" : " ") + std::string(word);
  return words_of;
}

// "-net/core/rmem_max = 268435456": key and value; nothing of comments and of keys that are not looked at.
std::optional<std::pair<std::string, std::string>> setting_in(std::string_view line) {
  line = trim(line);
  if (line.starts_with('#') || line.starts_with(';')) return std::nullopt;
  if (line.starts_with('-')) line.remove_prefix(1);
  const auto pair = key_value(line, '=');
  if (!pair) return std::nullopt;
  std::string key(trim(pair->first));
  // The first separator says which of the two is one: sysctl.d(5).
  if (const auto first = key.find_first_of("./"); first != std::string::npos && key[first] == '/')
    std::ranges::replace(key, '/', '.');
  if (std::ranges::find(kKeys, key) == std::end(kKeys)) return std::nullopt;
  return std::pair(std::move(key), spaced(pair->second));
}

constexpr std::size_t kMostSysctlFiles = 256;

// Files in the order in which they apply; of those with one name the first folder's counts. procps reads
// /etc/sysctl.conf last (sysctl.d(5), sysctl(8)).
Reading<std::vector<std::string>> sysctl_files(Host& host) {
  std::map<std::string, std::string> files;
  bool any = false;
  for (const std::string folder :
       {"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d"}) {
    const auto names = host.list(folder);
    if (!names && !names.absent()) return {names.miss(), names.from()};
    any = any || names.ok();
    for (const auto& name : names.value_or({}))
      if (name.ends_with(".conf") && files.size() < kMostSysctlFiles) files.emplace(name, folder + "/" + name);
  }
  std::vector<std::string> paths;
  for (auto& [name, path] : files) paths.push_back(std::move(path));
  const bool own = host.read("/etc/sysctl.conf").ok();
  if (own) paths.emplace_back("/etc/sysctl.conf");
  if (!any && !own) return {Miss{Missing::kAbsent, "no sysctl.d and no /etc/sysctl.conf"}, "/etc/sysctl.d"};
  return {std::move(paths), "/etc/sysctl.d"};
}

}  // namespace

std::string used_sysctl(std::string_view text) {
  std::string used;
  for (const auto line : lines(text))
    if (setting_in(line)) used += std::string(trim(line)) + "\n";
  return used;
}

Reading<std::map<std::string, std::string>> collect_sysctl_at_boot(Host& host) {
  const auto files = sysctl_files(host);
  if (!files) return {files.miss(), files.from()};
  std::map<std::string, std::string> found;
  for (const std::string& path : *files) {
    const auto text = host.read(path);
    if (!text && !text.absent()) return {text.miss(), path};
    for (const auto line : lines(text.value_or("")))
      if (auto setting = setting_in(line)) found[setting->first] = std::move(setting->second);
  }
  return {std::move(found), files.from()};
}

std::map<std::string, Reading<std::string>> collect_sysctl(Host& host) {
  std::map<std::string, Reading<std::string>> found;
  for (const auto key : kKeys) {
    std::string path = "/proc/sys/" + std::string(key);
    std::replace(path.begin() + 10, path.end(), '.', '/');
    auto value = host.read_line(path).parsed([](const std::string& line) {
      return std::optional(spaced(line));
    });
    found.emplace(key, std::move(value));
  }
  return found;
}

System collect_system(Host& host) {
  System system;
  system.services = collect_services(host);
  system.os = collect_os(host);
  system.kernel = collect_kernel(host);
  system.cpu = collect_cpu(host);
  system.memory = collect_memory(host, system.services);
  system.storage = collect_storage(host);
  system.sysctl = collect_sysctl(host);
  system.sysctl_at_boot = collect_sysctl_at_boot(host);
  system.firmware = collect_firmware(host);
  system.stuck = collect_stuck(host);
  system.firewall = collect_firewall(host);
  system.hosts = collect_hosts(host);
  return system;
}

}  // namespace railbed
