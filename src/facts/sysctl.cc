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
    "net.ipv4.ip_local_port_range", "net.ipv4.conf.all.rp_filter", "net.ipv4.conf.default.rp_filter",
    "net.ipv4.conf.all.arp_ignore", "net.ipv4.conf.all.arp_announce", "net.ipv4.conf.all.arp_filter",
    "vm.swappiness", "vm.nr_hugepages", "vm.max_map_count", "vm.overcommit_memory", "vm.zone_reclaim_mode",
    "kernel.numa_balancing", "kernel.randomize_va_space", "kernel.panic", "fs.file-max"};

}  // namespace

std::map<std::string, Reading<std::string>> collect_sysctl(Host& host) {
  std::map<std::string, Reading<std::string>> found;
  for (const auto key : kKeys) {
    std::string path = "/proc/sys/" + std::string(key);
    std::replace(path.begin() + 10, path.end(), '.', '/');
    auto value = host.read_line(path).parsed([](const std::string& line) {
      std::string spaced;  // tcp_rmem separates its numbers by tabs
      for (const auto word : words(line)) spaced += (spaced.empty() ? "" : " ") + std::string(word);
      return std::optional(spaced);
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
  system.firmware = collect_firmware(host);
  system.stuck = collect_stuck(host);
  system.firewall = collect_firewall(host);
  system.hosts = collect_hosts(host);
  return system;
}

}  // namespace railbed
