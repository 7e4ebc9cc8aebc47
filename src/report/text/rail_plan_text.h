// A plan of rails for the technician who lays the cables, and for labels.
#pragma once

#include <string>

#include "predict/rail_plan.h"
#include "predict/switch_advice.h"

namespace railbed {

// Returns "4 nodes × 2 rails, and storage on 1 server".
std::string rail_plan_title(const RailPlan& plan);
// Returns the switches, the addresses and the cabling list.
std::string rail_plan_text(const RailPlan& plan);
// Returns two lines for each end of each cable, with a blank line between two labels.
std::string cable_labels_text(const RailPlan& plan);
// Returns a page to print: the drawing, the list, and sheets of 3 × 8 labels of 70 × 37 mm on A4.
std::string rail_plan_page(const RailPlan& plan);

std::string switch_advice_text(const SwitchAdvice& advice, int nodes);

}  // namespace railbed
