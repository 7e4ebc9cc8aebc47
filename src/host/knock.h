// Whether another node answers: ping, a TCP port, UDP. Each asks from one of this node's own addresses,
// changes nothing, and ends by its deadline.
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
  kRefused,      // something there says no: a TCP reset, an ICMP "port unreachable"
  kSilent,       // nothing came back in time
  kUnreachable,  // no route, or nobody answers ARP; or a router says so
  kForbidden,    // this node's own firewall does not let it go (EPERM)
  kTooLong,      // longer than the interface's MTU
  kUnable        // it could not be asked here, `why` says it
};
constexpr auto enum_names(Reach) {
  return std::array<std::string_view, 8>{"not asked",   "answered",  "refused",  "silent",
                                         "unreachable", "forbidden", "too long", "unable"};
}
struct Knocked {
  Reach reach = Reach::kNotAsked;
  std::string why;  // the system's words, where it is not plain
  FIELDS(Knocked, reach, why);
};

struct KnockAt {
  IpAddress from;
  IpAddress to;
  std::chrono::milliseconds deadline{1500};
  std::stop_token stop = {};
};

// A connection that is closed at once.
Knocked knock_tcp(const KnockAt& knock, int port);

// An ICMP echo in an IP packet of `bytes`, never fragmented. By a socket for pings
// (net.ipv4.ping_group_range), else a raw one, which needs CAP_NET_RAW; where neither may be opened it says
// so.
Knocked ping(const KnockAt& knock, int bytes);

// A datagram in an IP packet of `bytes`, never fragmented, to an EchoDoor, whose answer is short.
Knocked ask_echo(const KnockAt& knock, int port, std::string_view token, int bytes);

// Where the datagrams of RoCE v2 go: IANA's registry of ports.
inline constexpr int kRocePort = 4791;

// Answers such datagrams and takes TCP connections, without a word, on one address, for kEchoLife at most.
class EchoDoor {
 public:
  static constexpr std::chrono::seconds kEchoLife{20};
  // `with_roce`: on kRocePort as well, where nobody has it.
  static Result<std::shared_ptr<EchoDoor>> open(const IpAddress& address, std::string token, bool with_roce);
  EchoDoor(const EchoDoor&) = delete;
  EchoDoor& operator=(const EchoDoor&) = delete;

  int tcp_port() const { return tcp_port_; }
  int udp_port() const { return udp_port_; }
  bool has_roce_port() const { return bool(roce_); }
  const std::string& token() const { return token_; }
  std::set<int> heard() const;  // IP packets of these bytes came

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
  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace railbed
