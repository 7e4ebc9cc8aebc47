// Where the time of a short message goes on its way between two nodes, and what it costs a job that waits for
// such messages. Arithmetic and published figures beside what was measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "hardware/ceilings.h"
#include "predict/switch_class.h"
#include "results/measurement.h"

namespace railbed {

struct LatencyPath {
  Wire wire = Wire::kRoceV2Ipv4;  // of RDMA; TCP stands for its own
  BitRate rate;                   // of the slowest link
  int mtu = 4096;
  std::uint64_t message_bytes = 64;
  double metres = 2;  // of cable, all together
  int switches = 0;
  SwitchClass kind = SwitchClass::kCutThrough;
};

// One part of the way, half a round trip: as little and as much as sources say.
struct BudgetRow {
  std::string name;
  Nanoseconds low{};
  Nanoseconds high{};
  std::string source;
  FIELDS(BudgetRow, name, low, high, source);
};

struct LatencyBudget {
  std::string transport;        // "RDMA", "TCP"
  std::vector<BudgetRow> rows;  // adapter, serialisation, PCIe, cable, switch, software
  Nanoseconds low{};            // of all rows
  Nanoseconds high{};
  std::optional<Nanoseconds> measured;
  std::string measured_from;
  std::string verdict;  // how the measured one compares; empty without one
  FIELDS(LatencyBudget, transport, rows, low, high, measured, measured_from, verdict);
};

struct MeasuredLatency {
  Nanoseconds time{};
  std::string from;
};
LatencyBudget rdma_budget(const LatencyPath& path, const std::optional<MeasuredLatency>& measured);
LatencyBudget tcp_budget(const LatencyPath& path, const std::optional<MeasuredLatency>& measured);
// Beside a measurement of a run: its floor says serialisation, switch and PCIe for that very path (hardware/
// latency_floor.h); the rest is as above. `path` gives the cable's length and the switches.
LatencyBudget budget_of(const Measurement& measurement, const LatencyPath& path);

// What waiting costs that many times a second: one message each, one after the other.
struct SyncRow {
  int per_second = 0;
  Nanoseconds tcp{};  // of each second
  Nanoseconds rdma{};
  FIELDS(SyncRow, per_second, tcp, rdma);
};
// 100, 1,000 and 10,000, as the guide has them.
std::vector<SyncRow> sync_table(Nanoseconds tcp, Nanoseconds rdma);

}  // namespace railbed
