// Texts for people about plans and rendered settings.
#pragma once

#include <string>
#include <vector>

#include "configure/plan.h"
#include "settings/render.h"

namespace railbed {

struct PlanTextOptions {
  bool colour = false;
  bool diff = false;  // each file's differences
  bool all = false;   // also settings that are in place already
};

// Returns the plan. A change that is the same on several nodes is shown once.
std::string plan_text(const ClusterPlan& plan, const PlanTextOptions& options = {});

// Returns every setting with its reason, its files and its commands.
std::string settings_text(const std::vector<NodeSettings>& nodes);

}  // namespace railbed
