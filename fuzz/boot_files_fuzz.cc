// Files that configure interfaces are the user's: any bytes are read or refused, what they say is bounded,
// and what a capture keeps of them says the same.
//
// Rooms: facts host nvidia os base
// Seeds: tests/machines
#include <algorithm>
#include <cstdint>
#include <string>

#include "facts/boot/boot_section.h"
#include "facts/collectors.h"
#include "fuzz/require.h"

namespace {

using namespace railbed;

void require_sound(const BootSection& section) {
  require(section.says.mtu == 0 || (section.says.mtu >= 68 && section.says.mtu <= 65'536));
  require(section.says.addresses.size() <= 64 && section.says.id.size() <= 63);
  NetInterface interface;
  interface.name = "ens6";
  interface.mac = {"02:00:00:00:00:06", "test"};
  fits(section, interface);
}

void require_same(const BootSection& section, const BootSection& other) {
  require(section.names == other.names && section.macs == other.macs && section.undecided == other.undecided);
  require(section.says.mtu == other.says.mtu && section.says.dhcp == other.says.dhcp &&
          section.says.addresses == other.says.addresses);
}

std::vector<BootSection> parse(std::string_view path, std::string_view text) {
  if (path.ends_with(".yaml")) {
    Netplan netplan;
    return netplan.add(text, "x.yaml") ? netplan.sections() : std::vector<BootSection>{};
  }
  if (path.ends_with("interfaces")) return parse_ifupdown(text);
  if (path.ends_with(".network")) return {parse_networkd(text)};
  const auto section =
      path.find("/ifcfg-") == std::string_view::npos ? parse_keyfile(text) : parse_ifcfg(text);
  return section ? std::vector<BootSection>{*section} : std::vector<BootSection>{};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  // A capture writes a few more brackets than there were, of which YAML may have 64.
  if (size > kLargestBootFile || std::ranges::count(text, '[') + std::ranges::count(text, '{') > 40) return 0;
  for (const std::string_view path :
       {"/etc/netplan/x.yaml", "/etc/network/interfaces", "/etc/systemd/network/x.network",
        "/etc/NetworkManager/system-connections/x.nmconnection", "/etc/sysconfig/network-scripts/ifcfg-x"}) {
    const auto sections = parse(path, text);
    const auto kept = parse(path, used_boot_file(path, text));
    require(sections.size() == kept.size());
    for (std::size_t i = 0; i < sections.size(); ++i) {
      require_sound(sections[i]);
      require_same(sections[i], kept[i]);
    }
  }
  for (const std::string_view path :
       {"/etc/apt/sources.list", "/etc/apt/sources.list.d/x.sources", "/etc/yum.repos.d/x.repo"}) {
    const auto sources = parse_package_sources(text, path);
    require(sources.size() <= 1024);
    for (const PackageSource& source : sources) require(source.uri.size() <= 400);
    require(parse_package_sources(used_package_sources(path, text), path) == sources);
  }
  return 0;
}
