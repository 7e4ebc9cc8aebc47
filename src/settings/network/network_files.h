// One model of interfaces, three ways to write it down: netplan, NetworkManager and systemd-networkd.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "settings/network/interfaces.h"
#include "settings/setting.h"

namespace railbed {

// netplan merges its files in the order of their names and the last one wins: these stand behind
// 50-cloud-init.yaml and NetworkManager's own 90-NM-….yaml.
inline constexpr std::string_view kNetplanRails = "/etc/netplan/99-zz-railbed.yaml";
inline constexpr std::string_view kNetplanManagement = "/etc/netplan/99-zz-railbed-management.yaml";
inline constexpr std::string_view kNetplanUnused = "/etc/netplan/99-zz-railbed-unused.yaml";

// Its names are valid in the files (is_plain_interface).
DesiredFile netplan_file(const Target& target, std::string_view path, std::span<const WantedInterface> all);
DesiredFile netplan_unused(const Target& target, const std::vector<std::string>& interfaces);

DesiredFile keyfile(const Target& target, const WantedInterface& wanted);
// NetworkManager leaves these alone, and so nobody sets their links up.
DesiredFile unmanaged(const std::vector<std::string>& interfaces);

// The .network, and of a VLAN the .netdev. `all`: what the interface may carry is among them.
std::vector<DesiredFile> networkd_files(const WantedInterface& wanted, std::span<const WantedInterface> all);
DesiredFile networkd_unused(const std::vector<std::string>& interfaces);
std::string networkd_name(std::string_view interface);  // of the .network

// One of the files above, by its path.
bool is_own_network_file(std::string_view path);

// Why it cannot be written for this platform; empty: it can.
std::string why_not_written(const Target& target, const WantedInterface& wanted);

}  // namespace railbed
