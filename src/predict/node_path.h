// A node's way from its GPUs to the wire: which ports are rails, the slots of their adapters, what the parts could
// do at most, and what limits the whole.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/units.h"
#include "facts/facts.h"
#include "inventory/cluster.h"

namespace railbed {

struct AdapterModel;
struct NicModel;

// What is at the other end of a rail's cable.
enum class OtherEnd { kUnknown, kNode, kSwitch };

// A port that carries GPU traffic. Speeds are as sold: QDR has 40 Gb/s here.
struct RailCable {
  std::string port;       // "mlx5_0/1"
  std::string interface;  // "ens6"; empty if none is known
  bool ethernet = false;
  int mtu = 0;       // path MTU, bytes
  int mtu_most = 0;  // the adapter's
  BitRate rate;
  BitRate adapter_most;          // zero: not in the table
  bool variant_known = false;    // adapter_most is that of the part number, not the most of its model
  std::optional<BitRate> cable;  // from cluster.yaml's parts
  OtherEnd other = OtherEnd::kUnknown;
  std::optional<BitRate> other_most;
  std::string other_name;  // "switch IS5022", "gpu02's ConnectX-3 Pro"; empty if not known
};

// The link of one adapter, or of one half of an adapter with two.
struct RailSlot {
  std::string address;           // PCI address without the function
  std::optional<BitRate> rate;   // of the narrowest hop
  std::optional<PcieLink> now;   // of its own link
  std::optional<PcieLink> card;  // what the adapter supports
  std::optional<PcieLink> slot;  // what the port above it supports
  std::optional<BitRate> above;  // narrowest hop above the slot
};

// One adapter card with all its functions.
struct RailCard {
  std::string name;  // "ConnectX-4"; empty if not in the table
  const NicModel* nic = nullptr;
  const AdapterModel* part = nullptr;  // from cluster.yaml's parts
  std::vector<RailCable> cables;
  std::vector<RailSlot> slots;
  int idle_ports = 0;                      // further ports without a link
  std::vector<std::string> unused_halves;  // of a GB10: interfaces on the same cable, by the other slot
};

struct LeftOutPort {
  std::string port;
  std::string why;
  FIELDS(LeftOutPort, port, why);
};

struct NodePath {
  std::vector<RailCard> cards;
  std::vector<LeftOutPort> left_out;  // active ports that are no rails
  std::string staged;  // why GPU data goes through host memory; empty if it does not or is unknown
  bool staged_as_measured = false;  // on a machine like that of the V100 guide
  std::string software;             // what would enable GPUDirect RDMA with these adapters; empty: nothing
};

// Returns the path of a node of `nodes`. Ports are rails if cluster.yaml says so; without rails there, if NCCL takes
// them, they are not part of a bond and do not carry the default route, share a PCIe switch with a GPU if any
// does, and are as fast as the fastest.
NodePath node_path_of(const Cluster& cluster, const std::map<std::string, Facts>& nodes,
                      const std::string& node);

// A limit from `rate` to `most`: both are the same unless it is known as a range only.
struct NodeLimit {
  std::string name;
  BitRate rate;
  BitRate most;
  std::string source;
  FIELDS(NodeLimit, name, rate, most, source);
};
// Returns the limits of all cards together, each way, the binding one first. Empty without rails.
std::vector<NodeLimit> limits_of(const NodePath& path);

}  // namespace railbed
