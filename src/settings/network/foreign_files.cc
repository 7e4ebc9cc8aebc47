#include "settings/network/foreign_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/boot_network.h"
#include "settings/network/network_files.h"

namespace railbed {
namespace {

bool is_netplans_file(const BootProfile& profile) {
  return profile.file.find("/netplan/") != std::string::npos;
}
// Files that NetworkManager writes itself, one for each connection.
bool is_of_networkmanager(const BootProfile& profile) { return profile.id.starts_with("NM-"); }

const std::vector<BootProfile>& profiles_of(const Target& target) {
  static const std::vector<BootProfile> kNone;
  return target.facts().net.at_boot.ok() ? *target.facts().net.at_boot : kNone;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool says_all(const BootProfile& profile, const WantedInterface& wanted) {
  const auto has = [&](const InterfaceAddress& address) {
    return std::ranges::find(profile.addresses, address) != profile.addresses.end();
  };
  return profile.mtu == wanted.mtu.value_or(0) && profile.dhcp == wanted.dhcp &&
         std::ranges::all_of(wanted.addresses, has);
}

// Returns the first address in the file that cluster.yaml does not give the interface; null if there is none.
const InterfaceAddress* other_address(const BootProfile& profile, const WantedInterface& wanted) {
  const auto found = std::ranges::find_if(profile.addresses, [&](const InterfaceAddress& address) {
    return std::ranges::find(wanted.addresses, address) == wanted.addresses.end();
  });
  return found == profile.addresses.end() ? nullptr : &*found;
}

std::string what_it_says(const BootProfile& profile, const WantedInterface& wanted) {
  if (const InterfaceAddress* other = other_address(profile, wanted))
    return fmt::format("it gives {} {}", wanted.name, to_text(*other));
  if (profile.dhcp && !wanted.dhcp) return fmt::format("it has {} ask DHCP", wanted.name);
  if (profile.mtu != wanted.mtu.value_or(0) && profile.mtu > 0)
    return fmt::format("it sets MTU {} on {}", profile.mtu, wanted.name);
  return fmt::format("it is for {} as well, and does not set all of it", wanted.name);
}

bool configures_others(const Target& target, const WantedNetwork& network, const WantedInterface& wanted,
                       const BootProfile& profile) {
  if (profile.file == "/etc/network/interfaces") return true;  // at least the loopback interface
  return std::ranges::any_of(profiles_of(target), [&](const BootProfile& boot_profile) {
    return boot_profile.file == profile.file && boot_profile.interface != wanted.name &&
           !(wanted.rail && network.is_rail(boot_profile.interface));
  });
}

// Returns true if one entry covers several interfaces, as `match: {driver: mlx5_core}` does.
bool is_shared_entry(const Target& target, const BootProfile& profile) {
  return std::ranges::any_of(profiles_of(target), [&](const BootProfile& boot_profile) {
    return is_netplans_file(boot_profile) && boot_profile.kept && boot_profile.id == profile.id &&
           boot_profile.interface != profile.interface;
  });
}

// The effect of railbed's file while the other file exists: both are merged, the other is ignored, or the
// other wins.
enum class Precedence { kMerged, kSecond, kDefeated };

Precedence precedence_of(const Target& target, const WantedInterface& wanted, const BootProfile& profile) {
  const NetworkKeeper keeper = *target.platform.network;
  if (keeper == NetworkKeeper::kNetplan && is_netplans_file(profile) && !is_of_networkmanager(profile)) {
    if (is_shared_entry(target, profile)) return Precedence::kDefeated;
    const bool later = base_name(profile.file) > base_name(std::string(kNetplanRails));
    return later ? Precedence::kDefeated : Precedence::kMerged;
  }
  // systemd-networkd uses the first matching file by name.
  if (profile.manager == "systemd-networkd" && !is_netplans_file(profile)) {
    if (keeper == NetworkKeeper::kNetworkd && base_name(profile.file) > networkd_name(wanted.name))
      return Precedence::kSecond;
    const bool by_networkd = keeper == NetworkKeeper::kNetplan && !target.platform.netplan_by_networkmanager;
    if (by_networkd && base_name(profile.file) > "10-netplan-") return Precedence::kSecond;
  }
  return Precedence::kDefeated;
}

void judge_file(const Target& target, const WantedNetwork& network, const WantedInterface& wanted,
                const BootProfile& profile, ForeignFiles& found) {
  const std::string says = what_it_says(profile, wanted);
  switch (precedence_of(target, wanted, profile)) {
    case Precedence::kSecond:
      return;
    case Precedence::kMerged:
      if (other_address(profile, wanted) != nullptr)
        found.notes.push_back(
            fmt::format("{}: {}. netplan adds the lists of its files together, so that "
                        "{} keeps that one too; take it out there",
                        profile.file, says, wanted.name));
      return;
    case Precedence::kDefeated:
      if (!profile.file.starts_with("/etc/") || configures_others(target, network, wanted, profile))
        found.blocked = fmt::format(
            "{}: {}. It configures other interfaces too, or belongs to a package: "
            "railbed does not move it aside; take {} out of it",
            profile.file, says, wanted.name);
      else
        found.contradictions.push_back({profile.file, says});
  }
}

}  // namespace

ForeignFiles foreign_files(const Target& target, const WantedNetwork& network,
                           const WantedInterface& wanted) {
  ForeignFiles found;
  if (!target.platform.network) return found;
  for (const BootProfile& profile : profiles_of(target)) {
    if (profile.interface != wanted.name || !profile.kept || !profile.certain ||
        !is_read_at_boot(target.view, profile) || is_own_network_file(profile.file))
      continue;
    if (profile.manager == "udev") {
      // Such a file may also name the interface: it is left in place.
      if (wanted.mtu && profile.mtu != *wanted.mtu)
        found.notes.push_back(fmt::format("{} sets MTU {} as {} appears; take it out there", profile.file,
                                          profile.mtu, wanted.name));
    } else if (!says_all(profile, wanted)) {
      judge_file(target, network, wanted, profile, found);
    }
  }
  return found;
}

std::string netplan_id(const Target& target, const std::string& interface) {
  for (const BootProfile& profile : profiles_of(target))
    if (profile.interface == interface && profile.kept && profile.certain && is_netplans_file(profile) &&
        !profile.id.empty() && !is_of_networkmanager(profile) && !is_shared_entry(target, profile))
      return profile.id;
  return interface;
}

std::string who_keeps_network(const Target& target) {
  if (!target.looked()) return "nobody has looked at the node";
  for (const BootProfile& profile : profiles_of(target))
    if (profile.manager == "ifupdown" && profile.kept)
      return fmt::format("{} configures {}, and railbed does not write for ifupdown", profile.file,
                         profile.interface);
  return "no file of netplan, NetworkManager or systemd-networkd was found";
}

}  // namespace railbed
