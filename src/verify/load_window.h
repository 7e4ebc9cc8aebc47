// Walks over the rail ends that were under load (railbed verify --load), and the limits on their counters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verify/walk.h"

namespace railbed {

inline constexpr std::string_view kNeedsLoad = "needs --load";

// Return the record of the end's RDMA port and of its interface; null if not recorded.
const PortLoad* port_load(const Load& load, const RailEnd& end);
const InterfaceLoad* interface_load(const Load& load, const RailEnd& end);

// Returns the record of the end's node; null after ending the case if the end has no RDMA device or there was
// no load.
const Load* load_of(Case& verdict, const RailEnd& end);

// Calls look(Case&, const RailEnd&, const Load&) for every end with an RDMA device whose node was under load.
template <class Look>
void each_loaded_end(const Survey& survey, Judge& judge, Look&& look) {
  each_end(survey, judge, [&](Case& verdict, const RailEnd& end) {
    if (const Load* load = load_of(verdict, end)) look(verdict, end, *load);
  });
}

// Select one group of an end's counters; null if not recorded.
using PickMoves = const CounterMoves* (*)(const Load&, const RailEnd&);
const CounterMoves* port_counters(const Load& load, const RailEnd& end);
const CounterMoves* hardware_counters(const Load& load, const RailEnd& end);
const CounterMoves* driver_counters(const Load& load, const RailEnd& end);
const CounterMoves* fec_counters(const Load& load, const RailEnd& end);

// Returns the increase of a counter; 0 if it was not recorded.
std::uint64_t move_of(const CounterMoves& moves, const std::string& name);

// Limits of what is acceptable while a node works. Alerts on the same counters (monitor/) have the same limits.
inline constexpr int kSymbolErrorsAnHour = 120;  // InfiniBand's bit error rate of 1e-12
inline constexpr int kLinkRecoveriesAMinute = 5;
inline constexpr int kReceiveErrorsASecond = 10;
inline constexpr int kAckTimeoutsASecond = 1;
inline constexpr int kDiscardsASecond = 100;
inline constexpr int kRestartsASecond = 10;  // slow restarts of RoCE, and its adaptive retransmissions
// Blocks that error correction cannot mend: many times what IEEE 802.3 allows at any rate (hardware/fec.h).
inline constexpr int kLostBlocksASecond = 1;
inline constexpr int kCarrierChanges = 2;
inline constexpr int kNvlinkErrorsASecond = 100;  // CRC errors; DCGM

// The highest rate that is acceptable for one counter.
struct CounterLimit {
  std::string name;
  double per_second;  // a higher rate is red; 0: any increase is red
  std::string_view means;
};

// Returns the row of one of the counters that are watched while a node works; asserts that there is one.
const CounterLimit& limit_of(std::string_view name);

// Returns the number of packets that PCI Express may repeat in that time: DCGM's limit, one error in 10^12 bits, at the
// link's full rate.
std::uint32_t pcie_replays_allowed(int generation, int width, double seconds);
inline constexpr int kCorrectedPcieErrorsASecond = 1;  // AER

// A group of counters with its limits, and the texts of the finding.
struct Watch {
  PickMoves pick;
  std::vector<CounterLimit> limits;
  Status status;
  std::string expected;
  Remedy remedy;
  std::vector<ShellCommand> (*show)(const RailEnd&) = nullptr;  // adds commands with that end's names
};

// Ends the case: red if a counter exceeded its limit, not applicable if the end has none of the counters,
// else pass.
void judge_moves(Case& verdict, const RailEnd& end, const Load& load, const Watch& watch);
// Calls judge_moves() for every end that was under load.
void watch_ends(const Survey& survey, Judge& judge, const Watch& watch);

}  // namespace railbed
