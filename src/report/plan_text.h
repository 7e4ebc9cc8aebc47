// Plans and rendered settings as people read them.
#pragma once

#include <string>
#include <vector>

#include "configure/plan.h"
#include "settings/render.h"

namespace railbed {

struct PlanTextOptions {
  bool colour = false;
  bool diff = false;  // each file's differences
  bool all = false;   // also what is met already
};

// Changes that are the same on several nodes are told once.
std::string plan_text(const ClusterPlan& plan, const PlanTextOptions& options = {});

// Every setting with its reason, its files and its commands.
std::string settings_text(const std::vector<NodeSettings>& nodes);

}  // namespace railbed
