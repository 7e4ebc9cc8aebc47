#include <algorithm>

#include "facts/collectors.h"
#include "facts/readings.h"
#include "facts/sysctl_keys.h"

namespace railbed {
std::map<std::string, Reading<std::string>> collect_sysctl(Host& host) {
  std::map<std::string, Reading<std::string>> found;
  for (const auto key : kSysctlKeys) {
    std::string path = "/proc/sys/" + std::string(key);
    std::replace(path.begin() + 10, path.end(), '.', '/');
    // The numbers of tcp_rmem are separated by tabs.
    auto value =
        host.read_line(path).parsed([](const std::string& line) { return std::optional(spaced(line)); });
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
  system.hosts_template = collect_hosts_template(host);
  return system;
}

}  // namespace railbed
