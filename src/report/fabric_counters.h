// What the ports of a subnet have counted: for people, for programs, and for Prometheus.
#pragma once

#include <string>

#include "fabric/counters.h"
#include "fabric/subnet.h"

namespace railbed {

// More ports than this are left out of metrics, and their number is said: nodes decide how many there are.
inline constexpr std::size_t kMostMetricPorts = 10'000;

// Ports with errors, a line each.
std::string counters_text(const IbFabric& fabric, const IbCounterLook& look);
// Every port.
std::string counters_json(const IbFabric& fabric, const IbCounterLook& look);
// Prometheus' text format, with the names of infiniband_exporter. What it counts are totals, never rates.
std::string counters_prometheus(const IbFabric& fabric, const IbCounterLook& look,
                                std::size_t most_ports = kMostMetricPorts);

}  // namespace railbed
