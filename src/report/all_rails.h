// All rails between two nodes at once: what they carried together, and the part of each.
#pragma once

#include <string>
#include <vector>

#include "report/html.h"
#include "results/measurement.h"

namespace railbed {

// A line for each way and one for each of its rails. Of many ways the worst, unless all are asked for. Empty
// where none was measured so.
std::string all_rails_text(const std::vector<Measurement>& measurements, bool all);
// The same as a table of the page.
Html draw_all_rails(const std::vector<Measurement>& measurements);

}  // namespace railbed
