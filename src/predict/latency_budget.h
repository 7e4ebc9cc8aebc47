// Splits the latency of a short message between two nodes into its parts, and computes what it costs a job
// that waits for such messages. Combines arithmetic and published figures with a measurement, if there is
// one.
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
  Wire wire = Wire::kRoceV2Ipv4;  // for RDMA; TCP has its own
  BitRate rate;                   // rate of the slowest link
  int mtu = 4096;
  std::uint64_t message_bytes = 64;
  double metres = 2;  // total length of the cables
  int switches = 0;
  SwitchClass kind = SwitchClass::kCutThrough;
};

// One part of the one-way latency (half a round trip): the least and the most that sources state.
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
  Nanoseconds low{};            // sum of all rows
  Nanoseconds high{};
  std::optional<Nanoseconds> measured;
  std::string measured_from;
  std::string verdict;  // comparison of the measurement with the sum; empty without one
  FIELDS(LatencyBudget, transport, rows, low, high, measured, measured_from, verdict);
};

struct MeasuredLatency {
  Nanoseconds time{};
  std::string from;
};
// Returns the budget of a message over RDMA or TCP.
LatencyBudget rdma_budget(const LatencyPath& path, const std::optional<MeasuredLatency>& measured);
LatencyBudget tcp_budget(const LatencyPath& path, const std::optional<MeasuredLatency>& measured);
// Returns the budget for a measurement of a run. Its floor gives serialization, switch and PCIe for that path
// (hardware/latency_floor.h); the other rows are as above. `path` gives the cable's length and the switches.
LatencyBudget budget_of(const Measurement& measurement, const LatencyPath& path);

// The cost of waiting for a number of messages per second, one after the other.
struct SyncRow {
  int per_second = 0;
  Nanoseconds tcp{};  // time waited per second
  Nanoseconds rdma{};
  FIELDS(SyncRow, per_second, tcp, rdma);
};
// Returns the rows for 100, 1,000 and 10,000 messages per second, as in the guide.
std::vector<SyncRow> sync_table(Nanoseconds tcp, Nanoseconds rdma);

}  // namespace railbed
