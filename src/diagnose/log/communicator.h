// A communicator as shown by a log: its ranks and how far each got, its rings, trees and connections.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace railbed::diagnose {

// The progress of a rank. NCCL 2.22 and newer connect at the first operation, that is, after initialization.
enum class Step {
  kStarted,       // its process printed something
  kNetwork,       // chose a network
  kInit,          // began ncclCommInitRank
  kBootstrap,     // exchanged addresses with the other ranks
  kTopology,      // compared topologies: the number of nodes is known
  kGraph,         // computed rings and trees
  kConnecting,    // opens connections
  kConnected,     // all rings connected
  kReady,         // ncclCommInitRank complete
  kConnectingOn,  // opens connections at the first operation
  kConnectedOn,
  kOperation,  // runs operations
  kDestroyed,  // communicator destroyed or aborted
};
constexpr auto enum_names(Step) {
  return std::array<std::string_view, 13>{
      "started",   "network", "init",          "bootstrap",    "topology",  "graph",    "connecting",
      "connected", "ready",   "connecting-on", "connected-on", "operation", "destroyed"};
}
std::string_view describe(Step step);

struct LogRank {
  int rank = 0;
  std::string host = {};
  int process = 0;
  int device = -1;          // CUDA device, as the process counts them
  std::string bus_id = {};  // "60" is PCI 0000:00:06.0 without its dots
  Step step = Step::kInit;
  std::uint64_t last_line = 0;
  // Number of operations that it has called; only with NCCL_DEBUG_SUBSYS=COLL.
  std::optional<std::uint64_t> operations = {};
  std::string last_operation = {};  // AllReduce
  bool gpudirect_send = false;
  bool gpudirect_receive = false;
  bool network_used = false;  // at least one connection through the network
  // The NICs of its connections: "mlx5_0", or "NIC 0" if the name is unknown.
  std::vector<std::string> nics = {};
  FIELDS(LogRank, rank, host, process, device, bus_id, step, last_line, operations, last_operation,
         gpudirect_send, gpudirect_receive, network_used, nics);
};

// A group of connections of one kind: "NET/IB", "P2P/CUMEM", "SHM/direct".
struct LogConnections {
  std::string via = {};
  std::uint64_t count = 0;
  std::uint64_t gpudirect = 0;  // number of them through GPUDirect RDMA
  FIELDS(LogConnections, via, count, gpudirect);
};

struct LogCommunicator {
  std::string id = {};  // commId; for a split "PARENT/COUNT.COLOR"
  int size = 0;         // nranks
  int nodes = 0;        // 0: unknown
  int completed = 0;
  int collective_channels = 0;
  int nvls_channels = 0;
  int p2p_channels = 0;
  bool collnet = false;         // a CollNet plugin (SHARP) is connected
  std::string local_path = {};  // the best between GPUs of a node: NVL, PIX, PHB (NCCL_DEBUG_SUBSYS=GRAPH)
  std::vector<std::string> rings = {};  // "0 1 2 3", each order once
  int ring_count = 0;
  std::vector<std::string> trees = {};  // per rank: "1/-1/-1->0->-1", each once
  std::vector<LogConnections> connections = {};
  double slowest_init_seconds = 0;
  std::string slowest_init = {};  // "rank 3: kernels 0.43, bootstrap 0.01, …"
  std::vector<LogRank> ranks = {};
  FIELDS(LogCommunicator, id, size, nodes, completed, collective_channels, nvls_channels, p2p_channels,
         collnet, local_path, rings, ring_count, trees, connections, slowest_init_seconds, slowest_init,
         ranks);
};

}  // namespace railbed::diagnose
