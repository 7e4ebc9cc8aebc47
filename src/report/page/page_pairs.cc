// Every pair of nodes as a cell. A few nodes make a table with numbers. Many make a square of colors, in
// which a slow node shows as a dark row or column. There the cells at full strength share one path, so that a
// thousand nodes still fit into a page; cells below full strength have a tooltip each, up to a limit.
#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "report/page/page_pictures.h"
#include "report/picture/bars.h"
#include "report/text/bench_table.h"
#include "report/text/pairs_text.h"

namespace railbed {
namespace {

constexpr std::size_t kNumbersShown = 16;  // nodes
constexpr std::size_t kCellsNamed = 400;
constexpr std::size_t kSlowListed = 20;
constexpr double kFullStrength = 0.95;

Html pairs_numbers(const HeatMap& map) {
  std::vector<ShareCell> cells;
  for (const HeatCell& cell : map.cells) {
    const auto name = [&](int at) { return map.names[static_cast<std::size_t>(at)]; };
    ShareCell share_cell{
        cell.row, cell.column, {}, fmt::format("{} → {}: failed", name(cell.row), name(cell.column)), {}};
    if (cell.value) {
      share_cell.share = map.typical > 0 ? *cell.value / map.typical : 1;
      share_cell.text = fmt::format("{:.3g}", *cell.value / 1e9);
      share_cell.title = fmt::format("{} → {}: {}, {:.0f} % of the median", name(cell.row), name(cell.column),
                                     to_text(BitRate{*cell.value}), *share_cell.share * 100);
    }
    cells.push_back(std::move(share_cell));
  }
  return draw_share_table("Gb/s from the row to the column, all pairs of a round at once", "from \\ to",
                          map.names, cells);
}

int heat_level(const HeatMap& map, const HeatCell& cell) {
  if (!cell.value) return 0;
  const double share = map.typical > 0 ? *cell.value / map.typical : 1;
  if (share >= kFullStrength || !std::isfinite(share)) return 5;
  return std::clamp(1 + static_cast<int>(share / kFullStrength * 4), 1, 4);
}

Html pairs_square(const HeatMap& map) {
  std::array<std::string, 6> paths;
  Html named;
  std::size_t count = 0;
  for (const HeatCell& cell : map.cells) {
    const int level = heat_level(map, cell);
    if (level == 5 || ++count > kCellsNamed) {
      paths[static_cast<std::size_t>(level)] += fmt::format("M{} {}h1v1h-1z", cell.column, cell.row);
      continue;
    }
    const auto name = [&](int at) { return map.names[static_cast<std::size_t>(at)]; };
    named += html(R"(<rect x="{}" y="{}" width="1" height="1" class="h{}"><title>{} → {}: {}</title></rect>)",
                  cell.column, cell.row, level, name(cell.row), name(cell.column),
                  cell.value ? to_text(BitRate{*cell.value}) : std::string("failed"));
  }
  Html cells;
  for (std::size_t level = 0; level < paths.size(); ++level)
    if (!paths[level].empty()) cells += html(R"(<path class="h{}" d="{}"/>)", level, paths[level]);
  return html(
      R"(<svg class="square" viewBox="0 0 {0} {0}" role="img" aria-label="{1}"><desc>One cell a pair: the row sends to the column. The text above names who is slow.</desc>{2}{3}</svg>)"
      R"(<p class="quiet legend">{4} (top, left) to {5}; rows send, columns receive <span class="scale"><i class="h0"></i> failed <i class="h1"></i> slow <i class="h3"></i> <i class="h5"></i> as fast as most</span></p>)",
      map.names.size(), map.title, cells, named, map.names.front(), map.names.back());
}

Html slow_line(const RailReport& rail, const Slow& slow) {
  const std::string_view note =
      slow.confirmed         ? slow.kind == SlowKind::kSilent ? "" : ", alone too"
      : rail.report.too_many ? "; not measured again"
      : slow.shared          ? ", and not known why: other traffic crossed its links while it was alone"
                             : " while others run, and as fast as they alone: congestion";
  return html(R"(<li class="{}">{} {}{}.</li>)", slow.confirmed ? "bad" : "warn", slow.confirmed ? "✕" : "!",
              slow_sentence(rail, slow), note);
}

Html pairs_meaning(const RailReport& rail) {
  const SlowReport& report = rail.report;
  Html lines = html(R"(<li>{} nodes in {} rounds; the median pair reaches {}{}.</li>)", report.nodes,
                    report.rounds, to_text(BitRate{report.together}),
                    report.alone > 0 ? ", alone " + to_text(BitRate{report.alone}) : std::string());
  for (std::size_t i = 0; i < std::min(report.slow.size(), kSlowListed); ++i)
    lines += slow_line(rail, report.slow[i]);
  if (report.slow.size() > kSlowListed)
    lines += html("<li>and {} more</li>", report.slow.size() - kSlowListed);
  if (report.slow.empty()) lines += html(R"(<li class="good">✓ Nobody is slower than the others.</li>)");
  for (std::size_t i = 0; i < std::min<std::size_t>(rail.failures.size(), 8); ++i)
    lines += html(R"(<li class="bad">✕ no number: {}</li>)", rail.failures[i]);
  for (std::size_t i = 0; i < std::min<std::size_t>(rail.notes.size(), 8); ++i)
    lines += html(R"(<li class="warn">! {}</li>)", rail.notes[i]);
  return html(R"(<ul class="meaning">{}</ul>)", lines);
}

}  // namespace

Html draw_pairs(const RailReport& rail) {
  const HeatMap map = heat_map_of(rail);
  Html picture;
  if (map.names.size() > 1 && !map.cells.empty())
    picture = map.names.size() <= kNumbersShown ? pairs_numbers(map) : pairs_square(map);
  return html(R"(<article class="path"><h3>{} <span>pairs of nodes, {}</span></h3>{}{}</article>)", rail.rail,
              measured_text(rail), pairs_meaning(rail), picture);
}

}  // namespace railbed
