// Forecasts of the room predict/ as tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/contention.h"
#include "predict/latency_budget.h"
#include "predict/training.h"

namespace railbed {

std::string latency_budget_text(const LatencyBudget& budget);
std::string sync_table_text(const std::vector<SyncRow>& rows);

std::string training_text(const TrainingForecast& forecast);
std::string network_needs_text(const std::vector<NetworkNeed>& needs, BitRate there_is);
std::string checkpoint_text(const CheckpointForecast& forecast, const CheckpointPlan& plan);
std::string scaling_text(const Scaling& scaling);

// `broken`: the same traffic with broken parts.
std::string traffic_text(const Network& network, const TrafficForecast& whole,
                         const std::optional<TrafficForecast>& broken);

}  // namespace railbed
