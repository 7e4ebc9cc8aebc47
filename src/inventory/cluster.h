// The cluster as it should be: what a valid cluster.yaml says, every default filled in.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
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
  static void fields(auto&& field) {
    field("gpus", &Expectations::gpus);
    field("gpu_model", &Expectations::gpu_model);
    field("driver", &Expectations::driver);
    field("cuda", &Expectations::cuda);
    field("mig", &Expectations::mig);
    field("os", &Expectations::os);
    field("kernel", &Expectations::kernel);
    field("bios", &Expectations::bios);
    field("firmware", &Expectations::firmware);
    field("nccl", &Expectations::nccl);
    field("memory", &Expectations::memory);
    field("traffic_class", &Expectations::traffic_class);
    field("governor", &Expectations::governor);
    field("socket_buffer", &Expectations::socket_buffer);
    field("subnet_manager", &Expectations::subnet_manager);
    field("checkpoint_path", &Expectations::checkpoint_path);
    field("venv", &Expectations::venv);
    field("container", &Expectations::container);
    field("container_runtime", &Expectations::container_runtime);
    field("cuda_toolkit", &Expectations::cuda_toolkit);
    field("mpi", &Expectations::mpi);
    field("fraction_of_ceiling", &Expectations::fraction_of_ceiling);
  }
};

struct Node {
  std::string name;
  std::string ssh;                 // ssh destination as the user would type it; empty when local
  bool local = false;              // the agent is started on this machine, without ssh
  std::optional<std::string> bmc;  // address of the BMC
  Expectations expect;             // the cluster's, with the node's own laid over
  static void fields(auto&& field) {
    field("name", &Node::name);
    field("ssh", &Node::ssh);
    field("local", &Node::local);
    field("bmc", &Node::bmc);
    field("expect", &Node::expect);
  }
};

struct RailPort {
  std::string node;
  std::string interface;
  std::optional<IpAddress> address;  // absent on InfiniBand without IPoIB
  static void fields(auto&& field) {
    field("node", &RailPort::node);
    field("interface", &RailPort::interface);
    field("address", &RailPort::address);
  }
};

// A rail: the set of ports, one a node, that reach each other over one subnet.
struct Rail {
  std::string name;
  Fabric fabric = Fabric::kRoce;
  Topology topology = Topology::kSwitch;
  std::optional<Subnet> subnet;
  std::optional<int> mtu;        // of the interface; 9000 on roce unless the file says otherwise
  std::optional<BitRate> speed;  // of the port, exactly
  std::string rdma_driver;       // "rxe", "siw" for software RDMA; empty: whatever the adapter has
  std::vector<RailPort> ports;
  static void fields(auto&& field) {
    field("name", &Rail::name);
    field("fabric", &Rail::fabric);
    field("topology", &Rail::topology);
    field("subnet", &Rail::subnet);
    field("mtu", &Rail::mtu);
    field("speed", &Rail::speed);
    field("rdma_driver", &Rail::rdma_driver);
    field("ports", &Rail::ports);
  }
};

struct Cluster {
  std::string name;
  std::string file;        // where it was read from
  std::string ssh_config;  // -F for ssh; empty: the user's own
  std::vector<Node> nodes;
  std::vector<Rail> rails;
  static void fields(auto&& field) {
    field("name", &Cluster::name);
    field("file", &Cluster::file);
    field("ssh_config", &Cluster::ssh_config);
    field("nodes", &Cluster::nodes);
    field("rails", &Cluster::rails);
  }
};

const Node* find_node(const Cluster& cluster, std::string_view name);
const Rail* find_rail(const Cluster& cluster, std::string_view name);
const RailPort* find_port(const Rail& rail, std::string_view node);

}  // namespace railbed
