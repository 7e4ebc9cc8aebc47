#include "report/ladder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "report/all_rails.h"
#include "report/page/html.h"
#include "report/paths.h"
#include "report/text/bench_table.h"
#include "results/all_rails.h"

namespace railbed {
namespace {

constexpr std::size_t kBar = 24;

double ceiling_of(const Rung& rung) {
  if (!rung.share) return 0;
  return rung.measurement->ceiling.limits.front().rate.bits_per_second;
}

std::string left_of_wire(const Rung& rung) {
  return rung.of_wire ? fmt::format(", {:.0f} % of the wire is left", *rung.of_wire * 100) : "";
}

}  // namespace

bool loses_most(const Ladder& ladder, const Rung& rung) {
  return ladder.loser >= 0 && &ladder.rungs[static_cast<std::size_t>(ladder.loser)] == &rung;
}

std::string no_number_text(const Rung& rung) {
  if (!rung.measurement) return "not climbed: " + rung.not_climbed;
  if (rung.works())
    return fmt::format("connects: half a round trip of {} takes {}, {} came back and were right",
                       to_text(ByteCount{rung.measurement->message_bytes}),
                       to_text(Nanoseconds{rung.measurement->summary.median}),
                       to_text(ByteCount{rung.measurement->checked_bytes}));
  return "FAILED: " + (rung.measurement->failure ? rung.measurement->failure->cause : "no sample");
}

std::string nccl_way_text(const NcclWay& way) {
  std::string text = "over " + (way.network.empty() ? "a network that its log does not name" : way.network);
  if (!way.through_a.empty() || !way.through_b.empty())
    text += fmt::format(", {} → {}", fmt::join(way.through_a, " "), fmt::join(way.through_b, " "));
  if (!way.gpudirect.empty()) text += ", GPUDirect " + way.gpudirect;
  return text;
}

std::string ladder_verdict(const Ladder& ladder) {
  if (ladder.loser >= 0) {
    const Rung& rung = ladder.rungs[static_cast<std::size_t>(ladder.loser)];
    return fmt::format("{} loses most{}", rung_name(rung.kind), left_of_wire(rung));
  }
  const auto lacking =
      std::ranges::find_if(ladder.rungs, [](const Rung& rung) { return rung.lacks_for_traffic(kGoodRung); });
  if (lacking != ladder.rungs.end())
    return fmt::format(
        "{}: not known whether it loses; other traffic may be all that it lacks: climb again "
        "when the rail is idle",
        rung_name(lacking->kind));
  const auto count = std::ranges::count_if(ladder.rungs, [](const Rung& rung) { return rung.has_number(); });
  const bool judged =
      std::ranges::any_of(ladder.rungs, [](const Rung& rung) { return rung.of_wire.has_value(); });
  if (judged) return "no rung loses: what the wire carries arrives, to a tenth";
  return count > 1 ? "no rung loses against the one below it; no limit is known that binds"
                   : "only one rung was measured: there is nothing to compare it with";
}

namespace {

// Returns the rate of a full bar.
double full_scale(const Ladder& ladder) {
  double most = 1;
  for (const Rung& rung : ladder.rungs) most = std::max({most, rung.rate(), ceiling_of(rung)});
  return most;
}

std::string bar(const Rung& rung, double full) {
  const auto cells = [full](double rate) {
    return static_cast<std::size_t>(rate / full * static_cast<double>(kBar) + 0.5);
  };
  const std::size_t filled = cells(rung.rate());
  const std::size_t most = ceiling_of(rung) > 0 ? cells(ceiling_of(rung)) : filled;
  std::string text;
  for (std::size_t i = 0; i < kBar; ++i) text += i < filled ? "█" : i < most ? "░" : " ";
  return text;
}

// Returns why a rung has no number. A root that explains several rungs is shown once.
std::string why_no_number(const Rung& rung, ToldRoots& told) {
  const bool failed = rung.measurement && rung.measurement->failure;
  if (failed && told.is_told(*rung.measurement)) return fmt::format("FAILED, {}", kSameRoot);
  return printable(no_number_text(rung));
}

std::string row(const Ladder& ladder, const Rung& rung, ToldRoots& told) {
  std::string text = fmt::format("  {:<18} ", rung_name(rung.kind));
  if (!rung.has_number()) return text + why_no_number(rung, told) + '\n';
  text += fmt::format("{} {:>10}", bar(rung, full_scale(ladder)), to_text(BitRate{rung.rate()}));
  const Ceiling& ceiling = rung.measurement->ceiling;
  if (rung.share)
    text += fmt::format("  {:>3.0f} % of {}", *rung.share * 100, printable(ceiling.limits.front().name));
  else if (!ceiling.note.empty())
    text += "  " + printable(ceiling.note);
  text += '\n';
  if (const std::string traffic = traffic_text(*rung.measurement); !traffic.empty())
    text += fmt::format("  {:<18} {}\n", "", printable(traffic));
  if (rung.nccl) text += fmt::format("  {:<18} {}\n", "", printable(nccl_way_text(*rung.nccl)));
  return text;
}

std::string causes_text(const Ladder& ladder) {
  std::string text;
  for (const Rung& rung : ladder.rungs)
    if (loses_most(ladder, rung))
      for (std::size_t i = 0; i < rung.causes.size(); ++i)
        text += fmt::format("    {:>7} {}\n", i == 0 ? "likely:" : "or:", printable(rung.causes[i]));
  for (const Rung& rung : ladder.rungs)
    if (!loses_most(ladder, rung) && !rung.causes.empty())
      text += fmt::format("  {}{}: {}\n", rung_name(rung.kind), left_of_wire(rung),
                          printable(rung.causes.front()));
  return text;
}

constexpr double kLeft = 170;
constexpr double kChartWidth = 460;
constexpr double kStep = 44;

Html draw_bar(const Rung& rung, double y, double full, bool loses) {
  Html all = html(R"(<rect x="{:.0f}" y="{:.0f}" width="{:.1f}" height="26" fill="{}"/>)", kLeft, y,
                  rung.rate() / full * kChartWidth, loses ? "#b3261e" : "#2f6f9f");
  if (ceiling_of(rung) > 0)
    all += html(
        R"(<rect x="{:.1f}" y="{:.0f}" width="2" height="34" fill="#222222"><title>{}</title></rect>)",
        kLeft + ceiling_of(rung) / full * kChartWidth, y - 4, rung.measurement->ceiling.limits.front().name);
  std::string label = to_text(BitRate{rung.rate()});
  if (rung.share) label += fmt::format(", {:.0f} %", *rung.share * 100);
  return all + html(R"(<text x="{:.0f}" y="{:.0f}" font-size="12">{}{}</text>)", kLeft + kChartWidth + 12,
                    y + 18, label, loses ? " loses most" : "");
}

Html draw(const Ladder& ladder, double top) {
  const double full = full_scale(ladder);
  Html all = html(R"(<text x="20" y="{:.0f}" font-size="16">{}</text>)", top + 28,
                  fmt::format("{}: {} → {}", ladder.rail, ladder.a, ladder.b));
  double y = top + 48;
  for (const Rung& rung : ladder.rungs) {
    all += html(R"(<text x="{:.0f}" y="{:.0f}" font-size="13" text-anchor="end">{}</text>)", kLeft - 10,
                y + 18, rung_name(rung.kind));
    all += rung.has_number() ? draw_bar(rung, y, full, loses_most(ladder, rung))
                             : html(R"(<text x="{:.0f}" y="{:.0f}" font-size="12" fill="#666666">{}</text>)",
                                    kLeft, y + 18, fit(no_number_text(rung), kChartWidth + 120, 12));
    y += kStep;
  }
  return all;
}

}  // namespace

std::string ladder_text(const Ladder& ladder) {
  std::string text = printable(fmt::format("ladder, {}: {} → {}", ladder.rail, ladder.a, ladder.b)) + '\n';
  ToldRoots told;
  for (const Rung& rung : ladder.rungs) text += row(ladder, rung, told);
  return text + "  " + ladder_verdict(ladder) + '\n' + causes_text(ladder);
}

std::string at_once_text(const std::vector<Measurement>& measurements) {
  const auto merged = merge_repeats(measurements);
  std::vector<Measurement> failed;
  for (const Measurement& measurement : merged)
    if (is_at_once(measurement) && measurement.failure) failed.push_back(measurement);
  return all_rails_text(merged, true) + bench_table(failed);
}

std::string ladders_svg(const std::vector<Ladder>& ladders) {
  Html inside =
      html(R"(<title>railbed bench ladder</title><rect width="100%" height="100%" fill="#ffffff"/>)");
  double top = 0;
  for (const Ladder& ladder : ladders) {
    inside += draw(ladder, top);
    top += 60 + kStep * static_cast<double>(ladder.rungs.size());
  }
  return html(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 {:.0f}" font-family="sans-serif">)"
              "\n{}</svg>\n",
              top, inside)
      .markup;
}

}  // namespace railbed
