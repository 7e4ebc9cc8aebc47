// A matrix of values from each node to each, as a picture: which row or column is dark.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

struct HeatCell {
  int row = 0;
  int column = 0;
  std::optional<double> value;  // nothing: it was tried and failed
};

struct HeatMap {
  std::string title;
  std::vector<std::string> names;  // of rows and of columns
  std::vector<HeatCell> cells;     // pairs that were not tried have none
  double typical = 0;              // full strength
};

// Block characters, one a cell, for up to 64 names; nothing above.
std::string heat_map_text(const HeatMap& map);
// A whole SVG document; each cell says its names and share when pointed at.
std::string heat_map_svg(const HeatMap& map);

}  // namespace railbed
