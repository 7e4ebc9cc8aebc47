#include "report/picture/bars.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/units.h"
#include "report/page/page_sections.h"

namespace railbed {

double percent_of(double value, double full) {
  return std::isfinite(value) && full > 0 ? std::clamp(100 * value / full, 0.0, 100.0) : 0;
}

double ceiling_rate(const Ceiling& ceiling) {
  return ceiling.limits.empty() ? 0 : ceiling.limits.front().rate.bits_per_second;
}

std::string ceiling_text(const Ceiling& ceiling) {
  if (ceiling.limits.empty()) return ceiling.note;
  const Limit& limit = ceiling.limits.front();
  std::string text = fmt::format("{}, {}", limit.name, to_text(limit.rate));
  if (!limit.source.empty()) text += ": " + limit.source;
  return text;
}

Html draw_bar_cell(const Bar& bar, double axis) {
  Html marks;
  if (bar.high > bar.low)
    marks = html(R"(<i class="spread" style="left:{:.2f}%;width:{:.2f}%"></i>)", percent_of(bar.low, axis),
                 percent_of(bar.high - bar.low, axis));
  const double most = bar.ceiling == nullptr ? 0 : ceiling_rate(*bar.ceiling);
  if (most > 0 && most <= axis)
    marks += html(R"(<i class="tick{}" style="left:{:.2f}%" title="ceiling: {}"></i>)",
                  bar.ceiling->nominal ? " nominal" : "", percent_of(most, axis), ceiling_text(*bar.ceiling));
  return html(R"(<td class="track"><div><b class="{}" style="width:{:.2f}%"></b>{}</div></td>)", bar.css,
              percent_of(bar.value, axis), marks);
}

Html draw_share_cell(double value, const Ceiling& ceiling) {
  const double most = ceiling_rate(ceiling);
  const std::string title = ceiling_text(ceiling);
  const Html tooltip = title.empty() ? Html{} : html(R"( title="{}")", title);
  if (ceiling.nominal) return html(R"(<td class="number quiet"{}>nominal</td>)", tooltip);
  if (!(most > 0) || !std::isfinite(value)) return html(R"(<td class="number quiet"{}>–</td>)", tooltip);
  return html(R"(<td class="number"{}>{:.0f} %</td>)", tooltip, 100 * value / most);
}

Html draw_chart(std::string_view caption, std::initializer_list<std::string_view> heads, const Html& rows) {
  Html head;
  for (const std::string_view one : heads) head += html("<th>{}</th>", one);
  return html(
      R"(<table class="chart bars"><caption>{}</caption><thead class="unseen"><tr>{}</tr></thead><tbody>{}</tbody></table>)",
      caption, head, rows);
}

namespace {

// Returns how far a cell is from full strength, in percent of the color. A few percent are noise, not a
// pattern.
double lack_of(double share) {
  constexpr double kFull = 0.95;
  return std::isfinite(share) ? 60 * (1 - std::clamp(share / kFull, 0.0, 1.0)) : 60;
}

Html share_cell(const ShareCell* cell, bool diagonal) {
  if (cell == nullptr) return html(R"(<td class="quiet">{}</td>)", diagonal ? "" : "·");
  if (!cell->share) return html(R"(<td class="failed" title="{}">✕</td>)", cell->title);
  return html(R"(<td title="{}" style="--lack:{:.0f}%">{}</td>)", cell->title, lack_of(*cell->share),
              cell->text);
}

}  // namespace

Html draw_share_table(std::string_view caption, std::string_view corner,
                      const std::vector<std::string>& names, const std::vector<ShareCell>& cells) {
  std::map<std::pair<int, int>, const ShareCell*> at;
  for (const ShareCell& cell : cells) at[{cell.row, cell.column}] = &cell;
  Html head = html("<td class=\"quiet\">{}</td>", corner);
  for (const std::string& name : names) head += html("<th scope=\"col\">{}</th>", name);
  Html rows;
  for (int row = 0; row < static_cast<int>(names.size()); ++row) {
    Html line = html("<th scope=\"row\">{}</th>", names[static_cast<std::size_t>(row)]);
    for (int column = 0; column < static_cast<int>(names.size()); ++column) {
      const auto found = at.find({row, column});
      line += share_cell(found == at.end() ? nullptr : found->second, row == column);
    }
    rows += html("<tr>{}</tr>", line);
  }
  return scrolled_table(
      caption,
      html(R"(<table class="heat"><caption>{}</caption><thead><tr>{}</tr></thead><tbody>{}</tbody></table>)",
           caption, head, rows));
}

}  // namespace railbed
