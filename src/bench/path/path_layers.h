// The rows of the table that judge_path() reads. Each row judges one end's side of one layer.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "bench/path/judge_path.h"

namespace railbed {

struct PathFault {
  std::string node;  // the node at fault; empty: between the two, or unknown
  std::string cause;
  std::string remedy;
};

// The condition under which a row applies.
enum class PathNeeds {
  kEnd,      // this end replied
  kIp,       // both ends looked, and the failed transport uses IP addresses: TCP, RDMA on Ethernet, RDMA-CM
  kPackets,  // as kIp, and packets were sent
  // Like kPackets, and the other end's firewall sees the packets: those of TCP and of software RDMA, but not
  // those of an adapter's RDMA.
  kFiltered,
  kRdma  // this end reported its RDMA device
};
struct PathRow {
  PathLayer layer;
  PathNeeds needs;
  std::optional<PathFault> (*fault)(const PathEndSeen& self, const PathEndSeen& peer);
};
std::span<const PathRow> path_rows();  // of the layers that TCP and RDMA share
std::span<const PathRow> tcp_rows();   // of TCP only
std::span<const PathRow> rdma_rows();  // of RDMA only

// Returns whether the other end certainly received a packet of this end: one with its token.
bool arrives(const PathEndSeen& self, const PathEndSeen& peer);

}  // namespace railbed
