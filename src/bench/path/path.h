// What one end can say of its path to the other, asked when a measurement has failed: three requests to each
// of the two agents, open, look and close, as docs/reference/agent-protocol.md tells them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/ip.h"
#include "host/knock.h"
#include "host/neighbours.h"

namespace railbed {

inline constexpr std::string_view kPathOpen = "bench.path.open";    // PathOpen → PathOpened
inline constexpr std::string_view kPathLook = "bench.path.look";    // PathLook → PathLooked
inline constexpr std::string_view kPathClose = "bench.path.close";  // PathClose → PathHeard

struct PathOpen {
  std::string interface;
  std::optional<IpAddress> address;
  bool rdma = false;  // RDMA failed: look at its device, too
  FIELDS(PathOpen, interface, address, rdma);
};

// The rail's interface now.
struct PathInterface {
  bool there = false;
  std::optional<bool> up;  // nothing, as the next: it could not be read
  std::optional<bool> carrier;
  std::optional<bool> has_address;
  std::string address_on;  // another interface that has the address
  int prefix = 0;          // of the address
  int mtu = 0;
  std::map<std::string, std::string> macs;  // of every interface of the node
  FIELDS(PathInterface, there, up, carrier, has_address, address_on, prefix, mtu, macs);
};

// The rail's RDMA device now.
struct PathRdma {
  std::string device;           // empty: no device belongs to the interface
  std::string driver;           // mlx5_core, rxe, siw
  std::string link_layer;       // Ethernet, InfiniBand
  std::string state;            // ACTIVE; empty: it could not be read
  std::string node;             // of /dev/infiniband: "uverbs0"; empty: ib_uverbs shows none for it
  std::string node_error;       // why it cannot be opened; empty: it can
  std::string verbs_error;      // why libibverbs does not open the device; empty: it does
  std::optional<bool> has_gid;  // of the address
  FIELDS(PathRdma, device, driver, link_layer, state, node, node_error, verbs_error, has_gid);
  bool is_software() const { return driver == "rxe" || driver == "siw"; }
};

struct PathOpened {
  std::string session;     // empty: no door could be opened, `door_error` says why
  std::string door_error;  // empty without an address, too
  int tcp_port = 0;
  int udp_port = 0;
  bool roce_port = false;  // it listens on UDP 4791 as well: nobody else on the node has that port
  std::string token;
  PathInterface interface;
  std::optional<PathRdma> rdma;
  FIELDS(PathOpened, session, door_error, tcp_port, udp_port, roce_port, token, interface, rdma);
};

struct PathLook {
  std::string interface;
  IpAddress from;
  IpAddress to;
  int tcp_port = 0;
  int udp_port = 0;
  std::string token;
  bool roce = false;       // ask UDP 4791, too
  std::vector<int> sizes;  // of IP packets, beside a small one; each asked by ping and by UDP
  FIELDS(PathLook, interface, from, to, tcp_port, udp_port, token, roce, sizes);
};

// An IP packet of so many bytes, never fragmented.
struct SizedKnock {
  int bytes = 0;
  Knocked ping;
  Knocked udp;
  FIELDS(SizedKnock, bytes, ping, udp);
  bool answered() const { return ping.reach == Reach::kAnswered || udp.reach == Reach::kAnswered; }
};

struct PathLooked {
  RouteAnswer route;
  NeighbourAnswer neighbour;  // after everything was asked
  Knocked tcp;
  Knocked ssh;   // TCP port 22 of the other's rail address
  Knocked roce;  // UDP 4791
  SizedKnock small;
  std::vector<SizedKnock> large;
  FIELDS(PathLooked, route, neighbour, tcp, ssh, roce, small, large);
};

struct PathClose {
  std::string session;
  FIELDS(PathClose, session);
};
struct PathHeard {
  std::vector<int> sizes;  // of the other's UDP packets that arrived
  FIELDS(PathHeard, sizes);
};

inline constexpr int kSmallPacket = 128;  // bytes
inline constexpr int kSshPort = 22;

}  // namespace railbed
