// What the charts are made of: a bar on a track with its ceiling as a tick, and a table of shares as a heat
// map.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/html.h"
#include "results/measurement.h"

namespace railbed {

// 0 to 100; 0 of what cannot be drawn.
double percent_of(double value, double full);

// Bits per second of the binding limit; 0 without one.
double ceiling_rate(const Ceiling& ceiling);
// "wire at MTU 4096, 98.0 Gb/s: link speed less headers"; the note where there is no limit.
std::string ceiling_text(const Ceiling& ceiling);

struct Bar {
  double value = 0;
  std::string_view css = {};  // its colour: tcp, rdma, bad
  double low = 0;             // its interval; none where `high` is no higher
  double high = 0;
  const Ceiling* ceiling = nullptr;
};
// A cell of a table of class "chart".
Html draw_bar_cell(const Bar& bar, double axis);

// "87 %" of the ceiling with the ceiling and its source as tooltip, as a cell; a dash where nothing binds.
Html draw_share_cell(double value, const Ceiling& ceiling);

// "Chart" tables have one form: caption, heads for screen readers, rows.
Html draw_chart(std::string_view caption, std::initializer_list<std::string_view> heads, const Html& rows);

struct ShareCell {
  int row = 0;
  int column = 0;
  std::string text;             // what stands in it
  std::string title;            // its tooltip
  std::optional<double> share;  // 1 is full strength; nothing: it failed
};
// One colour a cell, the paler the nearer to full strength. For up to a screenful of names.
Html draw_share_table(std::string_view caption, std::string_view corner,
                      const std::vector<std::string>& names, const std::vector<ShareCell>& cells);

}  // namespace railbed
