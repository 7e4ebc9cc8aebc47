#include "verify/load_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace railbed {

const CounterLimit& limit_of(std::string_view name) {
  static const std::vector<CounterLimit> kLimits = {
      {"link_downed", 0, "the link was lost"},
      {"local_link_integrity_errors", 0, "errors came faster than the link may correct"},
      {"excessive_buffer_overrun_errors", 0, "flow control is broken"},
      {"symbol_error", kSymbolErrorsAnHour / 3600.0, "the signal is weak"},
      {"link_error_recovery", kLinkRecoveriesAMinute / 60.0, "the link had to retrain"},
      {"port_rcv_errors", kReceiveErrorsASecond, "damaged packets arrive"},
      {"local_ack_timeout_err", kAckTimeoutsASecond, "answers never come: black hole, flap or dead peer"},
      {"port_xmit_discards", kDiscardsASecond, "packets are thrown away because the port cannot send them"},
      {"roce_slow_restart", kRestartsASecond, "connections fall back to their slowest rate again and again"},
      {"roce_adp_retrans", kRestartsASecond, "adaptive retransmission resends all the time"},
      {"rp_cnp_ignored", 0, "the peer asks to slow down and is ignored: ECN is off on this adapter"},
      {"out_of_buffer", 0, "messages came and no buffer was posted"},
      {"rnr_nak_retry_err", 0, "a sender gave up waiting for a buffer"},
      {"rx_icrc_encapsulated", 0, "packets are corrupted between the two adapters"},
      {"tx_pause_storm_error_events", 0, "this host stopped its peer for so long that the adapter gave up"},
      {"tx_pause_storm_warning_events", 0, "this host stops its peer for long"},
  };
  const auto found = std::ranges::find(kLimits, name, &CounterLimit::name);
  assert(found != kLimits.end());
  return *found;
}

std::uint32_t pcie_replays_allowed(int generation, int width, double seconds) {
  constexpr double kPerLane[] = {0, 2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  const double rate = kPerLane[std::clamp(generation, 1, 6)] * width;
  constexpr double kMost = 4e9;  // what the counter holds
  return static_cast<std::uint32_t>(std::clamp(std::ceil(rate * 1e-12 * seconds), 0.0, kMost));
}

const Load* load_of(Case& verdict, const RailEnd& end) {
  return verdict.lacks_rdma(end) ? nullptr : verdict.read_if_there(end.facts->load, std::string(kNeedsLoad));
}

const PortLoad* port_load(const Load& load, const RailEnd& end) {
  for (const PortLoad& port : load.ports)
    if (port.device == end.rdma.device->name && port.number == end.rdma.port->number) return &port;
  return nullptr;
}

const InterfaceLoad* interface_load(const Load& load, const RailEnd& end) {
  const auto found = std::ranges::find(load.interfaces, end.name, &InterfaceLoad::name);
  return found == load.interfaces.end() ? nullptr : &*found;
}

const CounterMoves* port_counters(const Load& load, const RailEnd& end) {
  const PortLoad* port = port_load(load, end);
  return port == nullptr ? nullptr : &port->counters;
}

const CounterMoves* hardware_counters(const Load& load, const RailEnd& end) {
  const PortLoad* port = port_load(load, end);
  return port == nullptr ? nullptr : &port->hw_counters;
}

const CounterMoves* driver_counters(const Load& load, const RailEnd& end) {
  const InterfaceLoad* interface = interface_load(load, end);
  return interface == nullptr ? nullptr : &interface->driver;
}

const CounterMoves* fec_counters(const Load& load, const RailEnd& end) {
  const InterfaceLoad* interface = interface_load(load, end);
  return interface == nullptr ? nullptr : &interface->fec;
}

std::uint64_t move_of(const CounterMoves& moves, const std::string& name) {
  const auto found = moves.find(name);
  return found == moves.end() ? 0 : found->second;
}

void judge_moves(Case& verdict, const RailEnd& end, const Load& load, const Watch& watch) {
  const CounterMoves* moves = watch.pick(load, end);
  std::vector<std::string> fast;
  std::vector<std::string_view> meanings;
  std::size_t counted = 0;
  for (const CounterLimit& limit : watch.limits) {
    if (moves == nullptr) break;
    const auto found = moves->find(limit.name);
    if (found == moves->end()) continue;
    ++counted;
    if (static_cast<double>(found->second) <= limit.per_second * load.seconds) continue;
    fast.push_back(fmt::format("{} {}", limit.name, found->second));
    meanings.push_back(limit.means);
  }
  if (counted == 0) return verdict.not_applicable("the port has no such counter");
  if (fast.empty()) return verdict.pass(fmt::format("within limits for {:.0f} s", load.seconds));
  Remedy remedy = watch.remedy;
  if (watch.show != nullptr) std::ranges::move(watch.show(end), std::back_inserter(remedy.commands));
  verdict.red(watch.status,
              {.message = fmt::format("{} counted {} in {:.0f} s: {}", end.rdma_where(),
                                      fmt::join(fast, ", "), load.seconds, fmt::join(meanings, "; ")),
               .expected = watch.expected,
               .observed = fmt::format("{} in {:.0f} s", fmt::join(fast, ", "), load.seconds),
               .remedy = std::move(remedy)});
}

void watch_ends(const Survey& survey, Judge& judge, const Watch& watch) {
  each_loaded_end(survey, judge, [&](Case& verdict, const RailEnd& end, const Load& load) {
    judge_moves(verdict, end, load, watch);
  });
}

}  // namespace railbed
