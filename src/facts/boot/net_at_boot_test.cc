#include <gtest/gtest.h>

#include <fmt/format.h>

#include "facts/boot/boot_section.h"
#include "facts/capture.h"
#include "facts/facts.h"
#include "host/tree.h"

namespace railbed {
namespace {

constexpr std::string_view kInterfaces = R"(railbed-tree 1
/sys/devices/pci0000:00/0000:01:00.0/
/sys/class/net/ens6/device -> ../../../devices/pci0000:00/0000:01:00.0
/sys/class/net/ens6/address = 02:00:00:00:00:06
/sys/devices/pci0000:00/0000:01:00.1/
/sys/class/net/ens7/device -> ../../../devices/pci0000:00/0000:01:00.1
/sys/class/net/ens7/address = 02:00:00:00:00:07
/sys/class/net/veth1/address = 02:00:00:00:00:08
)";

Tree tree_with(std::string_view lines) {
  auto tree = parse_tree(std::string(kInterfaces) + std::string(lines), "test", nullptr);
  EXPECT_TRUE(tree) << tree.error().text;
  return tree ? *tree : Tree{};
}

// "ens6 NetworkManager /etc/x [id] kept mtu addresses dhcp", one a line.
std::string at_boot(const Tree& tree) {
  const auto host = open_tree(tree);
  const Facts facts = collect_facts(*host);
  if (!facts.net.at_boot) return describe(facts.net.at_boot.miss(), facts.net.at_boot.from());
  std::string text;
  for (const BootProfile& profile : *facts.net.at_boot) {
    text += fmt::format("{} {} {} {}{}{} {}", profile.interface, profile.manager, profile.file, profile.id,
                        profile.kept ? "" : " gone", profile.certain ? "" : " perhaps", profile.mtu);
    for (const auto& [address, prefix] : profile.addresses)
      text += fmt::format(" {}/{}", address.to_text(), prefix);
    text += profile.dhcp ? " dhcp\n" : "\n";
  }
  return text;
}

// A capture, masked or not, gives the same profiles.
std::string said(std::string_view lines) {
  const Tree tree = tree_with(lines);
  const std::string text = at_boot(tree);
  const auto host = open_tree(tree);
  EXPECT_EQ(at_boot(capture(*host)), text);
  return text;
}

// A guest's interface may be on no PCI bus; an end of a container's has no address of a network.
TEST(NetAtBoot, KnowsAnInterfaceByItsAddress) {
  const auto with = [](std::string_view address) {
    return said(fmt::format(R"(
/etc/NetworkManager/system-connections/rail.nmconnection <<END
[connection]
id=rail
type=ethernet
interface-name=veth1

[ipv4]
method=manual
address1=10.88.0.1/24
END
@ addresses <<END
[{{"ifname":"veth1","addr_info":[{{"local":"{}","prefixlen":24}}]}}]
END
)",
                            address));
  };
  EXPECT_EQ(
      with("10.88.0.1"),
      "veth1 NetworkManager /etc/NetworkManager/system-connections/rail.nmconnection  0 10.88.0.1/24\n");
  EXPECT_EQ(with("fe80::1"), "");
}

TEST(NetAtBoot, NetplanMergesItsFilesAndNamesItsRenderer) {
  EXPECT_EQ(said(R"(
/etc/netplan/01-network-manager-all.yaml <<END
# Let NetworkManager manage all devices on this system
network:
  version: 2
  renderer: NetworkManager
END
/etc/netplan/50-rails.yaml <<END
network:
  ethernets:
    ens6:
      mtu: 1500
      addresses: [192.168.100.1/24]
    rail7:
      renderer: networkd
      match: {macaddress: "02:00:00:00:00:07"}
      set-name: ens7
      dhcp4: yes
  wifis:
    wlan0: {access-points: {home: {password: secret}}}
END
/etc/netplan/60-more.yaml <<END
network: {ethernets: {ens6: {mtu: 9000, addresses: ["fd00::1/64": {label: x}]}}}
END
/lib/netplan/60-more.yaml = network: {ethernets: {ens7: {mtu: 1280}}}
/run/netplan/99-try.yaml = network: {ethernets: {ens7: {mtu: 4000}}}
)"),
            "ens6 NetworkManager /etc/netplan/60-more.yaml ens6 9000 192.168.100.1/24 fd00::1/64\n"
            "ens7 systemd-networkd /etc/netplan/50-rails.yaml rail7 0 dhcp\n"
            "ens7 systemd-networkd /run/netplan/99-try.yaml ens7 gone 4000\n");
}

