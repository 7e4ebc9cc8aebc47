#include "report/picture/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/page/html.h"

namespace railbed {
namespace {

constexpr std::size_t kMostTextNames = 64;

double share_of(const HeatMap& map, const HeatCell& cell) {
  return map.typical > 0 ? std::clamp(*cell.value / map.typical, 0.0, 1.0) : 0;
}

std::string_view block(const HeatMap& map, const HeatCell& cell) {
  static constexpr std::string_view kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (!cell.value) return "x";
  // Noise of a few percent is no pattern: everything from 95 % up counts as full.
  const auto level = static_cast<std::size_t>(share_of(map, cell) / 0.95 * 7);
  return kBlocks[std::min<std::size_t>(level, 7)];
}

std::string percent(double share) { return fmt::format("{:.0f} %", share * 100); }

// Returns a color from light green to dark red as the share falls; gray if it failed.
std::string colour(const HeatMap& map, const HeatCell& cell) {
  if (!cell.value) return "#555555";
  const double lack = 1 - std::min(1.0, share_of(map, cell) / 0.95);
  const auto mix = [lack](double full, double empty) {
    return static_cast<int>(full + (empty - full) * lack);
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(226, 150), mix(239, 20), mix(228, 10));
}

}  // namespace

std::string heat_map_text(const HeatMap& map) {
  if (map.names.size() > kMostTextNames || map.names.empty()) return {};
  std::map<std::pair<int, int>, std::string_view> blocks;
  for (const HeatCell& cell : map.cells) blocks[{cell.row, cell.column}] = block(map, cell);
  std::size_t width = 0;
  for (const std::string& name : map.names) width = std::max(width, name.size());
  std::string text;
  const int count = static_cast<int>(map.names.size());
  for (int row = 0; row < count; ++row) {
    text += fmt::format("  {:>{}} ", map.names[static_cast<std::size_t>(row)], width);
    for (int column = 0; column < count; ++column) {
      const auto found = blocks.find({row, column});
      text += found != blocks.end() ? found->second : row == column ? " " : "·";
    }
    text += '\n';
  }
  return text +
         fmt::format(
             "  {:>{}} rows send, columns receive; █ as fast as most, ▁ far below, x failed, · not tried\n",
             "", width);
}

std::string heat_map_svg(const HeatMap& map) {
  const double size =
      std::clamp(640.0 / static_cast<double>(std::max<std::size_t>(map.names.size(), 1)), 2.0, 28.0);
  const bool named = size >= 9;
  const double left = named ? 120 : 20;
  const double top = named ? 150 : 50;
  const double side = size * static_cast<double>(map.names.size());
  Html inside = html(R"(<title>{}</title><rect width="100%" height="100%" fill="#ffffff"/>)", map.title);
  inside += html(R"(<text x="20" y="28" font-size="16">{}</text>)", map.title);
  for (std::size_t i = 0; named && i < map.names.size(); ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * size;
    inside += html(R"(<text x="{:.1f}" y="{:.1f}" font-size="{:.1f}" text-anchor="end">{}</text>)", left - 6,
                   top + middle + size * 0.3, size * 0.7, map.names[i]);
    inside +=
        html(R"svg(<text transform="translate({:.1f} {:.1f}) rotate(-60)" font-size="{:.1f}">{}</text>)svg",
             left + middle, top - 6, size * 0.7, map.names[i]);
  }
  for (const HeatCell& cell : map.cells) {
    const auto name = [&](int at) { return map.names[static_cast<std::size_t>(at)]; };
    const std::string share = cell.value ? percent(*cell.value / std::max(map.typical, 1.0)) : "failed";
    inside += html(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}">)",
                   left + static_cast<double>(cell.column) * size, top + static_cast<double>(cell.row) * size,
                   size - 0.5, size - 0.5, colour(map, cell));
    inside += html("<title>{} → {}: {}</title></rect>\n", name(cell.row), name(cell.column), share);
  }
  return html(
             R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:.0f} {:.0f}" font-family="sans-serif">)"
             "\n{}</svg>\n",
             left + side + 20, top + side + 20, inside)
      .markup;
}

}  // namespace railbed
