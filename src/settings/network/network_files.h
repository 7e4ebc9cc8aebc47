// Writes one model of interfaces in three formats: netplan, NetworkManager and systemd-networkd.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "settings/network/interfaces.h"
#include "settings/setting.h"

namespace railbed {

// netplan merges its files in the order of their names, and the last one wins: these names sort after
// 50-cloud-init.yaml and NetworkManager's own 90-NM-….yaml.
inline constexpr std::string_view kNetplanRails = "/etc/netplan/99-zz-railbed.yaml";
inline constexpr std::string_view kNetplanManagement = "/etc/netplan/99-zz-railbed-management.yaml";
inline constexpr std::string_view kNetplanUnused = "/etc/netplan/99-zz-railbed-unused.yaml";

// Interface names must be valid in the files (is_plain_interface).
DesiredFile netplan_file(const Target& target, std::string_view path, std::span<const WantedInterface> all);
DesiredFile netplan_unused(const Target& target, const std::vector<std::string>& interfaces);

DesiredFile keyfile(const Target& target, const WantedInterface& wanted);
// NetworkManager ignores these interfaces, so it does not set their links up.
DesiredFile unmanaged(const std::vector<std::string>& interfaces);

// Returns the .network file, and for a VLAN its .netdev. `all` includes the VLANs that the interface may
// carry.
std::vector<DesiredFile> networkd_files(const WantedInterface& wanted, std::span<const WantedInterface> all);
DesiredFile networkd_unused(const std::vector<std::string>& interfaces);
std::string networkd_name(std::string_view interface);  // of the .network file

// Returns true if the path is one of the files above.
bool is_own_network_file(std::string_view path);

// Returns why the interface cannot be written for this platform; empty if it can.
std::string why_not_written(const Target& target, const WantedInterface& wanted);

}  // namespace railbed
