// Content of the cluster picture, from inventory, facts, findings and measurements: text and health, no
// geometry.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace railbed {

enum class Health { kGood, kUnknown, kWarn, kBad, kUnreachable };  // in rising order of concern
constexpr auto enum_names(Health) {
  return std::array<std::string_view, 5>{"good", "unknown", "warn", "bad", "gone"};
}
std::string_view word(Health health);       // "healthy", "could not look", "warning", "broken", "no answer"
std::string_view css_class(Health health);  // "good", …

// The state of a thing, and its reason.
struct Trouble {
  Health health = Health::kGood;
  std::string text;  // the most important message; empty if healthy
};

struct ScenePort {
  bool present = false;   // the node has a port on this rail
  std::string interface;  // ens6
  std::string device;     // mlx4_0/1; empty without RDMA
  std::string attach;     // "PCIe Gen3 x8", else the driver
  std::string speed;      // as the port reports it; empty if it does not
  std::string mtu;        // of the interface
  Trouble trouble;
};

struct SceneGpu {
  std::string model;   // "V100-SXM2-16GB", else the PCI address
  std::string attach;  // "PCIe Gen3 x16"
  Trouble trouble;
};

// Management of a node, apart from its rails.
struct SceneManagement {
  std::string address;  // on the management network; empty if unknown
  std::string bmc;      // the BMC's address; empty if unknown
  std::string state;    // of a BMC that was queried: "on, 14 sensors in order", "no answer"; else empty
  Trouble trouble;      // of the BMC
  bool empty() const { return address.empty() && bmc.empty(); }
};

struct SceneNode {
  std::string name;
  std::string system;   // "Debian GNU/Linux 12 · 6.1.0-21-amd64"
  std::string machine;  // "Xeon E5-2690 v4 · 28 CPUs · 128 GiB"
  std::vector<SceneGpu> gpus;
  std::vector<ScenePort> ports;  // one for each rail, in the order of Scene::rails
  Trouble trouble;               // of the node as a whole; if it is unreachable, the reason
  SceneManagement management;
};

struct SceneRail {
  std::string name;
  std::string kind;      // "RoCE", "InfiniBand", "Ethernet"
  std::string speed;     // from its ports, else from cluster.yaml; "10.0 to 40.0 Gb/s" if they differ
  std::string mtu;       // "MTU 9000", "MTU 1500 and 9000"
  std::string measured;  // "RDMA 35.0 Gb/s · TCP 21.5 Gb/s"; the slowest path of each
  bool has_switch = false;
  Trouble trouble;  // the worst of its ports and of findings about the rail
};

struct Scene {
  std::vector<SceneRail> rails;
  std::vector<SceneNode> nodes;
  std::string management;  // "10.2.0.0/24": the network of the nodes' management addresses; empty if unknown
  std::string bmcs;        // "64 BMCs: 62 healthy, 2 no answer"; empty if no BMC is known
};

Scene scene_of(const Report& report);

// Returns "V100-SXM2-16GB", else the PCI address.
std::string model_of(const Gpu& gpu);
// Returns "RoCE", "InfiniBand", "Ethernet".
std::string kind_of(Fabric fabric);
// Returns "8 × H100 80GB HBM3", "2 × V100, A100"; "no GPU".
std::string summarise(const std::vector<SceneGpu>& gpus);

}  // namespace railbed
