// The inside of a node as text: its GPUs, and the adapters that each can use.
#pragma once

#include <string>

#include "model/node_graph.h"

namespace railbed {

// Returns a line of numbers, then one for each GPU with its link and the adapters near it. Ends at 64 GPUs.
std::string render_node_graph(const NodeGraph& graph);

}  // namespace railbed
