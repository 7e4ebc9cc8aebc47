// The kernel settings that are collected, in the notation of sysctl.
#pragma once

#include <string_view>

namespace railbed {

inline constexpr std::string_view kSysctlKeys[] = {
    "net.core.rmem_max", "net.core.wmem_max", "net.core.rmem_default", "net.core.wmem_default",
    "net.core.optmem_max", "net.core.netdev_max_backlog", "net.core.somaxconn", "net.core.default_qdisc",
    "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_timestamps", "net.ipv4.tcp_sack",
    // Several rails in one node: replies must leave by the rail they are for.
    "net.ipv4.ip_local_port_range", "net.ipv4.conf.all.rp_filter", "net.ipv4.conf.default.rp_filter",
    "net.ipv4.conf.all.arp_ignore", "net.ipv4.conf.all.arp_announce", "net.ipv4.conf.all.arp_filter",
    "vm.swappiness", "vm.nr_hugepages", "vm.max_map_count", "vm.overcommit_memory", "vm.zone_reclaim_mode",
    "kernel.numa_balancing", "kernel.randomize_va_space", "kernel.panic", "fs.file-max"};

}  // namespace railbed
