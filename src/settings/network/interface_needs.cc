#include "settings/network/interface_needs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/boot_network.h"
#include "settings/network/network_files.h"

namespace railbed {
namespace {

// Network files as far as they are known. If it is known that there are none, nothing persists.
struct BootFiles {
  bool known = false;
  std::vector<BootProfile> profiles;
};

BootFiles boot_files(const Target& target) {
  const auto& files = target.facts().net.at_boot;
  if (files.ok()) return {true, *files};
  const bool none = files.absent() && files.miss().why != not_collected().why;
  return {none, {}};
}

void take_at_boot(const AtBoot& at_boot, Need& need) {
  need.at_boot = at_boot.kept;
  if (at_boot.kept != true && need.found.empty()) need.found = at_boot.why;
}

std::string addresses_of(const NetInterface& interface) {
  std::vector<std::string> all;
  if (interface.addresses.ok())
    for (const InterfaceAddress& address : *interface.addresses)
      if (!address.address.is_link_local()) all.push_back(to_text(address));
  return all.empty() ? "no address" : fmt::format("{}", fmt::join(all, ", "));
}

Need has_address(const Target& target, const NetInterface& interface, const InterfaceAddress& address,
                 const BootFiles& files) {
  Need need{.what = fmt::format("{} is up with {}", interface.name, to_text(address))};
  const bool up = interface.administratively_up.value_or(true);
  if (interface.addresses.ok()) {
    const bool held = std::ranges::find(*interface.addresses, address) != interface.addresses->end();
    need.now = held && up;
    if (!*need.now) need.found = up ? addresses_of(interface) : "it is down";
  }
  if (files.known)
    take_at_boot(address_at_boot(target.view, interface, address.address, files.profiles), need);
  return need;
}

Need has_mtu(const Target& target, const NetInterface& interface, const WantedInterface& wanted,
             const BootFiles& files) {
  Need need{.what = fmt::format("{} has MTU {}", interface.name, *wanted.mtu)};
  if (interface.mtu.ok()) need.now = *interface.mtu == *wanted.mtu;
  if (need.now == false) need.found = fmt::format("MTU {}", *interface.mtu);
  if (files.known) take_at_boot(mtu_at_boot(target.view, interface, *wanted.mtu, files.profiles), need);
  return need;
}

Need has_dhcp(const Target& target, const NetInterface& interface, const BootFiles& files) {
  Need need{.what = fmt::format("{} asks DHCP", interface.name)};
  const auto asks = [&](const BootProfile& profile) {
    return profile.interface == interface.name && profile.kept && profile.certain && profile.dhcp &&
           is_read_at_boot(target.view, profile);
  };
  if (files.known) need.at_boot = std::ranges::any_of(files.profiles, asks);
  need.now = addresses_of(interface) != "no address" && need.at_boot.value_or(true);
  if (need.at_boot == false) need.found = "no file says so";
  return need;
}

Need has_gateway(const Target& target, const WantedInterface& wanted, const std::vector<Need>& others) {
  Need need{.what = fmt::format("the default route goes by {}", wanted.name)};
  const Net& net = target.facts().net;
  if (net.default_routes.ok()) need.now = has_default_route(net, wanted.name);
  if (need.now == false) need.found = "another default route, or none";
  // Facts do not include the gateways of the next boot. The file that keeps the address also created this
  // route.
  if (need.now == true && !others.empty()) need.at_boot = others.front().at_boot;
  return need;
}

Need is_vlan_of(const Target& target, const WantedInterface& wanted, const std::vector<Need>& others) {
  Need need{.what = fmt::format("{} is VLAN {} of {}", wanted.name, wanted.vlan, wanted.parent)};
  const Vlan* vlan = find_vlan(target.facts().net, wanted.name);
  if (target.facts().net.vlans.ok())
    need.now = vlan != nullptr && vlan->id == wanted.vlan && vlan->parent == wanted.parent;
  if (need.now == false)
    need.found = vlan == nullptr ? "no VLAN" : fmt::format("VLAN {} of {}", vlan->id, vlan->parent);
  // The file that configures this interface at boot also defines its VLAN.
  if (need.now == true && !others.empty()) need.at_boot = others.front().at_boot;
  return need;
}

std::vector<Need> open_needs(const WantedInterface& wanted, std::string_view found) {
  std::vector<Need> needs;
  const std::optional<bool> now = found.empty() ? std::nullopt : std::optional(false);
  const auto add = [&](std::string what) {
    needs.push_back({.what = std::move(what), .now = now, .found = std::string(found)});
  };
  for (const InterfaceAddress& address : wanted.addresses)
    add(fmt::format("{} is up with {}", wanted.name, to_text(address)));
  if (wanted.mtu && wanted.kind != LinkKind::kInfiniband)
    add(fmt::format("{} has MTU {}", wanted.name, *wanted.mtu));
  if (wanted.dhcp) add(fmt::format("{} asks DHCP", wanted.name));
  if (wanted.gateway) add(fmt::format("the default route goes by {}", wanted.name));
  if (wanted.kind == LinkKind::kVlan)
    add(fmt::format("{} is VLAN {} of {}", wanted.name, wanted.vlan, wanted.parent));
  return needs;
}

// Returns the file that brings the link up at boot; empty if there is none.
std::string brought_up_by(const Target& target, const std::string& interface, const BootFiles& files) {
  for (const BootProfile& profile : files.profiles)
    if (profile.interface == interface && profile.kept && profile.certain && profile.manager != "udev" &&
        is_read_at_boot(target.view, profile) && !is_own_network_file(profile.file))
      return profile.file;
  return "";
}

}  // namespace

std::vector<Need> interface_needs(const Target& target, const WantedInterface& wanted) {
  if (!target.looked() || !target.facts().net.interfaces.ok()) return open_needs(wanted, "");
  const NetInterface* interface = find_interface(target.facts().net, wanted.name);
  if (interface == nullptr) return open_needs(wanted, "no such interface");
  const BootFiles files = boot_files(target);
  std::vector<Need> needs;
  for (const InterfaceAddress& address : wanted.addresses)
    needs.push_back(has_address(target, *interface, address, files));
  // The partition defines IPoIB's MTU: see section ipoib.
  if (wanted.mtu && wanted.kind != LinkKind::kInfiniband)
    needs.push_back(has_mtu(target, *interface, wanted, files));
  if (wanted.dhcp) needs.push_back(has_dhcp(target, *interface, files));
  if (wanted.gateway) needs.push_back(has_gateway(target, wanted, needs));
  if (wanted.kind == LinkKind::kVlan) needs.push_back(is_vlan_of(target, wanted, needs));
  return needs;
}

Need stays_down(const Target& target, const std::string& interface) {
  Need need{.what = fmt::format("{} is down", interface)};
  if (!target.looked() || !target.facts().net.interfaces.ok()) return need;
  const NetInterface* found = find_interface(target.facts().net, interface);
  if (found == nullptr) return need.now = need.at_boot = true, need;
  if (found->administratively_up.ok()) need.now = !*found->administratively_up;
  if (need.now == false) need.found = "it is up";
  const BootFiles files = boot_files(target);
  const std::string by = brought_up_by(target, interface, files);
  if (!by.empty())
    need.at_boot = false;
  else if (files.known && !unit_starts_at_boot(target.view, "NetworkManager"))
    need.at_boot = true;  // it sets up all links that it manages
  if (need.at_boot == false && need.found.empty()) need.found = fmt::format("{} brings it up", by);
  return need;
}

}  // namespace railbed
