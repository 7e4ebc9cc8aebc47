// systemd-networkd's files: systemd.network(5), systemd.netdev(5). MTUBytes= is in the .network file: a .link
// file would also replace the one that names the interface.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "settings/files.h"
#include "settings/network/network_files.h"

namespace railbed {
namespace {

constexpr std::string_view kUnits = "/etc/systemd/network/";
// Only the first matching file counts: this name sorts before 10-netplan-… and files that people write.
constexpr std::string_view kStem = "05-railbed-";

std::string match_text(std::string_view names) { return fmt::format("[Match]\nName={}\n", names); }

std::string link_text(const WantedInterface& wanted) {
  std::string text;
  if (wanted.mtu) text += fmt::format("MTUBytes={}\n", *wanted.mtu);
  if (wanted.rail) text += "RequiredForOnline=no\n";
  return text.empty() ? "" : "\n[Link]\n" + text;
}

std::string network_text(const WantedInterface& wanted, std::span<const WantedInterface> all) {
  std::string text = "\n[Network]\n";
  for (const InterfaceAddress& address : wanted.addresses)
    text += fmt::format("Address={}\n", to_text(address));
  text += fmt::format("DHCP={}\n", wanted.dhcp ? "ipv4" : "no");
  if (wanted.rail) text += "IPv6AcceptRA=no\n";
  if (wanted.gateway) text += fmt::format("Gateway={}\n", wanted.gateway->to_text());
  for (const IpAddress& address : wanted.dns) text += fmt::format("DNS={}\n", address.to_text());
  for (const WantedInterface& interface : all)
    if (interface.kind == LinkKind::kVlan && interface.parent == wanted.name)
      text += fmt::format("VLAN={}\n", interface.name);
  return text;
}

std::string ipoib_section(const WantedInterface& wanted) {
  return wanted.kind == LinkKind::kInfiniband && wanted.connected ? "\n[IPoIB]\nMode=connected\n" : "";
}

DesiredFile unit_file(const std::string& name, const std::string& text) {
  return {.path = std::string(kUnits) + name, .content = std::string(kFileMark) + text};
}

}  // namespace

std::string networkd_name(std::string_view interface) {
  return fmt::format("{}{}.network", kStem, interface);
}

std::vector<DesiredFile> networkd_files(const WantedInterface& wanted, std::span<const WantedInterface> all) {
  std::vector<DesiredFile> files;
  if (wanted.kind == LinkKind::kVlan)
    files.push_back(
        unit_file(fmt::format("{}{}.netdev", kStem, wanted.name),
                  fmt::format("[NetDev]\nName={}\nKind=vlan\n\n[VLAN]\nId={}\n", wanted.name, wanted.vlan)));
  files.push_back(unit_file(
      networkd_name(wanted.name),
      match_text(wanted.name) + link_text(wanted) + ipoib_section(wanted) + network_text(wanted, all)));
  return files;
}

DesiredFile networkd_unused(const std::vector<std::string>& interfaces) {
  return unit_file("04-railbed-unused.network",
                   match_text(fmt::format("{}", fmt::join(interfaces, " "))) +
                       "\n[Link]\nActivationPolicy=always-down\nRequiredForOnline=no\n"
                       "\n[Network]\nLinkLocalAddressing=no\n");
}

bool is_own_network_file(std::string_view path) {
  return path.starts_with("/etc/netplan/99-zz-railbed") ||
         path.starts_with("/etc/systemd/network/05-railbed-") ||
         path.starts_with("/etc/systemd/network/04-railbed-") ||
         path.starts_with("/etc/NetworkManager/system-connections/railbed-");
}

}  // namespace railbed
