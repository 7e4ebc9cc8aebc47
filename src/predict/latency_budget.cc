// The rows are the V100 guide's ("Observed Latency Breakdown (Back-to-Back)"). Serialization is arithmetic:
// all bytes of the message with their headers at the link's rate. A cable is 5 ns per meter: light in copper
// and glass travels about two thirds of 0.3 m in a nanosecond. The other rows cannot be observed from a node.
// For them the guide's estimates are the low end and the values in articles the high end, so a budget is a
// range. A measured latency within the range is explained. One above it is not: then something is slow that
// no row covers. One below it only shows that the estimates are too high for this path.
#include "predict/latency_budget.h"

#include <fmt/format.h>

#include <algorithm>

namespace railbed {
namespace {

constexpr Nanoseconds kMetre{5};
constexpr std::string_view kGuide = "the V100 guide's estimate";
constexpr std::string_view kArticles =
    "the V100 guide's estimate of 200 ns an adapter; articles say 0.3 to 0.8 µs (kentino.com, \"Latency "
    "Dissection\"), no measurement";

BudgetRow adapters() {
  return {"adapters, both", Nanoseconds{400}, Nanoseconds{1600}, std::string(kArticles)};
}

BudgetRow serialisation(const LatencyPath& path, Wire wire) {
  const auto bytes = least_wire_bytes(wire, path.mtu, path.message_bytes);
  const Nanoseconds time{static_cast<double>(bytes) * 8e9 / path.rate.bits_per_second};
  return {"serialisation", time, time, fmt::format("{} bytes with headers at {}", bytes, to_text(path.rate))};
}

BudgetRow pcie() {
  return {"PCIe", Nanoseconds{200}, Nanoseconds{600},
          fmt::format("{}; high end assumed: two crossings of 300 ns", kGuide)};
}

BudgetRow cable(const LatencyPath& path) {
  return {"cable", path.metres * kMetre, path.metres * kMetre, fmt::format("{:g} m at 5 ns", path.metres)};
}

BudgetRow switches(const LatencyPath& path) {
  const HopLatency& hop = hop_latency(path.kind);
  if (path.switches == 0) return {"switch", {}, {}, "back to back: none"};
  return {"switch", path.switches * hop.low, path.switches * hop.high,
          fmt::format("{} × {}: {}", path.switches,
                      enum_names(path.kind)[static_cast<std::size_t>(path.kind)], hop.source)};
}

BudgetRow rdma_software() {
  return {"software", Nanoseconds{227}, Nanoseconds{227}, "what the V100 guide has left of its 0.85 µs"};
}

BudgetRow tcp_software() {
  return {"software", Nanoseconds{10000}, Nanoseconds{30000},
          "both kernels, one way: 10 to 30 µs (wwt.com, \"The Basics of High Performance Networking\"), no "
          "measurement"};
}

std::string verdict_of(const LatencyBudget& budget) {
  const Nanoseconds measured = *budget.measured;
  if (measured > budget.high)
    return fmt::format(
        "{} more than all rows at their highest: look at processor states, interrupt "
        "moderation, a longer way",
        to_text(measured - budget.high));
  if (measured < budget.low)
    return fmt::format("{} less than all rows at their lowest: the estimates are too high for this path",
                       to_text(budget.low - measured));
  return "within what the rows explain";
}

LatencyBudget finished(LatencyBudget budget, const std::optional<MeasuredLatency>& measured) {
  for (const BudgetRow& row : budget.rows) {
    budget.low += row.low;
    budget.high += row.high;
  }
  if (!measured) return budget;
  budget.measured = measured->time;
  budget.measured_from = measured->from;
  budget.verdict = verdict_of(budget);
  return budget;
}

LatencyBudget budget(const LatencyPath& path, bool tcp, const std::optional<MeasuredLatency>& measured) {
  return finished({tcp ? "TCP" : "RDMA",
                   {adapters(), serialisation(path, tcp ? Wire::kTcpIpv4 : path.wire), pcie(), cable(path),
                    switches(path), tcp ? tcp_software() : rdma_software()},
                   {},
                   {},
                   {},
                   {},
                   {}},
                  measured);
}

// Replaces assumed rows by those that the measurement's floor has for this path.
void take_floor(LatencyBudget& budget, const Floor& floor) {
  Nanoseconds bridges{};
  std::string source;
  for (const FloorPart& part : floor.parts) {
    if (part.name == "wire") budget.rows[1] = {"serialisation", part.time, part.time, part.source};
    if (!part.name.starts_with("PCIe")) continue;
    bridges += part.time;
    source += (source.empty() ? "at least " : "; ") + part.source;
  }
  if (source.empty()) return;
  budget.rows[2].low = bridges;
  budget.rows[2].high = std::max(budget.rows[2].high, bridges);
  budget.rows[2].source = source + "; high end assumed";
}

}  // namespace

LatencyBudget rdma_budget(const LatencyPath& path, const std::optional<MeasuredLatency>& measured) {
  return budget(path, false, measured);
}

LatencyBudget tcp_budget(const LatencyPath& path, const std::optional<MeasuredLatency>& measured) {
  return budget(path, true, measured);
}

LatencyBudget budget_of(const Measurement& measurement, const LatencyPath& path) {
  LatencyPath own = path;
  own.message_bytes = measurement.message_bytes;
  if (measurement.mtu > 0) own.mtu = measurement.mtu;
  LatencyBudget result = budget(own, measurement.engine == Engine::kTcp, std::nullopt);
  take_floor(result, measurement.floor);
  result.low = result.high = {};
  return finished(std::move(result),
                  MeasuredLatency{Nanoseconds{measurement.summary.median},
                                  fmt::format("median, {} to {}, rail {}", measurement.from.node,
                                              measurement.to.node, measurement.rail)});
}

std::vector<SyncRow> sync_table(Nanoseconds tcp, Nanoseconds rdma) {
  std::vector<SyncRow> table;
  for (const int per_second : {100, 1000, 10000})
    table.push_back({per_second, per_second * tcp, per_second * rdma});
  return table;
}

}  // namespace railbed
