// The walk over rail ends that were under load (railbed verify --load), and the limits that their counters
// are held to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "verify/walk.h"

namespace railbed {

inline constexpr std::string_view kNeedsLoad = "needs --load";

// What moved on the end's RDMA port and on its interface; null: not recorded.
const PortLoad* port_load(const Load& load, const RailEnd& end);
const InterfaceLoad* interface_load(const Load& load, const RailEnd& end);

// What the end's node recorded; null when the case has ended: no RDMA device, or no load.
const Load* load_of(Case& one, const RailEnd& end);

// look(Case&, const RailEnd&, const Load&) on every end with an RDMA device whose node was under load.
template <class Look>
void each_loaded_end(const Survey& survey, Judge& judge, Look&& look) {
  each_end(survey, judge, [&](Case& one, const RailEnd& end) {
    if (const Load* load = load_of(one, end)) look(one, end, *load);
  });
}

// One of an end's groups of counters; null: not recorded.
using PickMoves = const CounterMoves* (*)(const Load&, const RailEnd&);
const CounterMoves* port_counters(const Load& load, const RailEnd& end);
const CounterMoves* hardware_counters(const Load& load, const RailEnd& end);
const CounterMoves* driver_counters(const Load& load, const RailEnd& end);

// By how much a counter moved; 0 where there is none.
std::uint64_t move_of(const CounterMoves& moves, const std::string& name);

struct CounterLimit {
  std::string name;
  double per_second;  // above it is red; 0: not once
  std::string_view means;
};

struct Watch {
  PickMoves pick;
  std::vector<CounterLimit> limits;
  Status status;
  std::string expected;
  Remedy remedy;
  std::vector<ShellCommand> (*show)(const RailEnd&) = nullptr;  // more commands, in that end's own names
};

// Ends the case: red when one of the counters went faster than its limit, not applicable when the end has
// none of them.
void judge_moves(Case& one, const RailEnd& end, const Load& load, const Watch& watch);
// On every end that was under load.
void watch_ends(const Survey& survey, Judge& judge, const Watch& watch);

}  // namespace railbed
