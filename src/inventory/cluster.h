// The cluster as it should be: a valid cluster.yaml with every default filled in.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/ip.h"
#include "base/result.h"
#include "base/units.h"

namespace railbed {

// The network technology of a rail.
enum class Fabric { kRoce, kInfiniband, kEthernet };
constexpr auto enum_names(Fabric) {
  return std::array<std::string_view, 3>{"roce", "infiniband", "ethernet"};
}

enum class Topology { kBackToBack, kSwitch };
constexpr auto enum_names(Topology) { return std::array<std::string_view, 2>{"back-to-back", "switch"}; }

// The expected properties of a healthy node; nullopt if the file does not set them. Rules then use hardware
// tables, and after these the majority of the fleet.
struct Expectations {
  std::optional<int> gpus;
  std::optional<std::string> gpu_model;  // substring of the model name: "V100", "GB10"
  std::optional<std::string> driver;     // NVIDIA driver version or its prefix
  std::optional<std::string> cuda;       // lowest CUDA version that the driver must support: "12.8"
  std::optional<bool> mig;               // Multi-Instance GPU; off by default
  std::optional<std::string> os;         // "ubuntu 22.04"
  std::optional<std::string> kernel;     // release or its beginning: "6.8.0-45"
  std::optional<std::string> bios;       // version or its beginning: "3.4"
  // Firmware of adapters: board ID → version or its beginning.
  std::optional<std::map<std::string, std::string>> firmware;
  std::optional<std::string> nccl;             // NCCL library version or its prefix: "2.28"
  std::optional<ByteCount> memory;             // the node has at least 95 % of it
  std::optional<int> traffic_class;            // RoCE ToS byte, 104 = DSCP 26
  std::optional<std::string> governor;         // performance
  std::optional<std::uint64_t> socket_buffer;  // lower limit of net.core.{r,w}mem_max in bytes
  // This node runs opensm. If one node has this, no other node may run it.
  std::optional<bool> subnet_manager;
  std::optional<std::string> checkpoint_path;  // folder of checkpoints: it must exist and have free space
  std::optional<std::string> venv;             // Python environment whose PyTorch is tried: "/opt/venv"
  std::optional<std::string> container;        // image that must see GPUs and RDMA when it runs
  // docker or podman; docker by default if both exist.
  std::optional<std::string> container_runtime;
  std::optional<std::string> cuda_toolkit;  // version or its beginning: "12.8"
  std::optional<bool> mpi;                  // programs with MPI are built here
  std::optional<bool> gpudirect_storage;    // files on NVMe drives reach GPUs without host memory
  double fraction_of_ceiling = 0.9;         // a measured bandwidth below this share of the ceiling fails
  FIELDS(Expectations, gpus, gpu_model, driver, cuda, mig, os, kernel, bios, firmware, nccl, memory,
         traffic_class, governor, socket_buffer, subnet_manager, checkpoint_path, venv, container,
         container_runtime, cuda_toolkit, mpi, gpudirect_storage, fraction_of_ceiling);
};

// The program that manages the network's settings at boot.
enum class NetworkKeeper { kNetplan, kNetworkManager, kNetworkd };
constexpr auto enum_names(NetworkKeeper) {
  return std::array<std::string_view, 3>{"netplan", "networkmanager", "networkd"};
}

// The MIG instances that GPUs of a node have.
struct MigLayout {
  std::vector<int> gpus = {};                 // by the order of their PCI addresses, from 0; empty: all
  std::map<std::string, int> instances = {};  // how many of each profile, as in "3g.40gb"
  FIELDS(MigLayout, gpus, instances);
  bool operator==(const MigLayout&) const = default;
};

// Returns the layout of the node's GPU at this position; null if none has it. No GPU is in two.
const MigLayout* mig_layout_of(const std::vector<MigLayout>& layouts, int gpu);

// How programs share the whole GPUs of a node.
enum class SharingMethod { kNone, kTimeSlices, kMps };
constexpr auto enum_names(SharingMethod) {
  return std::array<std::string_view, 3>{"none", "time-slices", "mps"};
}

struct GpuSharing {
  SharingMethod method = SharingMethod::kNone;
  // Containers that get one GPU in Kubernetes, whose device plugin then does the sharing. Empty: the node itself does.
  std::optional<int> replicas = {};
  // What MPS of the node gives to one program, at most:
  std::optional<int> active_threads = {};       // percent of a GPU's threads
  std::optional<ByteCount> pinned_memory = {};  // of each GPU
  FIELDS(GpuSharing, method, replicas, active_threads, pinned_memory);
  bool operator==(const GpuSharing&) const = default;

