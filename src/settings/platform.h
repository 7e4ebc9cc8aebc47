// The kind of system on a node, as far as files and commands depend on it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "facts/facts.h"
#include "inventory/cluster.h"

namespace railbed {

enum class OsFamily { kDebian, kRhel };  // apt and dnf
constexpr auto enum_names(OsFamily) { return std::array<std::string_view, 2>{"debian", "rhel"}; }

struct Platform {
  OsFamily family = OsFamily::kDebian;
  std::string os = {};       // ID of os-release: "ubuntu"
  std::string version = {};  // VERSION_ID: "24.04"; empty if unknown
  // nullopt: unknown, or a kind that railbed does not write for
  std::optional<NetworkKeeper> network = {};
  // True if NetworkManager renders netplan's files (DGX OS, Ubuntu desktop) instead of systemd-networkd. Only
  // set if `network` is netplan.
  bool netplan_by_networkmanager = false;

  std::optional<int> major_version() const;  // 9 of "9.4"

  FIELDS(Platform, family, os, version, network, netplan_by_networkmanager);
  bool operator==(const Platform&) const = default;
};

// Returns the IDs of os-release(5) that railbed configures.
std::vector<std::string_view> systems_known();

// Determines the platform from cluster.yaml (`configure.network`) and the node's facts; without facts, from
// `expect.os`. Fails with kBadInput if the operating system is unknown or not supported.
Result<Platform> platform_of(const Node& node, const Facts& facts);

}  // namespace railbed
