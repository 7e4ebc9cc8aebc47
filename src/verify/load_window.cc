#include "verify/load_window.h"

#include <fmt/format.h>

#include <algorithm>

namespace railbed {

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
