// Traffic on a rail that was not the measurement's own.
//
// The counters of both ends' interfaces and RDMA ports are read before and after a measurement. What they
// moved, less the most that the measurement itself can have put on the wire, is other traffic. Which counters
// hold the measurement's own bytes depends on the adapter:
//
//   Ethernet, mlx5     the interface counts what passes the kernel, the RDMA port counts RDMA: each by itself
//   Ethernet, others   either may count all
//   software RDMA      the interface counts all
//   InfiniBand         the port counts all, IPoIB too
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/peer.h"
#include "bench/core/pair.h"
#include "host/host.h"
#include "results/measurement.h"

namespace railbed {

inline constexpr std::string_view kTraffic = "bench.traffic";  // TrafficQuestion → TrafficCounts

struct TrafficQuestion {
  std::string interface;
  std::string device;  // RDMA; empty: none
  int port = 1;
  FIELDS(TrafficQuestion, interface, device, port);
  bool operator==(const TrafficQuestion&) const = default;
};
// Returns whose counters hold all that crosses an end. Its facts must be there.
TrafficQuestion counted_at(const PairEnd& end);
// Bytes since the counters began; nullopt if the node has no such counter.
struct TrafficCounts {
  std::uint64_t at_ns = 0;
  std::optional<std::uint64_t> sent;  // by the interface
  std::optional<std::uint64_t> received;
  std::optional<std::uint64_t> port_sent;  // by the RDMA port
  std::optional<std::uint64_t> port_received;
  FIELDS(TrafficCounts, at_ns, sent, received, port_sent, port_received);
};

// The agent's side: the handler of kTraffic.
Handlers traffic_handlers(std::shared_ptr<Host> host);

// The most bytes that a measurement can have put on the wire with all headers, from its set-up to its end:
// in its own direction, and back (acknowledgments, replies).
struct OwnTraffic {
  std::uint64_t ahead = 0;
  std::uint64_t back = 0;
  bool rdma = false;
};
// Returns the most bytes on the wire that this payload takes in so many packets.
std::uint64_t most_on_wire(std::uint64_t payload, std::uint64_t packets);

// The counters that hold an end's traffic; the head of this file has the reasons.
enum class TrafficCounters { kInterfaceAndPort, kEitherAll, kInterface, kPort };
// Returns the other traffic of an end, which is the sending one if `sends`; nullopt if a counter is missing or went
// back.
std::optional<OtherTraffic> other_traffic(TrafficCounters counters, const TrafficCounts& before,
                                          const TrafficCounts& after, const OwnTraffic& own, bool sends);

// The controller's side: the constructor takes the first look at both nodes, end() the second. Does nothing
// if both ends are one node, or if a node's facts are missing.
class TrafficWatch {
 public:
  TrafficWatch(const PairEnd& from, const PairEnd& to, const std::stop_token& stop);
  void end(Measurement& measurement, const OwnTraffic& own) const;

 private:
  struct Side {
    Peer* peer = nullptr;
    TrafficQuestion question = {};
    TrafficCounters counters = TrafficCounters::kInterface;
    BitRate link = {};
    std::optional<TrafficCounts> before = {};
  };
  static Side side_of(const PairEnd& end);
  std::optional<TrafficCounts> look(const Side& side) const;
  std::optional<OtherTraffic> ask_end(const Side& side, const OwnTraffic& own, bool sends) const;

  Side from_;
  Side to_;
  const std::stop_token& stop_;
};

}  // namespace railbed
