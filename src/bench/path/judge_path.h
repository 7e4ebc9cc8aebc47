// Finds the reason why a path fails, from the reports of both its ends. The method is a table of layers, the
// lowest first: interface, link, address, route, neighbor, firewall, MTU, then TCP or RDMA. The first row
// that finds a fault is the root of all that failed above it. judge_path() is a pure function: it uses only the
// data of path.h and does no I/O.
#pragma once

#include <optional>
#include <string>

#include "bench/path/path.h"
#include "results/measurement.h"

namespace railbed {

// The observations of one end. A request without a reply leaves its member empty.
struct PathEndSeen {
  std::string node;
  std::string interface;
  std::optional<IpAddress> address;
  std::optional<PathOpened> opened;
  std::optional<PathLooked> looked;  // towards the other end
  std::optional<PathHeard> heard;    // from the other end
  // The packets that its RDMA port sent in the failed run, and those that the other end's port received.
  std::optional<PacketWay> packets;
};
struct PathSeen {
  PathEndSeen a;
  PathEndSeen b;
  bool rdma = false;  // RDMA failed, not TCP
  // It failed before a packet was sent, so a fault that only packets meet is not the root.
  bool set_up = false;
  bool cm = false;  // it was to connect by RDMA-CM, which resolves IP addresses on InfiniBand too
};

struct PathDiagnosis {
  FailureRoot root;  // layer kNone: no fault was found; `seen` lists the observations
  std::string remedy;
};
// Returns the root; empty if neither agent replied.
std::optional<PathDiagnosis> judge_path(const PathSeen& path);

}  // namespace railbed
