#include <algorithm>

#include "base/units.h"
#include "report/bars.h"
#include "report/ladder.h"
#include "report/page_pictures.h"
#include "report/paths.h"

namespace railbed {
namespace {

double ladder_axis(const Ladder& ladder) {
  double most = 1;
  for (const Rung& rung : ladder.rungs) {
    most = std::max(most, rung.rate());
    if (rung.measurement && !rung.measurement->ceiling.nominal)
      most = std::max(most, ceiling_rate(rung.measurement->ceiling));
  }
  return most * 1.02;
}

Html rung_row(const Ladder& ladder, const Rung& rung, double axis) {
  const bool loses = loses_most(ladder, rung);
  const Html name = html(R"(<th scope="row">{}{}</th>)", rung_name(rung.kind),
                         loses ? html(R"( <span class="bad">✕ loses most</span>)") : Html{});
  if (!rung.has_number())
    return html(R"(<tr>{}<td class="quiet" colspan="3">{}</td></tr>)", name, no_number_text(rung));
  const Measurement& measurement = *rung.measurement;
  const Bar bar{rung.rate(),
                loses                         ? "bad"
                : rung.kind == RungKind::kTcp ? "tcp"
                                              : "rdma",
                measurement.summary.low, measurement.summary.high, &measurement.ceiling};
  return html(R"(<tr>{}{}<td class="number">{}</td>{}</tr>)", name, draw_bar_cell(bar, axis),
              to_text(BitRate{rung.rate()}), draw_share_cell(rung.rate(), measurement.ceiling));
}

Html ladder_meaning(const Ladder& ladder) {
  Html lines = html(R"(<li><strong>{}.</strong></li>)", ladder_verdict(ladder));
  ToldRoots told;
  for (const Rung& rung : ladder.rungs) {
    if (rung.measurement && !told.is_told(*rung.measurement))
      lines += draw_failure(rung.measurement->failure);
    for (std::size_t i = 0; i < rung.causes.size(); ++i)
      lines += html(R"(<li>{}, {}: {}</li>)", rung_name(rung.kind), i == 0 ? "likely" : "or", rung.causes[i]);
    if (!rung.nccl) continue;
    lines += html(R"(<li class="remark">NCCL went {}</li>)", nccl_way_text(*rung.nccl));
    for (const std::string& why : rung.nccl->why) lines += html(R"(<li class="remark">{}</li>)", why);
  }
  return html(R"(<ul class="meaning">{}</ul>)", lines);
}

}  // namespace

Html draw_ladder(const Ladder& ladder) {
  const double axis = ladder_axis(ladder);
  Html rows;
  for (const Rung& rung : ladder.rungs) rows += rung_row(ladder, rung, axis);
  return html(R"(<article class="path"><h3>{} <span>{} → {}</span></h3>{}{}</article>)", ladder.rail,
              ladder.a, ladder.b, ladder_meaning(ladder),
              draw_chart("Ladder: what each rung leaves of the link",
                         {"Rung", "Bar", "Rate", "Of its ceiling"}, rows));
}

}  // namespace railbed
