// Forecasts of the room predict/ as tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/contention.h"
#include "predict/latency_budget.h"

namespace railbed {

std::string latency_budget_text(const LatencyBudget& budget);
std::string sync_table_text(const std::vector<SyncRow>& rows);

// `broken`: the same traffic with broken parts.
std::string traffic_text(const Network& network, const TrafficForecast& whole,
                         const std::optional<TrafficForecast>& broken);

}  // namespace railbed
