#include <algorithm>

#include "report/all_rails.h"
#include "report/page/page_sections.h"
#include "report/picture/charts.h"

namespace railbed {
namespace {

// Paths with charts of their own. If there are more, put_worst_first() chooses.
constexpr std::size_t kPathsDrawn = 8;
constexpr std::size_t kPathsListed = 300;
constexpr std::size_t kMethodsListed = 100;

Html ports_of(const Path& path) {
  if (path.ping != nullptr && !path.ping->from.interface.empty())
    return html(R"(<span class="quiet">{} → {}</span>)", path.ping->from.interface, path.ping->to.interface);
  for (const EngineRuns& runs : path.engines)
    for (const auto* kind : {&runs.bandwidths, &runs.latencies, &runs.failures})
      for (const Measurement* run : *kind)
        if (!run->from.interface.empty())
          return html(R"(<span class="quiet">{} → {}</span>)", run->from.interface, run->to.interface);
  return {};
}

Html draw_path(const Path& path) {
  Html charts;
  for (const Html& chart : {draw_bandwidths(path), draw_latencies(path)})
    if (!chart.empty()) charts += html(R"(<div class="panel">{}</div>)", chart);
  if (!charts.empty()) charts = html(R"(<div class="panels">{}</div>)", charts);
  return html(R"(<article class="path"><h3>{} <span>{} → {}</span> {}</h3>{}{}{}</article>)", path.rail,
              path.from, path.to, ports_of(path), describe_path(path), charts, draw_intervals(path));
}

Html cell(const Measurement* run) {
  if (run == nullptr) return html("<td class=\"number\">–</td><td class=\"number\">–</td>");
  const auto fraction = fraction_of_ceiling(*run);
  return html(R"(<td class="number">{}</td><td class="number">{}</td>)",
              to_text(BitRate{run->summary.median}),
              fraction ? fmt::format("{:.0f} %", *fraction * 100) : std::string("–"));
}

Html path_row(const Path& path) {
  const Html failed = path.has_failure() ? html(R"(<span class="bad">✕ failed</span>)") : Html{};
  return html(R"(<tr><td>{}</td><td>{} → {} {}</td>{}{}</tr>)", path.rail, path.from, path.to, failed,
              cell(path.of(Engine::kTcp).fastest()), cell(path.of(Engine::kRdma).fastest()));
}

Html path_table(const std::vector<Path>& paths) {
  Html rows;
  for (std::size_t i = 0; i < std::min(paths.size(), kPathsListed); ++i) rows += path_row(paths[i]);
  const Html table = html(
      R"(<table><thead><tr><th>Rail</th><th>Path</th><th class="number">TCP</th><th class="number">of ceiling</th>)"
      R"(<th class="number">RDMA</th><th class="number">of ceiling</th></tr></thead><tbody>{}</tbody></table>)",
      rows);
  const Html rest = paths.size() <= kPathsListed
                        ? Html{}
                        : html(R"(<p class="quiet">{} more paths are in the JSON output.</p>)",
                               paths.size() - kPathsListed);
  return html(R"(<details><summary>All {} paths, worst first</summary>{}{}</details>)", paths.size(),
              scrolled_table("All paths", table), rest);
}

std::string limits_text(const Measurement& run) {
  std::string text;
  for (const Limit& limit : run.ceiling.limits) {
    text += text.empty() ? "" : "; ";
    text += fmt::format("{} {}", limit.name, to_text(limit.rate));
    if (!limit.source.empty()) text += " (" + limit.source + ")";
  }
  for (const FloorPart& part : run.floor.parts)
    text += fmt::format("{}{} at least {} ({})", text.empty() ? "" : "; ", part.name, to_text(part.time),
                        part.source);
  for (const std::string* note : {&run.ceiling.note, &run.floor.note})
    if (!note->empty()) text += (text.empty() ? "" : "; ") + *note;
  return text;
}

std::string number_text(const Measurement& run, double value) {
  return run.metric == Metric::kBandwidth ? to_text(BitRate{value}) : to_text(Nanoseconds{value});
}

Html method_row(const Measurement& run) {
  const Summary& summary = run.summary;
  const std::string median = summary.samples == 0 ? "–" : number_text(run, summary.median);
  const std::string interval = summary.high > summary.low
                                   ? number_text(run, summary.low) + " – " + number_text(run, summary.high)
                                   : "";
  const std::string checked = run.checked_bytes == 0 ? "not checked"
                              : run.wrong_bytes == 0 ? to_text(ByteCount{run.checked_bytes})
                                                     : fmt::format("{} bytes wrong of {}", run.wrong_bytes,
                                                                   to_text(ByteCount{run.checked_bytes}));
  const std::string cpu =
      run.cpu_seconds_per_gigabyte > 0 ? fmt::format("{:.2f} s/GB", run.cpu_seconds_per_gigabyte) : "";
  return html(
      "<tr><td>{} {} → {}</td><td>{} {}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{:.2f} s</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
      run.rail, run.from.node, run.to.node, run.engine == Engine::kPing ? "Ping" : title(run.engine),
      enum_names(run.metric)[static_cast<std::size_t>(run.metric)], to_text(ByteCount{run.message_bytes}),
      run.streams, run.mtu, run.seconds, summary.samples, median, interval, checked, cpu, limits_text(run));
}

Html method_table(const std::vector<Measurement>& measurements) {
  Html rows;
  for (std::size_t i = 0; i < std::min(measurements.size(), kMethodsListed); ++i)
    rows += method_row(measurements[i]);
  const Html table = html(
      R"(<table class="methods"><thead><tr><th>Path</th><th>What</th><th class="number">Message</th><th class="number">Streams</th>)"
      R"(<th class="number">MTU</th><th class="number">Measured for</th><th class="number">Samples</th><th class="number">Median</th>)"
      R"(<th>95 % interval</th><th class="number">Data compared</th><th class="number">CPU</th><th>Limits and their source</th></tr></thead>)"
      R"(<tbody>{}</tbody></table>)",
      rows);
  Html all = html(R"(<details><summary>Every measurement: {}</summary>{}</details>)", measurements.size(),
                  scrolled_table("Every measurement", table));
  if (measurements.size() > kMethodsListed)
    all += html(R"(<p class="quiet">The first {} are shown; the JSON output has all.</p>)", kMethodsListed);
  return all;
}

}  // namespace

Html draw_paths(const std::vector<Measurement>& measurements) {
  std::vector<Path> paths = paths_of(measurements);
  if (paths.empty()) return {};
  const bool is_many = paths.size() > kPathsDrawn;
  if (is_many) put_worst_first(paths, kPathsDrawn);
  Html all;
  for (std::size_t i = 0; i < std::min(paths.size(), kPathsDrawn); ++i) all += draw_path(paths[i]);
  if (is_many) all += path_table(paths);
  all += draw_all_rails(measurements);
  return html(R"(<p class="legend quiet"><span class="key tcp">TCP</span> )"
              R"(<span class="key rdma">RDMA</span> <span><i class="tick"></i> ceiling</span> )"
              R"(<span><i class="tick nominal"></i> nominal ceiling</span></p>{})",
              all);
}

Html draw_measurements(const Report& report) {
  const Html paths = draw_paths(report.measurements);
  if (paths.empty()) return {};
  return html(R"(<section aria-labelledby="measured"><h2 id="measured">TCP against RDMA</h2>{}</section>)",
              paths);
}

Html draw_methods(const Report& report) {
  Html all;
  const std::vector<Measurement> measurements = all_measurements(report);
  if (!measurements.empty()) {
    all = html(
        "<p>Bandwidth is the median over samples of payload bits received in a second, "
        "warm-up left out. Latency is half a round trip. "
        "The interval is the 95 % confidence interval of the median, by order statistics. "
        "“Data compared” is payload that the receiver compared with what was sent, "
        "on the timed transfers. "
        "A ceiling is the lowest of the limits that could be computed for the path; "
        "a nominal one is what a virtual interface claims, and is shown but never judged. "
        "A floor is the sum of what a message takes at least on its way.</p>");
    all += method_table(measurements);
  }
  const std::string program = report.railbed.empty() ? "railbed" : "railbed " + report.railbed;
  return html(
      R"(<footer aria-labelledby="how"><h2 id="how">How this was found out</h2>{}<p class="quiet">Written by {}. Facts were read )"
      R"(from each node without changing it; each finding names where. This page needs no network.</p></footer>)",
      all, program);
}

}  // namespace railbed
