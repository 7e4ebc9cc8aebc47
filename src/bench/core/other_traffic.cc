#include "bench/core/other_traffic.h"

#include <algorithm>
#include <chrono>

#include "bench/core/clock.h"
#include "bench/core/typed.h"
#include "facts/facts.h"
#include "facts/network/counts.h"

namespace railbed {
namespace {

constexpr std::chrono::milliseconds kTrafficDeadline{3000};
constexpr double kShortestTraffic = 0.05;  // seconds
constexpr double kLongestTraffic = 1e6;    // seconds; a node that reports more is not believed
// Ethernet 18, preamble and gap 20, VLAN 4, IPv6 40, TCP with options 60; RoCE's headers and checks are shorter.
constexpr std::uint64_t kMostHeaders = 142;

std::optional<std::uint64_t> value_in(const std::map<std::string, std::uint64_t>& all, const char* name) {
  const auto found = all.find(name);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

Result<TrafficCounts> count_traffic(Host& host, const TrafficQuestion& question) {
  TrafficCounts counts;
  const auto statistics = interface_statistics(host, question.interface);
  counts.sent = value_in(statistics, "tx_bytes");
  counts.received = value_in(statistics, "rx_bytes");
  if (!question.device.empty()) {
    RdmaPort port;
    port.number = question.port;
    read_port(host, question.device, true, port);
    counts.port_sent = port_bytes(port.counters, "port_xmit_data");
    counts.port_received = port_bytes(port.counters, "port_rcv_data");
  }
  counts.at_ns = now_ns();
  return counts;
}

// One direction of an end's counters, before and after.
using Counter = std::optional<std::uint64_t>;
Counter moved(const Counter& before, const Counter& after) {
  if (!before || !after || *after < *before) return std::nullopt;
  return *after - *before;
}

std::uint64_t less(std::uint64_t bytes, std::uint64_t own) { return bytes > own ? bytes - own : 0; }

// Returns the other traffic of one direction. `own` is the measurement's in this direction.
Counter other_bytes(TrafficCounters counters, const Counter& interface, const Counter& port,
                    std::uint64_t own, bool rdma) {
  switch (counters) {
    case TrafficCounters::kInterface:
      return interface ? Counter(less(*interface, own)) : std::nullopt;
    case TrafficCounters::kPort:
      return port ? Counter(less(*port, own)) : std::nullopt;
    case TrafficCounters::kInterfaceAndPort:
      if (!interface || !port) return std::nullopt;
      return less(*interface, rdma ? 0 : own) + less(*port, rdma ? own : 0);
    case TrafficCounters::kEitherAll:
      if (!interface && !port) return std::nullopt;
      return std::max(less(interface.value_or(0), own), less(port.value_or(0), own));
  }
  return std::nullopt;
}

// Returns the interface whose counters hold all that crosses the port: that below a VLAN.
std::string counted_interface(const Net& net, const std::string& interface) {
  for (const Vlan& vlan : items(net.vlans))
    if (vlan.interface == interface && !vlan.parent.empty()) return vlan.parent;
  return interface;
}

// Returns the rate that hardware states. A virtual interface's is a claim.
BitRate stated_rate(const Net& net, const RdmaPortRef& port, const std::string& interface) {
  if (port && port.device->pci_address) return port.port->rate.value_or(BitRate{});
  const NetInterface* own = find_interface(net, interface);
  if (own == nullptr || !own->pci_address || !own->speed_mbps) return {};
  return BitRate{*own->speed_mbps * 1e6};
}

TrafficCounters counters_of(const RdmaPortRef& port) {
  if (!port) return TrafficCounters::kInterface;
  if (port.port->link_layer.value_or("") == "InfiniBand") return TrafficCounters::kPort;
  const std::string driver = port.device->driver.value_or("");
  if (driver == "rxe" || driver == "siw") return TrafficCounters::kInterface;
  return driver == "mlx5_core" ? TrafficCounters::kInterfaceAndPort : TrafficCounters::kEitherAll;
}

}  // namespace

std::uint64_t most_on_wire(std::uint64_t payload, std::uint64_t packets) {
  return payload + packets * kMostHeaders;
}

std::optional<OtherTraffic> other_traffic(TrafficCounters counters, const TrafficCounts& before,
                                          const TrafficCounts& after, const OwnTraffic& own, bool sends) {
  OtherTraffic other;
  if (after.at_ns <= before.at_ns) return std::nullopt;
  other.seconds = static_cast<double>(after.at_ns - before.at_ns) / 1e9;
  const Counter sent =
      other_bytes(counters, moved(before.sent, after.sent), moved(before.port_sent, after.port_sent),
                  sends ? own.ahead : own.back, own.rdma);
  const Counter received =
      other_bytes(counters, moved(before.received, after.received),
                  moved(before.port_received, after.port_received), sends ? own.back : own.ahead, own.rdma);
  if (!sent || !received || other.seconds < kShortestTraffic || other.seconds > kLongestTraffic)
    return std::nullopt;
  other.sent = *sent;
  other.received = *received;
  return other;
}

Handlers traffic_handlers(std::shared_ptr<Host> host) {
  Handlers all;
  all.emplace(kTraffic,
              typed_handler<TrafficQuestion>([host](const TrafficQuestion& question, std::stop_token) {
                return count_traffic(*host, question);
              }));
  return all;
}

TrafficQuestion counted_at(const PairEnd& end) {
  const RdmaPortRef port = rdma_port_of(end.facts->rdma, end.facts->net, end.interface);
  TrafficQuestion at{counted_interface(end.facts->net, end.interface), "", 1};
  if (port) at.device = port.device->name;
  if (port) at.port = port.port->number;
  return at;
}

TrafficWatch::Side TrafficWatch::side_of(const PairEnd& end) {
  const RdmaPortRef port = rdma_port_of(end.facts->rdma, end.facts->net, end.interface);
  Side side{end.peer, counted_at(end), counters_of(port)};
  side.link = stated_rate(end.facts->net, port, side.question.interface);
  return side;
}

TrafficWatch::TrafficWatch(const PairEnd& from, const PairEnd& to, const std::stop_token& stop)
    : stop_(stop) {
  if (from.facts == nullptr || to.facts == nullptr || from.peer->node() == to.peer->node()) return;
  from_ = side_of(from);
  to_ = side_of(to);
  for (Side* side : {&from_, &to_}) side->before = look(*side);
}

std::optional<TrafficCounts> TrafficWatch::look(const Side& side) const {
  auto counts = ask<TrafficCounts>(*side.peer, kTraffic, side.question, kTrafficDeadline, stop_);
  return counts ? std::optional(*counts) : std::nullopt;
}

std::optional<OtherTraffic> TrafficWatch::ask_end(const Side& side, const OwnTraffic& own, bool sends) const {
  if (!side.before) return std::nullopt;
  const auto after = look(side);
  if (!after) return std::nullopt;
  auto other = other_traffic(side.counters, *side.before, *after, own, sends);
  if (other) other->link = side.link;
  return other;
}

void TrafficWatch::end(Measurement& measurement, const OwnTraffic& own) const {
  measurement.from.other_traffic = ask_end(from_, own, true);
  measurement.to.other_traffic = ask_end(to_, own, false);
}

}  // namespace railbed
