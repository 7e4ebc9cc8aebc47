// NCCL's files about a node (src/graph/xml.cc, topo.cc and search.cc in NCCL's sources): the topology, which NCCL writes
// to NCCL_TOPO_DUMP_FILE and which clouds install for NCCL_TOPO_FILE, since their machines hide the switches; and the
// channels, which it writes to NCCL_GRAPH_DUMP_FILE and takes from NCCL_GRAPH_FILE instead of a search of its own.
#pragma once

#include <set>
#include <string_view>

#include "base/result.h"
#include "model/node_graph.h"

namespace railbed {

// Returns true if the text begins as such a file.
bool is_nccl_topology(std::string_view text);
// Returns the node that the file describes. Files that a cloud installs have GPUs and adapters by the class of their
// PCI device alone, without models, ports and rates. A link's lanes of 0, which NCCL writes where the machine hides
// them, are not known. Fails on a text that is no such file, on one that is cut, on another version than 1, and on
// more elements than a node can have; the message names the line.
Result<NodeGraph> parse_nccl_topology(std::string_view text);

// The channels of a file of graphs. GPUs and adapters have NCCL's own numbers, so that the file fits only machines whose
// devices are numbered alike.
struct NcclGraphs {
  std::size_t graphs = 0;    // one for each kind: rings, trees, CollNet, NVLS
  std::size_t channels = 0;  // of all graphs
  std::set<int> gpus = {};
  std::set<int> adapters = {};
};
// Returns true if the text begins as such a file.
bool is_nccl_graphs(std::string_view text);
// Fails (kBadInput) on a text that is no such file or is cut.
Result<NcclGraphs> parse_nccl_graphs(std::string_view text);

}  // namespace railbed
