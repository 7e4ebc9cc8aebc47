// What kind of system a node is, as far as files and commands differ by it.
#pragma once

#include <optional>
#include <string>

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
  std::string version = {};  // VERSION_ID: "24.04"; empty: not known
  std::optional<NetworkKeeper> network =
      {};  // none: it cannot be told, or is one that railbed does not write for
  // netplan's files are carried out by NetworkManager (DGX OS, Ubuntu desktop), not by systemd-networkd. With
  // `network` netplan only.
  bool netplan_by_networkmanager = false;

  std::optional<int> major_version() const;  // 9 of "9.4"

  FIELDS(Platform, family, os, version, network, netplan_by_networkmanager);
  bool operator==(const Platform&) const = default;
};

// By what cluster.yaml says (`configure.network`) and the node's facts; without facts by `expect.os`. An
// error where neither tells the operating system.
Result<Platform> platform_of(const Node& node, const Facts& facts);

}  // namespace railbed
