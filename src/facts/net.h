// Network interfaces: what the kernel and iproute2 say of each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/reading.h"

namespace railbed {

class Host;

// What a port offers, in Mb/s of its fastest mode. ETHTOOL_GLINKSETTINGS, as `ethtool IF`
struct LinkModes {
  bool autonegotiates = false;
  int supported_mbps = 0;   // by port, firmware and transceiver
  int advertised_mbps = 0;  // 0, as the next: it is not stated
  int peer_mbps = 0;        // what the other end advertises
  static void fields(auto&& field) {
    field("autonegotiates", &LinkModes::autonegotiates);
    field("supported_mbps", &LinkModes::supported_mbps);
    field("advertised_mbps", &LinkModes::advertised_mbps);
    field("peer_mbps", &LinkModes::peer_mbps);
  }
};
// Pause frames that stop the whole port. ETHTOOL_GPAUSEPARAM, as `ethtool -a`
struct Pause {
  bool receive = false;
  bool transmit = false;
  static void fields(auto&& field) {
    field("receive", &Pause::receive);
    field("transmit", &Pause::transmit);
  }
};
// Priorities of a port. DCB netlink, as `dcb pfc show` and `dcb app show`
struct Priorities {
  std::vector<int> lossless;        // those with PFC
  std::map<std::string, int> dscp;  // DSCP → priority; empty: the port trusts the VLAN tag, not DSCP
  static void fields(auto&& field) {
    field("lossless", &Priorities::lossless);
    field("dscp", &Priorities::dscp);
  }
};
// Congestion control of RoCE. NVIDIA's OFED driver only: N/ecn
struct RoceCongestion {
  std::vector<int> notifies;       // priorities: N/ecn/roce_np/enable/PRIORITY
  std::vector<int> reacts;         // N/ecn/roce_rp/enable/PRIORITY
  Reading<int> notification_dscp;  // N/ecn/roce_np/cnp_dscp
  static void fields(auto&& field) {
    field("notifies", &RoceCongestion::notifies);
    field("reacts", &RoceCongestion::reacts);
    field("notification_dscp", &RoceCongestion::notification_dscp);
  }
};

// N = /sys/class/net/NAME
struct NetInterface {
  std::string name;
  Reading<int> mtu;                        // N/mtu
  Reading<int> speed_mbps;                 // N/speed; unsupported while the link is down (EINVAL or -1)
  Reading<std::string> operational_state;  // N/operstate: up, down, unknown
  Reading<bool> carrier;                   // N/carrier; unsupported while administratively down (EINVAL)
  Reading<std::uint64_t> carrier_changes;  // N/carrier_changes
  Reading<bool> administratively_up;       // IFF_UP of N/flags
  Reading<int> link_type;                  // N/type: 1 Ethernet, 32 InfiniBand, 772 loopback
  Reading<std::string> mac;                // N/address
  Reading<std::string> driver;             // last part of N/device/driver, resolved
  Reading<std::string> pci_address;        // from N/device, resolved; absent for virtual interfaces
  Reading<int> device_port;                // N/dev_port: which port of a multi-port adapter (mlx4)
  Reading<std::string> master;             // bond or bridge that owns it: last part of N/master, resolved
  Reading<std::string> bond_mode;          // N/bonding/mode, first word; absent unless it is a bond
  Reading<std::vector<std::string>> bond_members;    // N/bonding/slaves
  Reading<std::string> ipoib_mode;                   // N/mode: datagram or connected; absent unless IPoIB
  Reading<std::uint16_t> ipoib_pkey;                 // N/pkey: its partition; absent unless IPoIB
  Reading<std::vector<InterfaceAddress>> addresses;  // `ip -j address show`
  Reading<std::uint64_t> receive_errors;             // N/statistics/rx_errors
  Reading<std::uint64_t> receive_dropped;            // N/statistics/rx_dropped
  Reading<std::uint64_t> received_packets;           // N/statistics/rx_packets
  Reading<LinkModes> modes;                          // Ethernet on PCI only, as the next three
  Reading<Pause> pause;
  Reading<Priorities> priorities;
  Reading<RoceCongestion> congestion;
  static void fields(auto&& field) {
    field("name", &NetInterface::name);
    field("mtu", &NetInterface::mtu);
    field("speed_mbps", &NetInterface::speed_mbps);
    field("operational_state", &NetInterface::operational_state);
    field("carrier", &NetInterface::carrier);
    field("carrier_changes", &NetInterface::carrier_changes);
    field("administratively_up", &NetInterface::administratively_up);
    field("link_type", &NetInterface::link_type);
    field("mac", &NetInterface::mac);
    field("driver", &NetInterface::driver);
    field("pci_address", &NetInterface::pci_address);
    field("device_port", &NetInterface::device_port);
    field("master", &NetInterface::master);
    field("bond_mode", &NetInterface::bond_mode);
    field("bond_members", &NetInterface::bond_members);
    field("ipoib_mode", &NetInterface::ipoib_mode);
    field("ipoib_pkey", &NetInterface::ipoib_pkey);
    field("addresses", &NetInterface::addresses);
    field("receive_errors", &NetInterface::receive_errors);
    field("receive_dropped", &NetInterface::receive_dropped);
    field("received_packets", &NetInterface::received_packets);
    field("modes", &NetInterface::modes);
    field("pause", &NetInterface::pause);
    field("priorities", &NetInterface::priorities);
    field("congestion", &NetInterface::congestion);
  }
};

// An interface whose frames carry a VLAN's tag on another one. `ip -d -j link show type vlan`
struct Vlan {
  std::string interface;
  std::string parent;  // empty: in another network namespace
  int id = 0;
  static void fields(auto&& field) {
    field("interface", &Vlan::interface);
    field("parent", &Vlan::parent);
    field("id", &Vlan::id);
  }
};

// What the other end of a cable says of itself, as lldpd heard it. `lldpcli -f json0 show neighbors details`
struct LldpNeighbour {
  std::string interface;         // of this node
  std::string chassis;           // its identifier, most often a MAC address
  std::string name;              // of the switch: "leaf1"; empty: it does not say
  std::string port;              // of the switch, as it calls it
  std::optional<int> max_frame;  // bytes, header and checksum included (IEEE 802.3, Maximum Frame Size)
  std::optional<std::vector<int>> lossless;  // priorities with PFC (IEEE 802.1Qaz, PFC Configuration)
  static void fields(auto&& field) {
    field("interface", &LldpNeighbour::interface);
    field("chassis", &LldpNeighbour::chassis);
    field("name", &LldpNeighbour::name);
    field("port", &LldpNeighbour::port);
    field("max_frame", &LldpNeighbour::max_frame);
    field("lossless", &LldpNeighbour::lossless);
  }
};

// A queue discipline that holds back what an interface sends. `tc -j qdisc show`
struct Shaper {
  std::string interface;
  std::string kind;            // "tbf", "netem", "cake"; "htb", "hfsc", "cbq": their classes say how much
  double bits_per_second = 0;  // 0: it does not limit, or does not say
  double delay_ms = 0;
  double loss = 0;  // the share of packets that it drops on purpose
  static void fields(auto&& field) {
    field("interface", &Shaper::interface);
    field("kind", &Shaper::kind);
    field("bits_per_second", &Shaper::bits_per_second);
    field("delay_ms", &Shaper::delay_ms);
    field("loss", &Shaper::loss);
  }
};

// What one file says of an interface for the next boot; two files of netplan that are merged are one.
struct BootProfile {
  std::string interface;
  std::string manager;  // who reads it: "NetworkManager", "systemd-networkd", "ifupdown", "udev"
  std::string file;     // of several that are merged the last
  std::string id;       // netplan's of the device, NetworkManager's UUID; else empty
  bool kept = true;     // false: it lies in /run, which a reboot empties
  bool certain = true;  // false: whether it is for this interface, or all that counts, cannot be told
  int mtu = 0;          // 0: it sets none
  std::vector<InterfaceAddress> addresses;
  bool dhcp = false;  // IPv4
  static void fields(auto&& field) {
    field("interface", &BootProfile::interface);
    field("manager", &BootProfile::manager);
    field("file", &BootProfile::file);
    field("id", &BootProfile::id);
    field("kept", &BootProfile::kept);
    field("certain", &BootProfile::certain);
    field("mtu", &BootProfile::mtu);
    field("addresses", &BootProfile::addresses);
    field("dhcp", &BootProfile::dhcp);
  }
};

struct Net {
  Reading<std::vector<NetInterface>> interfaces;     // names in /sys/class/net
  Reading<std::vector<std::string>> default_routes;  // interfaces of `ip -j route show default`
  Reading<std::vector<Vlan>> vlans;
  Reading<std::vector<Shaper>> shapers;
  Reading<std::vector<LldpNeighbour>> lldp;  // absent where there is no lldpcli, unsupported where no lldpd
  // Of interfaces on PCI, IPoIB, bonds and VLANs. netplan, NetworkManager, systemd-networkd and ifupdown;
  // absent where none of their folders is there.
  Reading<std::vector<BootProfile>> at_boot;
  static void fields(auto&& field) {
    field("interfaces", &Net::interfaces);
    field("default_routes", &Net::default_routes);
    field("vlans", &Net::vlans);
    field("shapers", &Net::shapers);
    field("lldp", &Net::lldp);
    field("at_boot", &Net::at_boot);
  }
};

Net collect_net(Host& host);
// What may differ a second later: MTU, speed, state and carrier.
void read_link(Host& host, NetInterface& interface);
Reading<std::vector<Shaper>> collect_shapers(Host& host);
Reading<std::vector<LldpNeighbour>> collect_lldp(Host& host);
Reading<std::vector<BootProfile>> collect_net_at_boot(Host& host, const Net& net);

const NetInterface* find_interface(const Net& net, std::string_view name);
const Vlan* find_vlan(const Net& net, std::string_view interface);
bool has_default_route(const Net& net, std::string_view interface);
// The interface whose port carries this one: a VLAN's parent, else itself. Null: there is no such interface.
const NetInterface* carrier_of(const Net& net, std::string_view name);

}  // namespace railbed
