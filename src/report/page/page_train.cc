// A step of training as one bar. Computing and exchange overlap: the part of the exchange that the backward
// pass hides is within the computing, and the rest follows. So the bar is computing alone, computing while
// exchanging, and the exposed exchange; their sum is the step.
#include <algorithm>

#include "base/units.h"
#include "report/page/page_pictures.h"
#include "report/picture/bars.h"
#include "report/text/train_text.h"

namespace railbed {
namespace {

struct Part {
  std::string_view css;
  std::string_view name;
  double seconds = 0;
};

std::vector<Part> parts_of(const TrainReport& report) {
  const double compute = std::max(report.compute.median, 0.0);
  const double hidden =
      std::clamp(report.exchange.median * std::clamp(report.overlap, 0.0, 1.0), 0.0, compute);
  return {{"alone", "computing", compute - hidden},
          {"hidden", "computing, exchange hidden", hidden},
          {"exposed", "exchange exposed", std::max(report.exposed, 0.0)}};
}

Html step_bar(const TrainReport& report) {
  const auto parts = parts_of(report);
  double whole = 0;
  for (const Part& part : parts) whole += part.seconds;
  if (!(whole > 0)) return {};
  Html bar;
  Html legend;
  for (const Part& part : parts) {
    if (!(percent_of(part.seconds, whole) > 0)) continue;
    const std::string title = fmt::format("{}: {}, {:.0f} % of the step", part.name,
                                          seconds_text(part.seconds), 100 * part.seconds / whole);
    bar += html(R"(<b class="{}" style="width:{:.2f}%" title="{}"></b>)", part.css,
                percent_of(part.seconds, whole), title);
    legend += html(R"(<li><span class="key {}"></span>{}</li>)", part.css, title);
  }
  return html(
      R"(<div class="stack" role="img" aria-label="One step of {}, {:.1f} % scaling efficiency">{}</div>)"
      R"(<ul class="legend">{}</ul>)",
      seconds_text(report.step.median), 100 * report.efficiency, bar, legend);
}

// Draws the rate of the exchange and the rate that would hide it, on one axis with the ceiling.
Html rate_rows(const TrainReport& report) {
  const double now = report.exchange_rate.bits_per_second;
  const double wanted = report.hiding_rate.bits_per_second;
  const double axis =
      1.02 * std::max({now, wanted, report.ceiling.nominal ? 0 : ceiling_rate(report.ceiling), 1.0});
  Html rows;
  const auto add = [&](std::string_view name, std::string_view css, double rate) {
    if (rate > 0)
      rows += html(R"(<tr><th scope="row">{}</th>{}<td class="number">{}</td>{}</tr>)", name,
                   draw_bar_cell({rate, css, 0, 0, &report.ceiling}, axis), to_text(BitRate{rate}),
                   draw_share_cell(rate, report.ceiling));
  };
  add("exchange alone, from each rank", "rdma", now);
  add(fmt::format("hides all but {:.0f} % of the computing", 100 * kHiddenShare), "tcp", wanted);
  return rows;
}

Html train_meaning(const TrainReport& report) {
  Html lines = draw_failure(report.failure);
  if (report.rounds > 0)
    lines += html(
        R"(<li><strong>{:.1f} % of perfect scaling.</strong> A step takes {} ({} to {}); the exchange adds {}.</li>)",
        100 * report.efficiency, seconds_text(report.step.median), seconds_text(report.step.low),
        seconds_text(report.step.high), seconds_text(report.exposed));
  if (report.hiding_rate.bits_per_second > 0)
    lines += html(R"(<li>{} from each rank would hide the exchange but for {:.0f} % of the computing.</li>)",
                  to_text(report.hiding_rate), 100 * kHiddenShare);
  lines += html(R"(<li class="remark">{}{}</li>)",
                report.on_gpus ? "" : "Rehearsed on CPUs: ", report.compute_kind);
  if (report.wrong_bytes > 0)
    lines += html(R"(<li class="bad">✕ {} of {} bytes of the sums were wrong</li>)", report.wrong_bytes,
                  report.checked_bytes);
  else if (report.checked_bytes > 0)
    lines += html(R"(<li class="remark">sums checked: {}, all exact</li>)",
                  to_text(ByteCount{report.checked_bytes}));
  return html(R"(<ul class="meaning">{}</ul>)", lines);
}

}  // namespace

Html draw_train(const TrainReport& report) {
  const Html rows = rate_rows(report);
  const Html chart = rows.empty() ? rows
                                  : draw_chart("Bandwidth: what the exchange gets, and what would hide it",
                                               {"What", "Bar", "Rate", "Of the ceiling"}, rows);
  return html(R"(<article class="path"><h3>Training {} <span>{} {} over {}</span></h3>{}{}{}</article>)",
              report.model, report.nodes.size(), report.nodes.size() == 1 ? "rank" : "ranks",
              report.transport, train_meaning(report), step_bar(report), chart);
}

}  // namespace railbed
