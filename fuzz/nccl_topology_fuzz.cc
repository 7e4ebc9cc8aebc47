// Any bytes as NCCL's topology file or its channels: an error, or a graph of which every index leads somewhere.
//
// Rooms: model report
#include <cstdint>

#include "fuzz/require.h"
#include "model/nccl_topology.h"
#include "report/text/node_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railbed;
  const std::string_view text = as_text(data, size);
  (void)is_nccl_topology(text);
  if (const auto graphs = parse_nccl_graphs(text)) {
    require(is_nccl_graphs(text));
    require(graphs->gpus.size() <= 4097 && graphs->adapters.size() <= 4097);
  } else {
    require_printable(graphs.error().text);
  }
  const auto graph = parse_nccl_topology(text);
  if (!graph) {
    require(graph.error().kind == ErrorKind::kBadInput);
    require_printable(graph.error().text);
    return 0;
  }
  const auto check = [&](const GraphPlace& place) {
    require(!place.bridge || static_cast<std::size_t>(*place.bridge) < graph->bridges.size());
    require(!place.socket || static_cast<std::size_t>(*place.socket) < graph->sockets.size());
    require(!place.link || (place.link->width > 0 && place.link->gigatransfers > 0));
  };
  for (const GraphBridge& bridge : graph->bridges) check(bridge.up);
  for (const GraphAdapter& adapter : graph->adapters) check(adapter.up);
  for (std::size_t i = 0; i < graph->gpus.size(); ++i) {
    check(graph->gpus[i].up);
    if (i < 16) require(adapters_near(*graph, i).all.size() == graph->adapters.size());
    for (std::size_t j = 0; i < 16 && j < graph->adapters.size() && j < 16; ++j)
      require(links_between(*graph, graph->gpus[i].up, graph->adapters[j].up).size() >= 2);
  }
  require_printable(render_node_graph(*graph));
  return 0;
}
