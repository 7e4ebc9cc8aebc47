// NetworkManager's keyfiles: nm-settings-keyfile(5), nm-settings(5).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "settings/files.h"
#include "settings/network/network_files.h"

namespace railbed {
namespace {

constexpr std::string_view kConnections = "/etc/NetworkManager/system-connections/railbed-";
constexpr std::string_view kUnmanagedPath = "/etc/NetworkManager/conf.d/90-railbed-unused.conf";
constexpr int kPrivate = 0600;  // NetworkManager ignores files with other modes

// FNV-1a, 64 bits (RFC 9923).
std::uint64_t fnv(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// Returns a UUID that depends on the names only: version 8 of RFC 9562, "custom".
std::string uuid_of(const std::string& node, const std::string& interface) {
  const std::string name = node + ' ' + interface;
  const std::uint64_t high = fnv("railbed 1 " + name), low = fnv("railbed 2 " + name);
  return fmt::format("{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff, high & 0xfff,
                     0x8000 | (low >> 48 & 0x3fff), low & 0xffff'ffff'ffff);
}

std::string_view type_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::kVlan:
      return "vlan";
    case LinkKind::kInfiniband:
      return "infiniband";
    case LinkKind::kEthernet:
      break;
  }
  return "ethernet";
}

std::string link_sections(const WantedInterface& wanted) {
  std::string text;
  if (wanted.kind == LinkKind::kVlan)
    text += fmt::format("\n[vlan]\nid={}\nparent={}\n", wanted.vlan, wanted.parent);
  const bool infiniband = wanted.kind == LinkKind::kInfiniband;
  if (infiniband || wanted.mtu) text += infiniband ? "\n[infiniband]\n" : "\n[ethernet]\n";
  if (infiniband) text += fmt::format("transport-mode={}\n", wanted.connected ? "connected" : "datagram");
  if (wanted.mtu) text += fmt::format("mtu={}\n", *wanted.mtu);
  return text;
}

// Returns lines such as "address1=192.168.1.70/24,192.168.1.1": the second address is the gateway.
std::string address_lines(const WantedInterface& wanted, bool v4) {
  std::string text;
  int number = 0;
  for (const InterfaceAddress& address : wanted.addresses) {
    if (address.address.is_v4() != v4) continue;
    text += fmt::format("address{}={}", ++number, to_text(address));
    if (number == 1 && wanted.gateway && wanted.gateway->is_v4() == v4)
      text += "," + wanted.gateway->to_text();
    text += '\n';
  }
  return text;
}

std::string dns_line(const WantedInterface& wanted, bool v4) {
  std::string text;
  for (const IpAddress& address : wanted.dns)
    if (address.is_v4() == v4) text += address.to_text() + ";";
  return text.empty() ? "" : "dns=" + text + "\n";
}

std::string ipv4_section(const WantedInterface& wanted) {
  const std::string addresses = address_lines(wanted, true);
  const std::string_view method = wanted.dhcp ? "auto" : addresses.empty() ? "disabled" : "manual";
  std::string text = fmt::format("\n[ipv4]\nmethod={}\n", method) + addresses + dns_line(wanted, true);
  if (wanted.rail && !addresses.empty()) text += "never-default=true\n";
  return text;
}

// A rail ignores router advertisements. The kernel assigns its link-local address, as without NetworkManager:
// that address has an entry among RoCE's GIDs.
std::string ipv6_section(const WantedInterface& wanted) {
  const std::string addresses = address_lines(wanted, false);
  std::string_view method = addresses.empty() ? "auto" : "manual";
  if (wanted.rail && addresses.empty()) method = wanted.addresses.empty() ? "disabled" : "link-local";
  std::string text = fmt::format("\n[ipv6]\nmethod={}\n", method) + addresses + dns_line(wanted, false);
  if (wanted.rail && method != "disabled") text += "addr-gen-mode=eui64\n";
  if (wanted.rail && !addresses.empty()) text += "never-default=true\n";
  return text;
}

}  // namespace

DesiredFile keyfile(const Target& target, const WantedInterface& wanted) {
  // The priority is above other profiles of the interface, including NetworkManager's automatic one.
  std::string text = fmt::format(
      "{}[connection]\nid=railbed-{}\nuuid={}\ntype={}\ninterface-name={}\nautoconnect-priority=100\n",
      kFileMark, wanted.name, uuid_of(target.node().name, wanted.name), type_of(wanted.kind), wanted.name);
  text += link_sections(wanted) + ipv4_section(wanted) + ipv6_section(wanted);
  return {.path = fmt::format("{}{}.nmconnection", kConnections, wanted.name),
          .content = std::move(text),
          .mode = kPrivate};
}

DesiredFile unmanaged(const std::vector<std::string>& interfaces) {
  return {.path = std::string(kUnmanagedPath),
          .content = fmt::format("{}[device-railbed-unused]\nmatch-device=interface-name:={}\nmanaged=0\n",
                                 kFileMark, fmt::join(interfaces, ",interface-name:="))};
}

}  // namespace railbed
