// The parts of charts: a bar on a track with its ceiling as a tick, and a table of shares as a heat map.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/page/html.h"
#include "results/measurement.h"

namespace railbed {

// Returns 100 * value / full, limited to 0 to 100; 0 if it cannot be drawn.
double percent_of(double value, double full);

// Returns the binding limit in bits per second; 0 without one.
double ceiling_rate(const Ceiling& ceiling);
// Returns the binding limit in words, "wire at MTU 4096, 98.0 Gb/s: link speed less headers"; the ceiling's
// note without one.
std::string ceiling_text(const Ceiling& ceiling);

// A bar of a chart; rates in bits per second.
struct Bar {
  double value = 0;
  std::string_view css = {};  // the class of its color: tcp, rdma, bad
  double low = 0;             // its interval; not drawn unless `high` exceeds `low`
  double high = 0;
  const Ceiling* ceiling = nullptr;
};
// Draws a bar as a cell of a table of class "chart"; `axis` is the value at the right end.
Html draw_bar_cell(const Bar& bar, double axis);

// Draws the share of the ceiling as a cell, "87 %", with the ceiling and its source as a tooltip; a dash
// without a limit, "nominal" for a nominal one.
Html draw_share_cell(double value, const Ceiling& ceiling);

// Draws a table of class "chart", which always has a caption, heads for screen readers, and rows.
Html draw_chart(std::string_view caption, std::initializer_list<std::string_view> heads, const Html& rows);

// A cell of a table of shares.
struct ShareCell {
  int row = 0;
  int column = 0;
  std::string text;             // its content
  std::string title;            // its tooltip
  std::optional<double> share;  // 1 is full strength; none: it failed
};
// Draws one color for each cell, paler toward full strength. For names that fit on a screen.
Html draw_share_table(std::string_view caption, std::string_view corner,
                      const std::vector<std::string>& names, const std::vector<ShareCell>& cells);

}  // namespace railbed
