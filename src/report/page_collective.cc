// Bus bandwidth over the size of an operation. Sizes are on a logarithmic axis from the smallest to the
// largest; rates are on an axis from zero to the ceiling or the best, whichever is higher. Lines are SVG that
// stretches with the page. Every letter and point is HTML at a percentage, so that it keeps its size on a
// phone.
#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "predict/against.h"
#include "report/bars.h"
#include "report/collective_table.h"
#include "report/page_pictures.h"
#include "report/page_sections.h"

namespace railbed {
namespace {

constexpr std::size_t kPointsDrawn = 200;
constexpr int kLabels = 5;

struct Plot {
  std::vector<const CollectiveRow*> rows;  // rows that can be drawn, the smallest first
  std::vector<const Forecast*> forecasts;  // for each row; empty if there are none
  double first = 0;                        // logarithm of the smallest size
  double last = 1;
  double top = 1;  // bits per second
  double x(const CollectiveRow& row) const {
    return last > first ? percent_of(std::log2(static_cast<double>(row.bytes)) - first, last - first) : 50;
  }
  double y(double rate) const { return percent_of(rate, top); }
};

Plot plot_of(const CollectiveReport& report, const std::vector<Forecast>& forecasts) {
  Plot plot;
  for (const CollectiveRow& row : report.rows)
    if (row.bytes > 0 && std::isfinite(row.busbw) && row.busbw >= 0 && plot.rows.size() < kPointsDrawn)
      plot.rows.push_back(&row);
  if (plot.rows.empty()) return plot;
  std::ranges::stable_sort(plot.rows, {}, &CollectiveRow::bytes);
  for (const CollectiveRow* row : plot.rows) {
    const auto said = std::ranges::find(forecasts, row->bytes, &Forecast::bytes);
    if (said == forecasts.end() || said->busbw <= 0) break;
    plot.forecasts.push_back(&*said);
  }
  if (plot.forecasts.size() != plot.rows.size()) plot.forecasts.clear();
  plot.first = std::log2(static_cast<double>(plot.rows.front()->bytes));
  plot.last = std::log2(static_cast<double>(plot.rows.back()->bytes));
  const auto best = std::ranges::max_element(plot.rows, {}, &CollectiveRow::busbw);
  const double ceiling = report.ceiling.nominal ? 0 : ceiling_rate(report.ceiling);
  double most = std::max({(*best)->busbw, ceiling, 1.0});
  for (const Forecast* forecast : plot.forecasts) most = std::max(most, forecast->busbw);
  plot.top = 1.06 * most;
  return plot;
}

std::string gigabytes_text(double rate) { return fmt::format("{:.3g} GB/s", rate / 8e9); }

std::uint64_t wrong_elements(const CollectiveRow& row) { return row.wrong + row.in_place_wrong; }

// Draws the band as an area and the forecast as a line within it.
Html forecast_area(const Plot& plot) {
  std::string low, high, line;
  for (std::size_t i = 0; i < plot.forecasts.size(); ++i) {
    const Forecast& forecast = *plot.forecasts[i];
    const double x = plot.x(*plot.rows[i]);
    const auto point = [&](double rate) {
      return fmt::format("{:.2f},{:.2f} ", x, 100 - std::min(100.0, plot.y(rate)));
    };
    high += point(forecast.busbw_high);
    low = point(forecast.busbw_low) + low;
    line += point(forecast.busbw);
  }
  if (line.empty()) return {};
  return html(
      R"(<polygon class="band" points="{}{}"><title>predicted: 80 % of what is measured lies within</title></polygon><polyline class="forecast" points="{}"/>)",
      high, low, line);
}

Html plot_lines(const Plot& plot, const CollectiveReport& report) {
  std::string points;
  for (const CollectiveRow* row : plot.rows)
    points += fmt::format("{:.2f},{:.2f} ", plot.x(*row), 100 - plot.y(row->busbw));
  Html lines;
  lines += forecast_area(plot);
  for (int i = 1; i < 4; ++i) lines += html(R"(<path class="grid" d="M0 {0}H100"/>)", 25 * i);
  if (const double ceiling = ceiling_rate(report.ceiling); ceiling > 0 && ceiling <= plot.top)
    lines += html(R"(<path class="limit" d="M0 {:.2f}H100"><title>ceiling: {}</title></path>)",
                  100 - plot.y(ceiling), ceiling_text(report.ceiling));
  return html(
      R"(<svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="Bus bandwidth of {} by size">)"
      R"(<desc>From {} at {} to {} at {}; the table below has every size.</desc>{}<polyline points="{}"/></svg>)",
      to_text(report.operation), gigabytes_text(plot.rows.front()->busbw),
      to_text(ByteCount{plot.rows.front()->bytes}), gigabytes_text(plot.rows.back()->busbw),
      to_text(ByteCount{plot.rows.back()->bytes}), lines, points);
}

Html plot_labels(const Plot& plot, const CollectiveReport& report) {
  Html labels;
  for (int i = 0; i <= 4; ++i)
    labels += html(R"(<i class="y" style="bottom:{}%">{}</i>)", 25 * i, gigabytes_text(plot.top * i / 4));
  const std::size_t count = plot.rows.size();
  const std::size_t shown = std::min<std::size_t>(count, kLabels);
  for (std::size_t i = 0; i < shown; ++i) {
    const CollectiveRow& row = *plot.rows[shown > 1 ? i * (count - 1) / (shown - 1) : 0];
    labels += html(R"(<i class="x" style="left:{:.2f}%">{}</i>)", plot.x(row), to_text(ByteCount{row.bytes}));
  }
  if (const double ceiling = ceiling_rate(report.ceiling); ceiling > 0 && ceiling <= plot.top)
    labels += html(R"(<i class="limit" style="bottom:{:.2f}%" title="{}">ceiling {}</i>)", plot.y(ceiling),
                   ceiling_text(report.ceiling), gigabytes_text(ceiling));
  return labels;
}

Html plot_points(const Plot& plot, const CollectiveReport& report) {
  const double ceiling = ceiling_rate(report.ceiling);
  Html points;
  for (const CollectiveRow* row : plot.rows) {
    std::string title = fmt::format("{}: {}", to_text(ByteCount{row->bytes}), gigabytes_text(row->busbw));
    if (ceiling > 0) title += fmt::format(", {:.0f} % of the ceiling", 100 * row->busbw / ceiling);
    if (const auto said = std::ranges::find(plot.rows, row) - plot.rows.begin(); !plot.forecasts.empty()) {
      const Forecast& forecast = *plot.forecasts[static_cast<std::size_t>(said)];
      title += fmt::format(", predicted {}: {}", gigabytes_text(forecast.busbw),
                           to_text(fit_of(row->busbw, forecast)));
    }
    const std::uint64_t wrong = wrong_elements(*row);
    if (wrong > 0) title += fmt::format(", {} elements wrong", wrong);
    points += html(R"(<i class="{}" style="left:{:.2f}%;bottom:{:.2f}%" title="{}">{}</i>)",
                   wrong > 0 ? "point bad" : "point", plot.x(*row), plot.y(row->busbw), title,
                   wrong > 0 ? "✕" : "");
  }
  return points;
}

Html size_rows(const CollectiveReport& report) {
  const auto time = [](double ns) { return ns > 0 ? to_text(Nanoseconds{ns}) : std::string("–"); };
  Html rows;
  for (std::size_t i = 0; i < std::min(report.rows.size(), kPointsDrawn); ++i) {
    const CollectiveRow& row = report.rows[i];
    const std::uint64_t wrong = wrong_elements(row);
    const Html checked = !row.checked ? html("not compared")
                         : wrong > 0  ? html(R"(<span class="bad">✕ {} wrong</span>)", wrong)
                                      : html("0");
    rows += html(
        R"(<tr><td class="number">{}</td><td class="number">{}</td><td class="number">{}</td><td class="number">{}</td><td class="number">{}</td>{}<td class="number">{}</td></tr>)",
        to_text(ByteCount{row.bytes}), time(row.launched.median), time(row.graph ? row.graph->median : 0),
        gigabytes_text(row.algbw), gigabytes_text(row.busbw), draw_share_cell(row.busbw, report.ceiling),
        checked);
  }
  return rows;
}

Html size_table(const CollectiveReport& report) {
  const Html table = html(
      R"(<table><thead><tr><th class="number">Size</th><th class="number">Launched</th><th class="number">From a graph</th>)"
      R"(<th class="number">algbw</th><th class="number">busbw</th><th class="number">of ceiling</th><th class="number">Elements wrong</th></tr></thead><tbody>{}</tbody></table>)",
      size_rows(report));
  return html(R"(<details><summary>Every size: {}</summary>{}</details>)", report.rows.size(),
              scrolled_table("Every size", table));
}

// Describes the size that falls short of its forecast most.
Html forecast_meaning(const Plot& plot) {
  std::size_t worst = 0;
  for (std::size_t i = 1; i < plot.forecasts.size(); ++i)
    if (plot.rows[i]->busbw * plot.forecasts[worst]->busbw_low <
        plot.rows[worst]->busbw * plot.forecasts[i]->busbw_low)
      worst = i;
  if (plot.forecasts.empty()) return {};
  const Forecast& forecast = *plot.forecasts[worst];
  const CollectiveRow& row = *plot.rows[worst];
  const ForecastFit fit = fit_of(row.busbw, forecast);
  if (fit == ForecastFit::kFits) return html(R"(<li class="remark">Every size fits its forecast.</li>)");
  return html(R"(<li class="{}">{} at {}: you should see {}, you see {}.</li>)",
              fit == ForecastFit::kFallsShort ? "bad" : "remark", to_text(fit), to_text(ByteCount{row.bytes}),
              gigabytes_text(forecast.busbw), gigabytes_text(row.busbw));
}

Html collective_meaning(const CollectiveReport& report, const Plot& plot) {
  Html lines = draw_failure(report.failure);
  if (!plot.rows.empty()) {
    const CollectiveRow& best = **std::ranges::max_element(plot.rows, {}, &CollectiveRow::busbw);
    const double ceiling = ceiling_rate(report.ceiling);
    const bool judged = ceiling > 0 && !report.ceiling.nominal;
    lines += html(R"(<li title="{}"><strong>{} at {}</strong>{}</li>)", ceiling_text(report.ceiling),
                  gigabytes_text(best.busbw), to_text(ByteCount{best.bytes}),
                  judged ? fmt::format(": {:.0f} % of {}, limited by {}", 100 * best.busbw / ceiling,
                                       gigabytes_text(ceiling), report.ceiling.limits.front().name)
                         : "");
    if (ceiling > 0 && best.busbw > ceiling)
      lines += html(
          R"(<li class="remark">Above the links' rate: a switch reduces on the way, so that less is sent.</li>)");
  }
  lines += forecast_meaning(plot);
  std::size_t bad = 0;
  for (const CollectiveRow& row : report.rows) bad += wrong_elements(row) > 0;
  if (bad > 0)
    lines += html(R"(<li class="bad">✕ The data was wrong at {} of {} sizes.</li>)", bad, report.rows.size());
  if (report.first_result > 0)
    lines +=
        html(R"(<li class="remark">first verified result after {:.2f} s</li>)", report.first_result / 1e9);
  return lines.empty() ? lines : html(R"(<ul class="meaning">{}</ul>)", lines);
}

}  // namespace

Html draw_collective(const CollectiveReport& report, const std::vector<Forecast>& forecasts) {
  const Plot plot = plot_of(report, forecasts);
  Html picture;
  if (!plot.rows.empty())
    picture = html(
        R"(<p class="caption">Bus bandwidth by size, logarithmic axis</p><div class="plot">{}{}{}</div>{})",
        plot_lines(plot, report), plot_labels(plot, report), plot_points(plot, report), size_table(report));
  const std::string who = report.ranks.empty()
                              ? std::string()
                              : fmt::format("{}, NCCL {}", collective_gpus_text(report), report.version);
  return html(R"(<article class="path"><h3>{} {} <span>{}</span></h3>{}{}</article>)",
              to_text(report.operation), to_text(report.type), who, collective_meaning(report, plot),
              picture);
}

}  // namespace railbed
