// Forecasts of experts' exchanges as text.
#pragma once

#include <string>
#include <vector>

#include "predict/experts.h"

namespace railbed {

std::string experts_text(const ExpertBatch& batch, const ExpertReach& reach,
                         const std::vector<ExpertForecast>& forecasts);

}  // namespace railbed
