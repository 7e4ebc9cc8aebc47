// Probes whether another node can be reached: ping, a TCP port, UDP. Each probe uses one of this node's own
// addresses as its source, changes nothing, and ends by its deadline or when a stop is requested.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "base/fd.h"
#include "base/fields.h"
#include "base/ip.h"
#include "base/result.h"

namespace railbed {

enum class Reach {
  kNotAsked,
  kAnswered,
  kRefused,      // a TCP reset, or an ICMP "port unreachable"
  kSilent,       // nothing came back in time
  kUnreachable,  // no route, no ARP reply, or an ICMP error from a router
  kForbidden,    // this node's own firewall blocks it (EPERM)
  kTooLong,      // longer than the interface's MTU
  kUnable        // the probe could not be made here; `why` has the reason
};
constexpr auto enum_names(Reach) {
  return std::array<std::string_view, 8>{"not asked",   "answered",  "refused",  "silent",
                                         "unreachable", "forbidden", "too long", "unable"};
}
struct Knocked {
  Reach reach = Reach::kNotAsked;
  std::string why;  // the system's message, if `reach` alone does not explain it
  FIELDS(Knocked, reach, why);
};

// Source, target and limits of a probe.
struct KnockAt {
  IpAddress from;
  IpAddress to;
  std::chrono::milliseconds deadline{1500};
  std::stop_token stop = {};
};

// Opens a TCP connection and closes it at once.
Knocked knock_tcp(const KnockAt& knock, int port);

// Sends an ICMP echo request in an IP packet of `bytes`, never fragmented. Uses a ping socket
// (net.ipv4.ping_group_range), else a raw socket, which needs CAP_NET_RAW. If neither may be opened, returns
// kUnable with the reason.
Knocked ping(const KnockAt& knock, int bytes);

// Sends a datagram in an IP packet of `bytes`, never fragmented, to an EchoDoor, which returns a short reply.
Knocked ask_echo(const KnockAt& knock, int port, std::string_view token, int bytes);

// The UDP port of RoCE v2: IANA's registry of ports.
inline constexpr int kRocePort = 4791;

// Replies to such datagrams and accepts TCP connections, silently, on one address, for kEchoLife at most.
// Runs a thread of its own, which the destructor stops. Thread-safe.
class EchoDoor {
 public:
  static constexpr std::chrono::seconds kEchoLife{20};
  // `with_roce`: also listens on kRocePort, if that port is free; has_roce_port() returns whether it was.
  static Result<std::shared_ptr<EchoDoor>> open(const IpAddress& address, std::string token, bool with_roce);
  EchoDoor(const EchoDoor&) = delete;
  EchoDoor& operator=(const EchoDoor&) = delete;

  int tcp_port() const { return tcp_port_; }
  int udp_port() const { return udp_port_; }
  bool has_roce_port() const { return bool(roce_); }
  const std::string& token() const { return token_; }
  std::set<int> heard() const;  // sizes of the IP packets that came; at most 16 are kept

 private:
  EchoDoor() = default;
  void serve(const std::stop_token& stop);
  void answer(int fd);

  std::string token_;
  Fd tcp_;
  Fd udp_;
  Fd roce_;
  int tcp_port_ = 0;
  int udp_port_ = 0;
  mutable std::mutex mutex_;
  std::set<int> heard_;  // guarded by mutex_
  std::jthread thread_;  // last: it ends before the members that it uses
};

}  // namespace railbed
