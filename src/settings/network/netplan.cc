// netplan's YAML: netplan.io/reference, "YAML configuration". Names are quoted, so that "on", "1e3" and
// "null" stay names. Settings of an interface that another file also describes are merged over it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/yaml.h"
#include "settings/files.h"
#include "settings/network/foreign_files.h"
#include "settings/network/network_files.h"

namespace railbed {
namespace {

constexpr int kReadableByRoot = 0600;  // netplan warns about other modes since 0.106

// Returns the interface's key, and the match that it needs if the key is not the interface's own name.
std::string key_of(const Target& target, const std::string& interface) {
  const std::string id = netplan_id(target, interface);
  std::string text = fmt::format("    {}:\n", yaml_quoted(id));
  if (id != interface) text += fmt::format("      match: {{name: {}}}\n", yaml_quoted(interface));
  return text;
}

std::string renderer_of(const Target& target) {
  // For this device only: a renderer of the whole file would apply to all files. If systemd-networkd renders
  // them, none is given, and the present files decide.
  return target.platform.netplan_by_networkmanager ? "      renderer: NetworkManager\n" : "";
}

std::string listed(const IpAddress& address) { return address.to_text(); }
std::string listed(const InterfaceAddress& address) { return to_text(address); }

template <class T>
std::string list_of(const std::vector<T>& values) {
  std::vector<std::string> quoted;
  for (const T& value : values) quoted.push_back(yaml_quoted(listed(value)));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

std::string ipoib_text(const Target& target, const WantedInterface& wanted) {
  // Datagram is the kernel's default. NetworkManager needs the key to treat it as InfiniBand at all.
  if (wanted.kind != LinkKind::kInfiniband) return "";
  if (wanted.connected) return "      infiniband-mode: connected\n";
  return target.platform.netplan_by_networkmanager ? "      infiniband-mode: datagram\n" : "";
}

std::string_view rail_text() {
  return "      dhcp4: false\n      dhcp6: false\n      accept-ra: false\n      optional: true\n";
}

std::string management_text(const WantedInterface& wanted) {
  std::string text = fmt::format("      dhcp4: {}\n", wanted.dhcp);
  if (wanted.gateway)
    text += fmt::format("      routes: [{{to: {}, via: {}}}]\n",
                        yaml_quoted(wanted.gateway->is_v4() ? "0.0.0.0/0" : "::/0"),
                        yaml_quoted(wanted.gateway->to_text()));
  if (!wanted.dns.empty()) text += fmt::format("      nameservers: {{addresses: {}}}\n", list_of(wanted.dns));
  return text;
}

std::string device_text(const Target& target, const WantedInterface& wanted) {
  std::string text = key_of(target, wanted.name) + renderer_of(target);
  if (wanted.kind == LinkKind::kVlan)
    text += fmt::format("      id: {}\n      link: {}\n", wanted.vlan,
                        yaml_quoted(netplan_id(target, wanted.parent)));
  text += ipoib_text(target, wanted);
  if (!wanted.addresses.empty()) text += fmt::format("      addresses: {}\n", list_of(wanted.addresses));
  if (wanted.mtu) text += fmt::format("      mtu: {}\n", *wanted.mtu);
  return text + (wanted.rail ? std::string(rail_text()) : management_text(wanted));
}

DesiredFile netplan_yaml(std::string_view path, const std::string& network) {
  return {.path = std::string(path),
          .content = std::string(kFileMark) + "network:\n  version: 2\n" + network,
          .mode = kReadableByRoot};
}

}  // namespace

DesiredFile netplan_file(const Target& target, std::string_view path, std::span<const WantedInterface> all) {
  std::string ethernets, vlans;
  for (const WantedInterface& interface : all)
    (interface.kind == LinkKind::kVlan ? vlans : ethernets) += device_text(target, interface);
  std::string network;
  if (!ethernets.empty()) network += "  ethernets:\n" + ethernets;
  if (!vlans.empty()) network += "  vlans:\n" + vlans;
  return netplan_yaml(path, network);
}

DesiredFile netplan_unused(const Target& target, const std::vector<std::string>& interfaces) {
  std::string network = "  ethernets:\n";
  for (const std::string& interface : interfaces)
    network += key_of(target, interface) +
               "      renderer: networkd\n      activation-mode: \"off\"\n      optional: true\n";
  return netplan_yaml(kNetplanUnused, network);
}

std::string why_not_written(const Target& target, const WantedInterface& wanted) {
  const Platform& platform = target.platform;
  if (platform.network != NetworkKeeper::kNetplan || ipoib_text(target, wanted).empty()) return "";
  // infiniband-mode exists since netplan 0.105, and netplan rejects all files because of one key that it does
  // not know.
  const int major = platform.major_version().value_or(0);
  if (major >= (platform.os == "ubuntu" ? 23 : 12)) return "";
  return fmt::format(
      "netplan of this system may not know \"infiniband-mode\" (0.105), which {} needs; set "
      "it by NetworkManager or systemd-networkd, and say so in configure.network",
      wanted.name);
}

}  // namespace railbed
