// Forecasts of training as text.
#pragma once

#include <string>
#include <vector>

#include "predict/goodput.h"
#include "predict/training.h"
#include "predict/training_memory.h"

namespace railbed {

std::string training_text(const TrainingForecast& forecast);
// `would_fit`: changed plans, if the plan does not fit.
std::string training_memory_text(const TrainingPlan& plan, const TrainingMemory& memory,
                                 const std::vector<FittingPlan>& would_fit);
std::string network_needs_text(const std::vector<NetworkNeed>& needs, BitRate there_is);
std::string checkpoint_text(const CheckpointForecast& forecast, const CheckpointPlan& plan);
std::string scaling_text(const Scaling& scaling);
// `currency` is that of the user's prices; empty if they have none.
std::string goodput_text(const GoodputPlan& plan, const GoodputForecast& forecast,
                         const std::string& currency);

}  // namespace railbed
