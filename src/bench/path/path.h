// The observations that one end can make of its path to the other, after a measurement has failed. The
// controller sends three requests to each of the two agents, see docs/reference/agent-protocol.md:
//
//   open   examines the interface and its RDMA device, and opens echo ports for TCP and UDP,
//   look   examines the route, and sends ping, TCP and UDP of several sizes to the other end's echo ports,
//   close  closes the echo ports and returns the sizes of the other end's UDP packets that arrived.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/ip.h"
#include "os/knock.h"
#include "os/neighbours.h"

namespace railbed {

inline constexpr std::string_view kPathOpen = "bench.path.open";    // PathOpen → PathOpened
inline constexpr std::string_view kPathLook = "bench.path.look";    // PathLook → PathLooked
inline constexpr std::string_view kPathClose = "bench.path.close";  // PathClose → PathHeard

struct PathOpen {
  std::string interface;
  std::optional<IpAddress> address;
  bool rdma = false;  // RDMA failed: also examine its device
  bool cm = false;    // RDMA-CM failed: also examine what it needs
  FIELDS(PathOpen, interface, address, rdma, cm);
};

// The present state of the rail's interface.
struct PathInterface {
  bool there = false;      // it exists, or interfaces could not be read
  std::optional<bool> up;  // this and the next two: empty if it could not be read
  std::optional<bool> carrier;
  std::optional<bool> has_address;
  std::string address_on;  // another interface that has the address
  int prefix = 0;          // of the address
  int mtu = 0;
  std::map<std::string, std::string> macs;  // of every interface of the node
  FIELDS(PathInterface, there, up, carrier, has_address, address_on, prefix, mtu, macs);
};

// The present state of the rail's RDMA device.
struct PathRdma {
  std::string device;           // empty: no device belongs to the interface
  std::string driver;           // mlx5_core, rxe, siw
  std::string link_layer;       // Ethernet, InfiniBand
  std::string state;            // ACTIVE; empty: unreadable
  std::string node;             // its file in /dev/infiniband: "uverbs0"; empty: ib_uverbs shows none for it
  std::string node_error;       // why the file cannot be opened; empty: it can
  std::string verbs_error;      // why libibverbs cannot open the device; empty: it can, or no file to open
  std::optional<bool> has_gid;  // it has a GID of the address; empty: unknown
  FIELDS(PathRdma, device, driver, link_layer, state, node, node_error, verbs_error, has_gid);
  bool is_software() const { return driver == "rxe" || driver == "siw"; }
};

// The present state of what the RDMA connection manager needs.
struct PathCm {
  std::string node_error;      // why /dev/infiniband/rdma_cm cannot be opened; empty: it can
  std::optional<bool> module;  // rdma_ucm is loaded; empty: unknown
  std::string roce_mode;       // default_roce_mode of the port: "RoCE v2"; empty: unknown, or not Ethernet
  FIELDS(PathCm, node_error, module, roce_mode);
};

struct PathOpened {
  std::string session;     // of the echo ports; empty: they could not be opened, see `door_error`
  std::string door_error;  // also empty if the interface has no address
  int tcp_port = 0;
  int udp_port = 0;
  bool roce_port = false;  // it also listens on UDP 4791, which no other socket of the node uses
  std::string token;
  PathInterface interface;
  std::optional<PathRdma> rdma;
  std::optional<PathCm> cm;
  FIELDS(PathOpened, session, door_error, tcp_port, udp_port, roce_port, token, interface, rdma, cm);
};

struct PathLook {
  std::string interface;
  IpAddress from;
  IpAddress to;
  int tcp_port = 0;
  int udp_port = 0;
  std::string token;
  bool roce = false;       // also send to UDP 4791
  std::vector<int> sizes;  // of IP packets in bytes, in addition to a small one; each sent as ping and as UDP
  FIELDS(PathLook, interface, from, to, tcp_port, udp_port, token, roce, sizes);
};

// The outcome of sending an IP packet of `bytes` bytes, never fragmented, as ping and as UDP.
struct SizedKnock {
  int bytes = 0;
  Knocked ping;
  Knocked udp;
  FIELDS(SizedKnock, bytes, ping, udp);
  bool answered() const { return ping.reach == Reach::kAnswered || udp.reach == Reach::kAnswered; }
};

struct PathLooked {
  RouteAnswer route;
  NeighbourAnswer neighbour;  // read after all replies
  Knocked tcp;
  Knocked ssh;   // TCP port 22 at the other end's rail address
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
  std::vector<int> sizes;  // of the other end's UDP packets that arrived, in bytes
  FIELDS(PathHeard, sizes);
};

inline constexpr int kSmallPacket = 128;  // bytes
inline constexpr int kSshPort = 22;

}  // namespace railbed