TEST(NetAtBoot, NetworkManagerKeepsWhatLiesInEtc) {
  EXPECT_EQ(
      said(R"(
/etc/NetworkManager/system-connections/rail.nmconnection <<END
[connection]
id=rail
uuid=11111111-2222-3333-4444-555555555555
type=ethernet
interface-name=ens6
[ethernet]
mtu=9000
[ipv4]
address1=192.168.100.1/24,192.168.100.254
method=manual
END
/etc/NetworkManager/system-connections/Wired\040connection\0401.nmconnection <<END
[connection]
type=ethernet
[ipv4]
method=auto
END
/etc/NetworkManager/system-connections/home.nmconnection <<END
[connection]
type=wifi
interface-name=ens6
[wifi-security]
psk=secret
END
/run/NetworkManager/system-connections/netplan-ens6.nmconnection = [connection]
/run/NetworkManager/system-connections/mesh.nmconnection <<END
[connection]
type=802-3-ethernet
[802-3-ethernet]
mac-address=02:00:00:00:00:07
[ipv4]
addresses1=192.168.101.1/24;
END
)"),
      "ens6 NetworkManager /etc/NetworkManager/system-connections/Wired connection 1.nmconnection  perhaps 0 "
      "dhcp\n"
      "ens6 NetworkManager /etc/NetworkManager/system-connections/rail.nmconnection "
      "11111111-2222-3333-4444-555555555555 9000 192.168.100.1/24\n"
      "ens7 NetworkManager /etc/NetworkManager/system-connections/Wired connection 1.nmconnection  perhaps 0 "
      "dhcp\n"
      "ens7 NetworkManager /run/NetworkManager/system-connections/mesh.nmconnection  gone 0 "
      "192.168.101.1/24\n");
}

TEST(NetAtBoot, OfNetworkdTheFirstFileThatFitsCounts) {
  EXPECT_EQ(said(R"(
/etc/systemd/network/10-rails.network <<END
[Match]
Name=ens[6]
[Link]
MTUBytes=9000
[Network]
Address=192.168.100.1/24
END
/etc/systemd/network/20-all.network <<END
[Match]
Name=en*
[Network]
DHCP=yes
END
/usr/lib/systemd/network/10-rails.network = [Match]
/usr/lib/systemd/network/05-kind.network <<END
[Match]
Name=ens7
Type=ether
[Link]
MTUBytes=1500
END
/usr/lib/systemd/network/99-default.link = [Match]
/etc/systemd/network/10-jumbo.link <<END
[Match]
OriginalName=*
[Link]
MTUBytes=9000
END
)"),
            "ens6 systemd-networkd /etc/systemd/network/10-rails.network  9000 192.168.100.1/24\n"
            "ens6 udev /etc/systemd/network/10-jumbo.link  9000\n"
            "ens7 systemd-networkd /usr/lib/systemd/network/05-kind.network  perhaps 1500\n"
            "ens7 systemd-networkd /etc/systemd/network/20-all.network  perhaps 0 dhcp\n"
            "ens7 udev /etc/systemd/network/10-jumbo.link  9000\n");
}

TEST(NetAtBoot, IfupdownCountsWhereItStarts) {
  const std::string files = R"(
/etc/network/interfaces <<END
source /etc/network/interfaces.d/*
auto lo ens7
iface lo inet loopback
iface ens6 inet dhcp
iface ens7 inet static
    address 192.168.101.1
    netmask 255.255.255.0
    post-up ip link set dev $IFACE mtu 9000
END
/etc/network/interfaces.d/ens6 <<END
allow-hotplug ens6
iface ens6 inet static
  address 192.168.100.1/24
  mtu 9000
END
)";
  EXPECT_EQ(said(files), "absent: no file of a known network configuration (/etc/netplan)");
  EXPECT_EQ(said(files + "/lib/systemd/system/networking.service = [Unit]\n"
                         "/etc/systemd/system/multi-user.target.wants/networking.service -> "
                         "/lib/systemd/system/networking.service\n"),
            "ens6 ifupdown /etc/network/interfaces.d/ens6  9000 192.168.100.1/24\n"
            "ens7 ifupdown /etc/network/interfaces  9000 192.168.101.1/24\n");
}

TEST(NetAtBoot, OlderRedHatFilesAreRead) {
  EXPECT_EQ(said(R"(
/etc/sysconfig/network-scripts/ifcfg-ens6 <<END
DEVICE="ens6"
ONBOOT=yes
BOOTPROTO=none
IPADDR=192.168.100.1
PREFIX=24
MTU=9000
END
/etc/sysconfig/network-scripts/ifcfg-lo = DEVICE=lo
)"),
            "ens6 NetworkManager /etc/sysconfig/network-scripts/ifcfg-ens6  9000 192.168.100.1/24\n");
}

TEST(NetAtBoot, WhatCannotBeReadIsNoAnswer) {
  const auto miss = [](std::string_view lines) {
    const auto host = open_tree(tree_with(lines));
    return collect_facts(*host).net.at_boot.miss().missing;
  };
  EXPECT_EQ(miss(""), Missing::kAbsent);
  EXPECT_EQ(miss("/etc/netplan/50-cloud-init.yaml ! EACCES\n"), Missing::kDenied);
  EXPECT_EQ(miss("/etc/netplan/50.yaml = network: {ethernets: &all {ens6: {mtu: 9000}}}\n"),
            Missing::kGarbled);
}

TEST(NetAtBoot, ACaptureKeepsNoSecret) {
  EXPECT_EQ(used_boot_file("/etc/NetworkManager/system-connections/x.nmconnection",
                           "[connection]\ntype=ethernet\n[802-1x]\npassword=secret\n"),
            "[connection]\ntype=ethernet\n");
  EXPECT_EQ(
      used_boot_file("/etc/netplan/x.yaml", "network: {ethernets: {ens6: {auth: {password: x}, mtu: 9000}}}"),
      "network:\n  version: 2\n  ethernets: {\"ens6\": {\"mtu\": \"9000\"}}\n");
  EXPECT_EQ(used_boot_file("/etc/network/interfaces", "up wpa -p x mtu 9000\nwpa-psk x\n"), "up mtu 9000\n");
}

}  // namespace
}  // namespace railbed