  bool is_mps_of_node() const { return method == SharingMethod::kMps && !replicas; }
  bool is_of_kubernetes() const { return method != SharingMethod::kNone && replicas.has_value(); }
};

// Settings for `railbed plan` in addition to those that follow from rails and expectations. A setting that is
// missing stays as it is on the node.
struct Configuration {
  std::optional<NetworkKeeper> network;             // default: the one that the node runs
  std::optional<std::string> management_interface;  // default: not changed
  std::optional<InterfaceAddress> management_address;
  std::optional<bool> management_dhcp;
  std::optional<IpAddress> management_gateway;
  std::optional<std::vector<IpAddress>> management_dns;
  std::optional<std::vector<std::string>> unused_interfaces;  // kept down at every boot
  std::optional<int> pfc_priority;     // the lossless priority; RoCE packets get it by their DSCP
  std::optional<std::string> console;  // serial port of the kernel and of a login: "ttyS1"
  std::optional<int> console_rate;     // bit/s; default: 115200
  std::optional<bool> nccl_profile;    // write NCCL's variables to /etc/profile.d, too
  std::optional<std::string> user;     // login user: created by autoinstall, owns the cluster's key
  // Public keys, one line each, that may log in as `user`.
  std::optional<std::vector<std::string>> authorized_keys;
  std::optional<bool> exporters;  // node_exporter, railbed's own timer, and dcgm-exporter on nodes with GPUs
  std::optional<bool> packages;   // install drivers, CUDA, NCCL and MPI in the versions of `expect`
  std::optional<std::string> driver_kind;  // NVIDIA's kernel modules: open or proprietary
  // Where the folders of NVIDIA's CUDA repository are: "nvidia" (default), an address of a mirror, or "none".
  std::optional<std::string> nvidia_repository;
  // Fingerprint of that repository's key, 40 capitals; default: the one railbed knows.
  std::optional<std::string> nvidia_key;
  std::optional<bool> memory_guard;  // earlyoom ends a process before memory is used up
  // Container engines that have NVIDIA's runtime: docker, containerd, crio
  std::optional<std::vector<std::string>> nvidia_runtime;
  std::optional<std::vector<MigLayout>> mig;
  std::optional<GpuSharing> gpu_sharing;
  FIELDS(Configuration, network, management_interface, management_address, management_dhcp,
         management_gateway, management_dns, unused_interfaces, pfc_priority, console, console_rate,
         nccl_profile, user, authorized_keys, exporters, packages, driver_kind, nvidia_repository, nvidia_key,
         memory_guard, nvidia_runtime, mig, gpu_sharing);
  bool operator==(const Configuration&) const = default;
};

// The protocol of BMCs: IPMI 2.0 over UDP port 623, Redfish over HTTPS, or SMASH CLP over ssh.
enum class BmcProtocol { kIpmi, kRedfish, kSmash };
constexpr auto enum_names(BmcProtocol) { return std::array<std::string_view, 3>{"ipmi", "redfish", "smash"}; }

// Access to BMCs. cluster.yaml never contains passwords, only the path of the file that does.
struct BmcAccess {
  std::optional<BmcProtocol> protocol;  // nullopt: IPMI, or Redfish if the BMC supports nothing else
  std::string user;                     // empty: the password file names users, or there is no user
  std::string password_file;            // absolute, or relative to railbed's working directory; empty if none
  std::optional<int> cipher;            // IPMI cipher suite; default: 17, then 3
  std::string certificates;             // file of the certificates that Redfish trusts; empty: the system's
  FIELDS(BmcAccess, protocol, user, password_file, cipher, certificates);
  bool operator==(const BmcAccess&) const = default;
};

// A node of the cluster, with all settings that apply to it.
struct Node {
  std::string name;
  std::string ssh;                 // ssh destination as typed by a user; empty if local
  bool local = false;              // the agent runs on this machine, without ssh
  std::optional<std::string> bmc;  // address of the BMC
  Expectations expect;             // the cluster's, overridden by the node's own
  Configuration configure;         // the cluster's, overridden by the node's own
  FIELDS(Node, name, ssh, local, bmc, expect, configure);
};

// A rail end: one port of one node on one rail.
struct RailPort {
  std::string node;
  std::string interface;
  std::optional<IpAddress> address;  // nullopt on InfiniBand without IPoIB
  FIELDS(RailPort, node, interface, address);
};

// A rail: a set of ports, one per node, that reach each other over one subnet.
// What a rail's traffic is. NCCL and the forecasts of training use the rails of computation alone.
enum class RailPurpose { kCompute, kStorage };
constexpr auto enum_names(RailPurpose) { return std::array<std::string_view, 2>{"compute", "storage"}; }

struct Rail {
  std::string name;
  RailPurpose purpose = RailPurpose::kCompute;
  Fabric fabric = Fabric::kRoce;
  Topology topology = Topology::kSwitch;
  std::optional<Subnet> subnet;
  std::optional<int> mtu;        // bytes, of the interface; default on roce: 9000
  std::optional<BitRate> speed;  // exact speed of the port
  std::optional<int> vlan;       // VLAN ID; then each interface is named PARENT.VLAN
  std::string rdma_driver;       // "rxe", "siw" for software RDMA; empty: the adapter's driver
  std::vector<RailPort> ports;
  FIELDS(Rail, name, purpose, fabric, topology, subnet, mtu, speed, vlan, rdma_driver, ports);
};

// A kind of part in the bill of materials, which is listed as far as it decides whether the parts fit
// together.
enum class PartKind { kSwitch, kCable, kServer, kAdapter, kGpu };
constexpr auto enum_names(PartKind) {
  return std::array<std::string_view, 5>{"switch", "cable", "server", "adapter", "gpu"};
}
enum class CableMedium { kPassive, kActive, kOptical };
constexpr auto enum_names(CableMedium) {
  return std::array<std::string_view, 3>{"passive", "active", "optical"};
}

// One entry of the bill of materials. Members that do not apply to its kind are empty.
struct ClusterPart {
  PartKind kind = PartKind::kSwitch;
  std::string name;   // name of a switch
  std::string model;  // model, as sold: "MCX455A-ECAT"
  int quantity = 1;   // adapters and GPUs per node, cables in total
  std::optional<int> ports;
  std::optional<BitRate> speed;  // speed of each port, or of the cable
  std::optional<double> metres;
  std::optional<CableMedium> medium;
  std::string processor;
  std::optional<int> pcie;         // PCIe generation of the slot, or of all slots of a server
  std::optional<int> lanes;        // lanes wired to the slot
  std::optional<int> slot_watts;   // watts from the slot alone, without a power connector
  std::vector<std::string> rails;  // empty: all
  std::vector<std::string> nodes;  // empty: all
  int line = 0;                    // line in the file; for error messages only
  FIELDS(ClusterPart, kind, name, model, quantity, ports, speed, metres, medium, processor, pcie, lanes,
         slot_watts, rails, nodes);
};

// Return whether a part belongs to the rail, or the node, of this name.
bool is_on_rail(const ClusterPart& part, std::string_view rail);
bool is_on_node(const ClusterPart& part, std::string_view node);

// The protocol by which a node serves storage to others, over TCP or RDMA: block devices by NVMe over Fabrics, or
// directories by NFS.
enum class StorageProtocol { kNvmeTcp, kNvmeRdma, kNfsTcp, kNfsRdma };
constexpr auto enum_names(StorageProtocol) {
  return std::array<std::string_view, 4>{"nvme-tcp", "nvme-rdma", "nfs-tcp", "nfs-rdma"};
}
constexpr bool is_rdma(StorageProtocol protocol) {
  return protocol == StorageProtocol::kNvmeRdma || protocol == StorageProtocol::kNfsRdma;
}
constexpr bool is_nfs(StorageProtocol protocol) {
  return protocol == StorageProtocol::kNfsTcp || protocol == StorageProtocol::kNfsRdma;
}

// A block device or a directory of one node that others reach over a rail.
struct StorageExport {
  std::string name = {};    // small letters, digits, '_' and '-'
  std::string server = {};  // the node that has the device or the directory
  std::string device = {};  // a path below /dev with plain characters, as the server sees it; empty: NFS
  StorageProtocol protocol = StorageProtocol::kNvmeTcp;
  std::string rail = {};
  std::vector<std::string> clients = {};
  bool shared = false;   // several clients may have it at once; their file system is made for that
  std::string nqn = {};  // the subsystem's NVMe qualified name; empty: NFS
  // Of NFS only: the directory of the server, and where clients mount it; absolute paths with plain characters.
  std::string path = {};
  std::string mount = {};
  bool read_only = false;
  bool no_root_squash = false;       // root of a client is root there, too
  std::optional<int> nconnect = {};  // TCP connections of each client; not set: the kernel's default, one
  std::optional<IpAddress> address = {};  // the server's on the rail; a file that was read has it
  FIELDS(StorageExport, name, server, device, protocol, rail, clients, shared, nqn, path, mount, read_only,
         no_root_squash, nconnect, address);
  bool operator==(const StorageExport&) const = default;
};

// Returns whether a path is a folder that the system itself needs (/, /etc, /usr, /var/lib), or lies in one that holds
// nothing else. Such a folder is neither exported nor hidden below a mount.
bool is_system_folder(std::string_view path);
// Returns whether a path is that of a folder, or lies in it.
bool is_within(std::string_view path, std::string_view folder);
// Returns "/dev/nvme1n1", or the directory of NFS.
inline const std::string& source_of(const StorageExport& one) {
  return one.path.empty() ? one.device : one.path;
}

// How these names begin.
inline constexpr std::string_view kOwnNqn = "nqn.2024-07.internal.railbed:";
// Returns the subsystem's name if cluster.yaml gives none. ".internal" is reserved for private use (ICANN board
// resolution of 2024-07-29); an NQN begins with a month in which its author had the domain (NVMe Base
// Specification, "NVMe Qualified Names").
std::string default_nqn(std::string_view server, std::string_view name);

struct Cluster;

// The meaning of an exit code of a site's own check.
enum class ExitMeaning { kPass, kWarn, kFail, kUnknown, kNotApplicable };
constexpr auto enum_names(ExitMeaning) {
  return std::array<std::string_view, 5>{"pass", "warn", "fail", "unknown", "n/a"};
}
struct ExitCode {
  int code = 0;  // 0 to 255
  ExitMeaning meaning = ExitMeaning::kUnknown;
  FIELDS(ExitCode, code, meaning);
  bool operator==(const ExitCode&) const = default;
};

// A program of the site's own that judges a node by its exit code.
struct SiteCheck {
  std::string name;
  std::vector<std::string>
      run;           // program (an absolute path, or a name without a slash) and arguments; no shell
  std::string user;  // empty: the account that ssh logs in as; for root, nobody
  int timeout = 10;  // seconds
  std::vector<ExitCode> exit;      // what differs from exit_meaning()'s default; sorted by code
  std::string remedy;              // what to do about a red one; empty: not known
  std::vector<std::string> nodes;  // empty: all
  FIELDS(SiteCheck, name, run, user, timeout, exit, remedy, nodes);
};

// Returns what a code means for the check: as its `exit` says, else as Nagios plugins have it: 0 pass, 1 warn,
// 2 fail, any other unknown.
ExitMeaning exit_meaning(const SiteCheck& check, int code);
// Returns the codes that mean a pass: "exit 0", "exit 0 or 3".
std::string passing_exits(const SiteCheck& check);
// Returns the checks that run on each node, by its name. Views and pointers point into the argument.
std::map<std::string_view, std::vector<const SiteCheck*>> site_checks_by_node(const Cluster& cluster);

struct Cluster {
  std::string name;
  std::string file;        // path that it was read from
  std::string ssh_config;  // path for ssh -F; empty: the user's own configuration
  BmcAccess bmc;
  std::vector<Node> nodes;
  std::vector<Rail> rails;
  std::vector<ClusterPart> parts;
  std::vector<SiteCheck> checks;
  std::vector<StorageExport> storage;
  FIELDS(Cluster, name, file, ssh_config, bmc, nodes, rails, parts, checks, storage);
};

// Return the item of this name, or the rail's port on this node; null if there is none. The pointers point
// into the argument. Searches are linear.
const Node* find_node(const Cluster& cluster, std::string_view name);
const Rail* find_rail(const Cluster& cluster, std::string_view name);
const RailPort* find_port(const Rail& rail, std::string_view node);

// Returns the file servers: nodes whose only rails are for storage, while others have rails of computation, and from
// which no GPU is expected. They run no job. The views point into the argument.
std::set<std::string_view> storage_servers(const Cluster& cluster);

// Returns the names of the first 2,000 nodes or rails; a misspelled name is compared with them. The views
// point into `items`.
template <class Item>
std::vector<std::string_view> names_of(const std::vector<Item>& items) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < items.size() && i < 2000; ++i) names.push_back(items[i].name);
  return names;
}
// Return the error for a node or a rail that the cluster does not have. The message suggests the intended
// name, or lists all names if there are few.
Error no_such_node(const Cluster& cluster, std::string_view name);
Error no_such_rail(const Cluster& cluster, std::string_view name);

}  // namespace railbed
