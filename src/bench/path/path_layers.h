// The rows of the table that diagnose() reads. Each looks at one end's side of one layer.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "bench/path/diagnose.h"

namespace railbed {

struct PathFault {
  std::string node;  // empty: between the two, or it cannot be told
  std::string cause;
  std::string remedy;
};

// What a row needs to be asked at all.
enum class PathNeeds {
  kEnd,       // this end answered
  kIp,        // both looked, and what failed goes by IP addresses: TCP, and RDMA on Ethernet
  kPackets,   // as kIp, and packets were sent
  kFiltered,  // as kPackets, and the other end's firewall sees it: TCP and software RDMA, not an adapter's
              // RDMA
  kRdma       // this end answered about its RDMA device
};
struct PathRow {
  PathLayer layer;
  PathNeeds needs;
  std::optional<PathFault> (*fault)(const PathEndSeen& self, const PathEndSeen& peer);
};
std::span<const PathRow> path_rows();
std::span<const PathRow> tcp_rows();   // of TCP alone
std::span<const PathRow> rdma_rows();  // of RDMA alone

// Whether the other end surely got a packet of this one: its own token was in it.
bool arrives(const PathEndSeen& self, const PathEndSeen& peer);

}  // namespace railbed
