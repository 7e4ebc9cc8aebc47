// Why a path does not carry, of what both its ends said: a table of layers, the lowest first, and the first
// row that finds a fault is the root of all that failed above it. Pure: it knows what path.h holds, and
// nothing else.
#pragma once

#include <optional>
#include <string>

#include "bench/path/path.h"
#include "results/measurement.h"

namespace railbed {

// One end as it was found. What its agent did not answer is not there.
struct PathEndSeen {
  std::string node;
  std::string interface;
  std::optional<IpAddress> address;
  std::optional<PathOpened> opened;
  std::optional<PathLooked> looked;  // towards the other end
  std::optional<PathHeard> heard;    // from the other end
  std::optional<PacketWay>
      packets;  // that its RDMA port sent in the run that failed, and the other's received
};
struct PathSeen {
  PathEndSeen a;
  PathEndSeen b;
  bool rdma = false;    // what failed is RDMA, not TCP
  bool set_up = false;  // it failed before a packet was sent: what only packets meet is not why
};

struct Diagnosis {
  FailureRoot root;  // of layer kNone: no fault was found, `seen` says what was asked
  std::string remedy;
};
// Nothing where neither agent answered.
std::optional<Diagnosis> diagnose(const PathSeen& path);

}  // namespace railbed
