#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <utility>

#include "base/wording.h"
#include "report/causes.h"
#include "report/page/page_sections.h"
#include "report/paths.h"

namespace railbed {
namespace {

// The least and the greatest value of something over all paths.
struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  std::size_t count = 0;
  std::string where = {};  // the path of the least
  void take(double value, const Path& path) {
    if (value < least) {
      least = value;
      where = fmt::format("{} {} → {}", path.rail, path.from, path.to);
    }
    most = std::max(most, value);
    ++count;
  }
};

// Below this share of the fastest path the slowest one is named beside its figure.
constexpr double kWorthNamingPath = 0.9;

template <class Quantity>
std::string range_text(const Range& range) {
  const std::string least = to_text(Quantity{range.least});
  const std::string most = to_text(Quantity{range.most});
  if (least == most) return least;
  // If both have the same unit, it is shown once.
  const auto number = least.find(' ');
  const bool is_one_unit = least.substr(number) == most.substr(most.find(' '));
  return (is_one_unit ? least.substr(0, number) : least) + " – " + most;
}

Html figure(std::string_view css, std::string_view name, const std::string& value, const std::string& note) {
  return html(
      R"(<div class="figure"><dt><span class="key {}">{}</span></dt><dd><strong>{}</strong>{}</dd></div>)",
      css, name, value, note.empty() ? Html{} : html(R"(<small>{}</small>)", note));
}

Html figures_of(Engine engine, const std::vector<Path>& paths) {
  Range bandwidth;
  Range latency;
  Range fraction;
  for (const Path& path : paths) {
    const EngineRuns& runs = path.of(engine);
    if (const Measurement* fastest = runs.fastest()) {
      bandwidth.take(fastest->summary.median, path);
      if (const auto share = fraction_of_ceiling(*fastest)) fraction.take(*share * 100, path);
    }
    if (const Measurement* quickest = smallest_latency(runs)) latency.take(quickest->summary.median, path);
  }
  const std::string_view css = engine == Engine::kTcp ? "tcp" : "rdma";
  Html all;
  if (bandwidth.count > 0) {
    std::string note = fraction.count == 0 ? "" : fmt::format("{:.0f} % of its ceiling", fraction.least);
    if (fraction.most > fraction.least) note = "at least " + note;
    // A link at half its speed has half the ceiling, too.
    if (bandwidth.least < kWorthNamingPath * bandwidth.most) note = "least on " + bandwidth.where;
    all += figure(css, fmt::format("{} bandwidth", title(engine)), range_text<BitRate>(bandwidth), note);
  }
  if (latency.count > 0)
    all += figure(css, fmt::format("{} latency", title(engine)), range_text<Nanoseconds>(latency),
                  "median, half a round trip");
  return all;
}

Html figures(const Report& report) {
  const auto measurements = all_measurements(report);
  const auto paths = paths_of(measurements);
  Html all;
  for (const Engine engine : {Engine::kRdma, Engine::kTcp}) all += figures_of(engine, paths);
  return all.empty() ? all : html(R"(<dl class="figures">{}</dl>)", all);
}

Html tallies(const StatusCounts& counts) {
  Html all;
  const auto add = [&](std::string_view css, std::string_view sign, const std::string& text) {
    all += html(R"(<li class="{}"><span aria-hidden="true">{}</span> {}</li>)", css, sign, text);
  };
  if (counts.fail > 0) add("bad", "✕", counted(counts.fail, "failure", "failures"));
  if (counts.warn > 0) add("warn", "!", counted(counts.warn, "warning", "warnings"));
  if (counts.unknown > 0) add("unknown", "?", fmt::format("{} could not be looked at", counts.unknown));
  if (counts.pass > 0) add("good", "✓", counted(counts.pass, "check passed", "checks passed"));
  return html(R"(<ul class="tallies">{}</ul>)", all);
}

// Splits "gpu02: ens17np0 runs at 200 Gb/s: the cable allows no more" before the reason.
std::pair<std::string, std::string> split_headline(const Folded& root) {
  const std::string text = headline(root);
  const std::size_t names = text.size() - without_node(root.example->message, root.example->node).size();
  const auto colon = text.find(": ", root.nodes.empty() ? 0 : names);
  if (colon == std::string::npos) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 2)};
}

// Returns the reason of the headline, what it explains, and how much else is broken.
std::string reason_text(std::string reason, std::size_t explained, std::size_t others) {
  if (!reason.empty()) {
    reason.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(reason.front())));
    reason += ". ";
  }
  if (explained > 0) reason += "It explains " + counted(explained, "more finding", "more findings") + ". ";
  if (others > 0) reason += counted(others, "other thing is broken", "other things are broken") + ".";
  return reason;
}

std::string headline_of_unbroken(const StatusCounts& counts) {
  if (counts.warn > 0 && counts.unknown > 0)
    return fmt::format("Nothing is broken; {}, and {} could not be looked at",
                       counted(counts.warn, "warning", "warnings"),
                       counted(counts.unknown, "thing", "things"));
  if (counts.warn > 0)
    return fmt::format("Nothing is broken; {}", counted(counts.warn, "warning", "warnings"));
  if (counts.unknown > 0)
    return fmt::format("Nothing found broken, but {} could not be looked at",
                       counted(counts.unknown, "thing", "things"));
  return "Everything that was checked is as it should be";
}

}  // namespace

PageVerdict verdict_of(const Report& report) {
  const StatusCounts counts = report.verdict.findings.counts();
  if (counts.pass + counts.fail + counts.warn + counts.unknown == 0)
    return {report.runs.empty()
                ? "Nothing was checked"
                : counted(report.runs.size(), "run", "runs") + " measured, and no node was looked at",
            ""};
  const auto causes = root_causes(report.verdict.findings);
  const auto broken = static_cast<std::size_t>(std::ranges::count(causes, Status::kFail, &Cause::worst));
  if (broken == 0) return {headline_of_unbroken(counts), ""};
  const auto [headline, reason] = split_headline(causes.front().root);
  return {headline, reason_text(reason, causes.front().explained, broken - 1)};
}

Html draw_header(const Report& report, const PageVerdict& verdict) {
  const StatusCounts counts = report.verdict.findings.counts();
  const Run run = run_of(report);
  const bool runs_alone = run.nodes == 0 && !report.runs.empty();
  std::string facts =
      runs_alone ? counted(report.runs.size(), "run", "runs") : counted(run.nodes, "node", "nodes");
  if (!report.unreachable.empty()) facts += fmt::format(", {} without an answer", report.unreachable.size());
  if (report.seconds > 0) facts += fmt::format(" · {:.0f} s", std::ceil(report.seconds));
  const std::string_view css = counts.fail > 0      ? "bad"
                               : counts.warn > 0    ? "warn"
                               : counts.unknown > 0 ? "unknown"
                               : runs_alone         ? "unjudged"
                                                    : "good";
  const std::string name = run.cluster.empty() ? "cluster report" : run.cluster;
  const Html when =
      run.started_at.empty() ? Html{} : html(R"(<time datetime="{0}">{0}</time> · )", run.started_at);
  return html(
      R"(<header class="{}"><p class="eyebrow"><strong>{}</strong><span>{}{}</span></p><h1>{}</h1>{}{}{}</header>)",
      css, name, when, facts, verdict.headline,
      verdict.reason.empty() ? Html{} : html(R"(<p class="reason">{}</p>)", verdict.reason), tallies(counts),
      figures(report));
}

}  // namespace railbed
