// Runs that used all rails between two nodes at once: the total, and the share of each rail.
#pragma once

#include <string>
#include <vector>

#include "report/page/html.h"
#include "results/measurement.h"

namespace railbed {

// Returns a line for each way and one for each of its rails, the worst way first. Of many ways only the worst
// are shown unless `all`. Empty if no run used all rails at once.
std::string all_rails_text(const std::vector<Measurement>& measurements, bool all);
// Returns the same as a table of the page.
Html draw_all_rails(const std::vector<Measurement>& measurements);

}  // namespace railbed
