// The cluster as it should be: what a valid cluster.yaml says, every default filled in.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/ip.h"
#include "base/result.h"
#include "base/units.h"

namespace railbed {

enum class Fabric { kRoce, kInfiniband, kEthernet };
constexpr auto enum_names(Fabric) {
  return std::array<std::string_view, 3>{"roce", "infiniband", "ethernet"};
}

enum class Topology { kBackToBack, kSwitch };
constexpr auto enum_names(Topology) { return std::array<std::string_view, 2>{"back-to-back", "switch"}; }

// What a healthy node shows; nothing where the file does not say. Rules fall back to hardware tables and then
// to the majority of the fleet.
struct Expectations {
  std::optional<int> gpus;
  std::optional<std::string> gpu_model;  // substring of the model name: "V100", "GB10"
  std::optional<std::string> driver;     // NVIDIA driver version or its prefix
  std::optional<std::string> cuda;       // version that the driver must serve, at least: "12.8"
  std::optional<bool> mig;               // Multi-Instance GPU; off when nothing is said
  std::optional<std::string> os;         // "ubuntu 22.04"
  std::optional<std::string> kernel;     // release or its beginning: "6.8.0-45"
  std::optional<std::string> bios;       // version or its beginning: "3.4"
  std::optional<std::map<std::string, std::string>>
      firmware;                                // adapters': board id → version or its beginning
  std::optional<std::string> nccl;             // NCCL library version or its prefix: "2.28"
  std::optional<ByteCount> memory;             // at least 95 % of it
  std::optional<int> traffic_class;            // RoCE ToS byte, 104 = DSCP 26
  std::optional<std::string> governor;         // performance
  std::optional<std::uint64_t> socket_buffer;  // net.core.{r,w}mem_max at least
  std::optional<bool> subnet_manager;          // this node runs opensm; once said of one, of no other
  std::optional<std::string> checkpoint_path;  // where checkpoints go: there, and with room
  std::optional<std::string> venv;             // Python environment whose PyTorch is tried: "/opt/venv"
  std::optional<std::string> container;        // image that has to see GPUs and RDMA when it runs
  std::optional<std::string>
      container_runtime;                    // docker or podman; docker where both are, when nothing is said
  std::optional<std::string> cuda_toolkit;  // its version or its beginning: "12.8"
  std::optional<bool> mpi;                  // programs with MPI are built here
  double fraction_of_ceiling = 0.9;         // measured bandwidth below it fails
  FIELDS(Expectations, gpus, gpu_model, driver, cuda, mig, os, kernel, bios, firmware, nccl, memory,
         traffic_class, governor, socket_buffer, subnet_manager, checkpoint_path, venv, container,
         container_runtime, cuda_toolkit, mpi, fraction_of_ceiling);
};

// Who keeps the network's settings for the next boot.
enum class NetworkKeeper { kNetplan, kNetworkManager, kNetworkd };
constexpr auto enum_names(NetworkKeeper) {
  return std::array<std::string_view, 3>{"netplan", "networkmanager", "networkd"};
}

// What `railbed plan` shall set beyond what rails and expectations say. What is not said stays as it is on
// the node.
struct Configuration {
  std::optional<NetworkKeeper> network;             // the one that the node runs, when nothing is said
  std::optional<std::string> management_interface;  // left alone when nothing is said
  std::optional<InterfaceAddress> management_address;
  std::optional<bool> management_dhcp;
  std::optional<IpAddress> management_gateway;
  std::optional<std::vector<IpAddress>> management_dns;
  std::optional<std::vector<std::string>> unused_interfaces;  // kept down at every boot
  std::optional<int> pfc_priority;                            // the lossless one; RoCE goes there by its DSCP
  std::optional<std::string> console;  // serial port of the kernel and of a login: "ttyS1"
  std::optional<int> console_rate;     // bit/s; 115200 when nothing is said
  std::optional<bool> nccl_profile;    // NCCL's variables in /etc/profile.d too
  std::optional<std::string> user;     // who logs in: made by autoinstall, owns the cluster's key
  std::optional<std::vector<std::string>>
      authorized_keys;                     // public keys, a line each, that may log in as `user`
  std::optional<bool> exporters;           // node_exporter, dcgm-exporter where GPUs are, railbed's own timer
  std::optional<bool> packages;            // drivers, CUDA, NCCL, MPI as `expect` says them
  std::optional<std::string> driver_kind;  // NVIDIA's kernel modules: open or proprietary
  FIELDS(Configuration, network, management_interface, management_address, management_dhcp,
         management_gateway, management_dns, unused_interfaces, pfc_priority, console, console_rate,
         nccl_profile, user, authorized_keys, exporters, packages, driver_kind);
  bool operator==(const Configuration&) const = default;
};

// What is spoken with BMCs: IPMI 2.0 over UDP port 623, Redfish over HTTPS, or SMASH CLP over ssh.
enum class BmcProtocol { kIpmi, kRedfish, kSmash };
constexpr auto enum_names(BmcProtocol) { return std::array<std::string_view, 3>{"ipmi", "redfish", "smash"}; }

// How BMCs are reached. Passwords never stand in cluster.yaml, only where they lie.
struct BmcAccess {
  std::optional<BmcProtocol> protocol;  // none: IPMI, or Redfish where only that answers
  std::string user;                     // empty: the password file names users, or nobody does
  std::string password_file;            // absolute, or relative to where railbed runs; empty: none
  std::optional<int> cipher;            // suite of IPMI; 17 and then 3 when nothing is said
  std::string certificates;  // a file that says which certificates Redfish trusts; empty: the system's
  FIELDS(BmcAccess, protocol, user, password_file, cipher, certificates);
  bool operator==(const BmcAccess&) const = default;
};

struct Node {
  std::string name;
  std::string ssh;                 // ssh destination as the user would type it; empty when local
  bool local = false;              // the agent is started on this machine, without ssh
  std::optional<std::string> bmc;  // address of the BMC
  Expectations expect;             // the cluster's, with the node's own laid over
  Configuration configure;         // likewise
  FIELDS(Node, name, ssh, local, bmc, expect, configure);
};

struct RailPort {
  std::string node;
  std::string interface;
  std::optional<IpAddress> address;  // absent on InfiniBand without IPoIB
  FIELDS(RailPort, node, interface, address);
};

// A rail: the set of ports, one a node, that reach each other over one subnet.
struct Rail {
  std::string name;
  Fabric fabric = Fabric::kRoce;
  Topology topology = Topology::kSwitch;
  std::optional<Subnet> subnet;
  std::optional<int> mtu;        // of the interface; 9000 on roce unless the file says otherwise
  std::optional<BitRate> speed;  // of the port, exactly
  std::optional<int> vlan;       // then each interface is named PARENT.VLAN
  std::string rdma_driver;       // "rxe", "siw" for software RDMA; empty: whatever the adapter has
  std::vector<RailPort> ports;
  FIELDS(Rail, name, fabric, topology, subnet, mtu, speed, vlan, rdma_driver, ports);
};

// What was bought: a bill of materials, as far as it decides what fits.
enum class PartKind { kSwitch, kCable, kServer, kAdapter, kGpu };
constexpr auto enum_names(PartKind) {
  return std::array<std::string_view, 5>{"switch", "cable", "server", "adapter", "gpu"};
}
enum class CableMedium { kPassive, kActive, kOptical };
constexpr auto enum_names(CableMedium) {
  return std::array<std::string_view, 3>{"passive", "active", "optical"};
}

struct ClusterPart {
  PartKind kind = PartKind::kSwitch;
  std::string name;   // of a switch
  std::string model;  // as it is sold: "MCX455A-ECAT"
  int quantity = 1;   // of adapters and GPUs in each node, of cables in all
  std::optional<int> ports;
  std::optional<BitRate> speed;  // of each port, or of the cable
  std::optional<double> metres;
  std::optional<CableMedium> medium;
  std::string processor;
  std::optional<int> pcie;         // generation of the slot, or of all slots of a server
  std::optional<int> lanes;        // wired to the slot
  std::optional<int> slot_watts;   // that the slot gives and no connector beside it
  std::vector<std::string> rails;  // empty: all
  std::vector<std::string> nodes;  // empty: all
  int line = 0;                    // of the file; for complaints alone
  FIELDS(ClusterPart, kind, name, model, quantity, ports, speed, metres, medium, processor, pcie, lanes,
         slot_watts, rails, nodes);
};

struct Cluster {
  std::string name;
  std::string file;        // where it was read from
  std::string ssh_config;  // -F for ssh; empty: the user's own
  BmcAccess bmc;
  std::vector<Node> nodes;
  std::vector<Rail> rails;
  std::vector<ClusterPart> parts;
  FIELDS(Cluster, name, file, ssh_config, bmc, nodes, rails, parts);
};

const Node* find_node(const Cluster& cluster, std::string_view name);
const Rail* find_rail(const Cluster& cluster, std::string_view name);
const RailPort* find_port(const Rail& rail, std::string_view node);

// The names of nodes or rails, of the first 2,000: to look for the one that was meant.
template <class Item>
std::vector<std::string_view> names_of(const std::vector<Item>& items) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < items.size() && i < 2000; ++i) names.push_back(items[i].name);
  return names;
}
// What a user hears who names a node or a rail that the cluster does not have: what was meant, or what there
// is.
Error no_such_node(const Cluster& cluster, std::string_view name);
Error no_such_rail(const Cluster& cluster, std::string_view name);

}  // namespace railbed
