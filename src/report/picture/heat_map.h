// A matrix of values from each node to each, as a picture: a slow node shows as a dark row or column.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

// A value for one pair. Row and column are indices into HeatMap::names; they must be in range, which is not
// checked.
struct HeatCell {
  int row = 0;
  int column = 0;
  std::optional<double> value;  // none: it was tried and failed
};

struct HeatMap {
  std::string title;
  std::vector<std::string> names;  // of rows and of columns
  std::vector<HeatCell> cells;     // none for pairs that were not tried
  double typical = 0;              // the value of full strength
};

// Returns one block character for each cell, for up to 64 names; empty for more.
std::string heat_map_text(const HeatMap& map);
// Returns an SVG document; each cell has its names and share as a tooltip.
std::string heat_map_svg(const HeatMap& map);

}  // namespace railbed
