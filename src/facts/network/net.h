// Network interfaces as the kernel and iproute2 report them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/ip.h"
#include "base/reading.h"
#include "host/device_calls.h"

namespace railbed {

class Host;

// The speeds of a port: Mb/s of its fastest mode. ETHTOOL_GLINKSETTINGS, as `ethtool IF`
struct LinkModes {
  bool autonegotiates = false;
  int supported_mbps = 0;   // by port, firmware and transceiver together
  int advertised_mbps = 0;  // 0 if not stated, also in peer_mbps
  int peer_mbps = 0;        // advertised by the other end
  FIELDS(LinkModes, autonegotiates, supported_mbps, advertised_mbps, peer_mbps);
};
// Pause frames that stop the whole port. ETHTOOL_GPAUSEPARAM, as `ethtool -a`
struct Pause {
  bool receive = false;
  bool transmit = false;
  FIELDS(Pause, receive, transmit);
};
// Priorities of a port. DCB netlink, as `dcb pfc show` and `dcb app show`
struct Priorities {
  std::vector<int> lossless;        // priorities with PFC
  std::map<std::string, int> dscp;  // DSCP → priority; empty: the port trusts the VLAN tag, not DSCP
  FIELDS(Priorities, lossless, dscp);
};
// Congestion control of RoCE. NVIDIA's OFED driver only: N/ecn
struct RoceCongestion {
  std::vector<int> notifies;       // priorities: N/ecn/roce_np/enable/PRIORITY
  std::vector<int> reacts;         // N/ecn/roce_rp/enable/PRIORITY
  Reading<int> notification_dscp;  // N/ecn/roce_np/cnp_dscp
  FIELDS(RoceCongestion, notifies, reacts, notification_dscp);
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
  Reading<std::string> master;     // bond or bridge that it belongs to: last part of N/master, resolved
  Reading<std::string> bond_mode;  // N/bonding/mode, first word; absent unless it is a bond
  Reading<std::vector<std::string>> bond_members;    // N/bonding/slaves
  Reading<std::string> ipoib_mode;                   // N/mode: datagram or connected; absent unless IPoIB
  Reading<std::uint16_t> ipoib_pkey;                 // N/pkey: its partition; absent unless IPoIB
  Reading<std::vector<InterfaceAddress>> addresses;  // `ip -j address show`
  Reading<std::uint64_t> receive_errors;             // N/statistics/rx_errors
  Reading<std::uint64_t> receive_dropped;            // N/statistics/rx_dropped
  Reading<std::uint64_t> received_packets;           // N/statistics/rx_packets
  Reading<LinkModes> modes;                          // Ethernet on PCI only, as the next four
  Reading<Pause> pause;
  Reading<Priorities> priorities;
  Reading<FecState> fec;  // host call "fec NAME"
  Reading<RoceCongestion> congestion;
  FIELDS(NetInterface, name, mtu, speed_mbps, operational_state, carrier, carrier_changes,
         administratively_up, link_type, mac, driver, pci_address, device_port, master, bond_mode,
         bond_members, ipoib_mode, ipoib_pkey, addresses, receive_errors, receive_dropped, received_packets,
         modes, pause, priorities, fec, congestion);
};

// An interface that sends and receives frames of one VLAN on another interface. `ip -d -j link show type
// vlan`
struct Vlan {
  std::string interface;
  std::string parent;  // empty if it is in another network namespace
  int id = 0;
  FIELDS(Vlan, interface, parent, id);
};

// The identity of the other end of a cable, received by lldpd. `lldpcli -f json0 show neighbors details`
struct LldpNeighbour {
  std::string interface;         // of this node
  std::string chassis;           // its identifier, most often a MAC address
  std::string name;              // name of the switch: "leaf1"; empty if it sends none
  std::string port;              // port of the switch, in its own naming
  std::optional<int> max_frame;  // bytes, header and checksum included (IEEE 802.3, Maximum Frame Size)
  std::optional<std::vector<int>> lossless;  // priorities with PFC (IEEE 802.1Qaz, PFC Configuration)
  FIELDS(LldpNeighbour, interface, chassis, name, port, max_frame, lossless);
};

// A queue discipline that limits, delays or drops what an interface sends. `tc -j qdisc show`
struct Shaper {
  std::string interface;
  // "tbf", "netem", "cake". "htb", "hfsc" and "cbq" have their limits in classes, which are not read.
  std::string kind;
  double bits_per_second = 0;  // 0 if it does not limit or the limit is not known
  double delay_ms = 0;
  double loss = 0;  // share of packets that it drops on purpose, 0 to 1
  FIELDS(Shaper, interface, kind, bits_per_second, delay_ms, loss);
};

// The settings for an interface at the next boot from one file. Two netplan files that are merged count as
// one.
struct BootProfile {
  std::string interface;
  std::string manager;  // the program that reads it: "NetworkManager", "systemd-networkd", "ifupdown", "udev"
  std::string file;     // the file; the last one of several that are merged
  std::string id;       // the device's ID in netplan, or NetworkManager's UUID; else empty
  bool kept = true;     // false if the file is in /run, which a reboot empties
  // False if railbed cannot decide whether the file applies to this interface, or whether another file wins.
  bool certain = true;
  int mtu = 0;  // bytes; 0 if it sets none
  std::vector<InterfaceAddress> addresses;
  bool dhcp = false;  // IPv4
  FIELDS(BootProfile, interface, manager, file, id, kept, certain, mtu, addresses, dhcp);
};

struct Net {
  Reading<std::vector<NetInterface>> interfaces;     // names in /sys/class/net
  Reading<std::vector<std::string>> default_routes;  // interfaces of `ip -j route show default`
  Reading<std::vector<Vlan>> vlans;
  Reading<std::vector<Shaper>> shapers;
  Reading<std::vector<LldpNeighbour>> lldp;  // absent without lldpcli, unsupported without lldpd
  // For interfaces on PCI, IPoIB, bonds and VLANs, from the files of netplan, NetworkManager,
  // systemd-networkd and ifupdown. Absent if none of their folders exists.
  Reading<std::vector<BootProfile>> at_boot;
  FIELDS(Net, interfaces, default_routes, vlans, shapers, lldp, at_boot);
};

Net collect_net(Host& host);
// Leaves out modes and lanes beyond those that exist: the state may be a stranger's.
void limit(FecState& fec);
// Reads the forward error correction of a port; unsupported if its driver has none.
Reading<FecState> read_fec(Host& host, const std::string& interface);
// Reads the fields that may change within a second: MTU, speed, state, carrier and its changes.
// `interface.name` must be set.
void read_link(Host& host, NetInterface& interface);
Reading<std::vector<Shaper>> collect_shapers(Host& host);
Reading<std::vector<LldpNeighbour>> collect_lldp(Host& host);
Reading<std::vector<BootProfile>> collect_net_at_boot(Host& host, const Net& net);

// Return the entry of this name; null if there is none. The pointers point into `net`.
const NetInterface* find_interface(const Net& net, std::string_view name);
const Vlan* find_vlan(const Net& net, std::string_view interface);
bool has_default_route(const Net& net, std::string_view interface);
// Returns the interface whose port carries this one: a VLAN's parent, else the interface itself. Null if
// there is no such interface.
const NetInterface* carrier_of(const Net& net, std::string_view name);

}  // namespace railbed
