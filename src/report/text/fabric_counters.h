// Counters of a subnet's ports: for people, for programs, and for Prometheus.
#pragma once

#include <string>

#include "fabric/counters.h"
#include "fabric/subnet.h"

namespace railbed {

// Metrics have at most this many ports, and report how many were left out: the nodes decide how many there
// are.
inline constexpr std::size_t kMostMetricPorts = 10'000;

// Returns the ports with errors, each with its counters that are not 0.
std::string counters_text(const IbFabric& fabric, const IbCounterLook& look);
// Returns every port that has a link or has counted errors.
std::string counters_json(const IbFabric& fabric, const IbCounterLook& look);
// Returns Prometheus' text format, with the names of infiniband_exporter. Counters are totals, never rates.
std::string counters_prometheus(const IbFabric& fabric, const IbCounterLook& look,
                                std::size_t most_ports = kMostMetricPorts);

}  // namespace railbed
