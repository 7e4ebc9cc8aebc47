// The inside of a node as a graph: GPUs and adapters, the bridges of PCI Express above them, sockets, and what is at
// the adapters' ports. It comes from a node's facts, from `parts:` of cluster.yaml, or from NCCL's topology file
// (nccl_topology.h). What a source does not hold is empty, never a guess.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/units.h"
#include "facts/facts.h"
#include "hardware/pci_path.h"
#include "inventory/cluster.h"

namespace railbed {

// The place of a bridge or a device in the node.
struct GraphPlace {
  std::optional<int> bridge;  // index of the bridge above; nullopt: below no bridge that is known
  bool placed = false;        // the source says what is above it, bridge or socket
  std::optional<int> socket;  // index; nullopt: not known
  std::optional<PcieLink>
      link;  // its link upwards while data flows; nullopt: not known, or it carries no data
  std::optional<PcieLink> possible;     // what both ends can do
  std::optional<int> max_payload;       // bytes
  std::optional<int> max_read_request;  // bytes
  FIELDS(GraphPlace, bridge, placed, socket, link, possible, max_payload, max_read_request);
};

// A NUMA node of the processors.
struct GraphSocket {
  int numa_node = 0;
  std::string processor;  // empty: not known
  FIELDS(GraphSocket, numa_node, processor);
};

// A root port, or a port of a switch. A file of NCCL's has the upstream ports of switches alone.
struct GraphBridge {
  std::string address;
  GraphPlace up;
  bool is_switch = false;               // its link is that of a whole switch
  std::optional<bool> redirects_peers;  // ACS
  FIELDS(GraphBridge, address, up, is_switch, redirects_peers);
};

// NVLinks of one GPU that end at the same thing.
struct GraphNvlinks {
  std::string to;  // PCI address of a GPU; empty: a switch
  int count = 0;
  FIELDS(GraphNvlinks, to, count);
};

struct GraphGpu {
  std::string name;     // "GPU0", by its place in the source
  std::string address;  // empty: not known
  std::string model;    // empty: not known
  GraphPlace up;
  std::optional<std::uint64_t> memory;  // bytes
  std::optional<bool> mig;
  std::optional<int> nvlinks;            // active ones; 0: it has none
  std::vector<GraphNvlinks> nvlinks_to;  // empty: not known
  std::optional<bool> c2c;               // NVLink-C2C connects it to its processor
  std::optional<int> capability;         // CUDA's: 90 is 9.0
  std::optional<bool> gpudirect;
  FIELDS(GraphGpu, name, address, model, up, memory, mig, nvlinks, nvlinks_to, c2c, capability, gpudirect);
};

// What is at the other end of a port's cable, as far as cluster.yaml says it.
struct GraphBeyond {
  std::optional<Topology> topology;
  std::string rail;
  std::string switch_name;  // the only switch of the rail; empty: none or several
  std::optional<double> metres;
  FIELDS(GraphBeyond, topology, rail, switch_name, metres);
};

struct GraphPort {
  std::string name;       // "mlx5_0", "mlx5_0/2"
  std::string interface;  // empty: not known
  std::optional<BitRate> rate;
  std::optional<bool> infiniband;
  GraphBeyond beyond;
  FIELDS(GraphPort, name, interface, rate, infiniband, beyond);
};

// A network function of PCI Express with its ports.
struct GraphAdapter {
  std::string name;     // that of its first port's device, else its address
  std::string address;  // empty: not known
  std::string model;    // empty: not known
  GraphPlace up;
  std::vector<GraphPort> ports;
  FIELDS(GraphAdapter, name, address, model, up, ports);
};

struct NodeGraph {
  std::string node;    // empty: not known
  std::string source;  // "facts", "cluster.yaml", "NCCL's topology file"
  std::vector<GraphSocket> sockets;
  std::vector<GraphBridge> bridges;
  std::vector<GraphGpu> gpus;
  std::vector<GraphAdapter> adapters;
  FIELDS(NodeGraph, node, source, sockets, bridges, gpus, adapters);
};

// Returns the graph of a node that was looked at. `cluster` may be null; it says what is beyond the ports.
NodeGraph graph_of_facts(const std::string& node, const Facts& facts, const Cluster* cluster);
// Returns the graph of a node as it is bought. Nullopt if cluster.yaml lists no GPU and no adapter for it.
std::optional<NodeGraph> graph_of_parts(const std::string& node, const Cluster& cluster);

// Returns the distance of two places; nullopt if the source does not say enough for it.
std::optional<PathClass> distance(const NodeGraph& graph, const GraphPlace& a, const GraphPlace& b);

// The adapters that a GPU may use, as indexes, nearest first; each list holds the one before it.
struct NearAdapters {
  std::vector<std::size_t> own_switch;  // PIX and PXB
  std::vector<std::size_t> own_socket;  // and PHB and NODE
  std::vector<std::size_t> all;         // and SYS, and those whose distance is not known
};
NearAdapters adapters_near(const NodeGraph& graph, std::size_t gpu);

// Returns the links that data passes between the two, each once: the first's upwards, then the second's downwards.
// Links above the switch where they meet are not passed.
std::vector<const GraphPlace*> links_between(const NodeGraph& graph, const GraphPlace& from,
                                             const GraphPlace& to);
// Returns the links between a device and memory: its own, then those above it.
std::vector<const GraphPlace*> links_to_memory(const NodeGraph& graph, const GraphPlace& from);

}  // namespace railbed
