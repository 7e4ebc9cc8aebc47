// NCCL's topology file of a node: what NCCL writes to NCCL_TOPO_DUMP_FILE, and what clouds install for NCCL_TOPO_FILE,
// since their machines hide the switches (src/graph/xml.cc and topo.cc in NCCL's sources).
#pragma once

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

}  // namespace railbed
