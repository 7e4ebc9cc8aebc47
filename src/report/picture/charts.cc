#include "report/picture/charts.h"

#include <algorithm>
#include <cmath>

#include "report/picture/bars.h"

namespace railbed {
namespace {

std::string_view css_of(Engine engine) { return engine == Engine::kTcp ? "tcp" : "rdma"; }

// Returns the right end of the bandwidth axis. Nominal ceilings are ignored: one far above the measurements
// would flatten the bars.
double bandwidth_axis(const Path& path) {
  double longest = 0;
  for (const EngineRuns& runs : path.engines)
    for (const Measurement* run : runs.bandwidths) {
      longest = std::max({longest, run->summary.median, run->summary.high});
      if (!run->ceiling.nominal) longest = std::max(longest, ceiling_rate(run->ceiling));
    }
  return longest * 1.02;
}

Html bandwidth_row(const Measurement& run, double axis, bool names_size) {
  const Bar bar{run.summary.median, css_of(run.engine), run.summary.low, run.summary.high, &run.ceiling};
  return html(R"(<tr><th scope="row">{}</th><td class="engine">{}</td>{}<td class="number">{}</td></tr>)",
              names_size ? to_text(ByteCount{run.message_bytes}) : std::string(), title(run.engine),
              draw_bar_cell(bar, axis), to_text(BitRate{run.summary.median}));
}

// A logarithmic axis over whole decades.
struct Decades {
  int first = 0;
  int last = 1;
  double place(double value) const {
    if (!(value > 0)) return 0;
    return percent_of(std::log10(value) - first, last - first);
  }
};

Decades decades_of(std::initializer_list<const Measurement*> runs) {
  double low = 1e18;
  double high = 1;
  for (const Measurement* run : runs) {
    if (run == nullptr) continue;
    for (const Percentile& percentile : kPercentiles) {
      const double value = run->summary.*percentile.value;
      if (!(value > 0) || !std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  Decades decades;
  decades.first = static_cast<int>(std::floor(std::log10(std::min(low, high))));
  decades.last = std::max(decades.first + 1, static_cast<int>(std::ceil(std::log10(high))));
  return decades;
}

std::string decade_text(int exponent) {
  constexpr std::string_view kNames[] = {"1 ns",   "10 ns", "100 ns", "1 µs",  "10 µs",
                                         "100 µs", "1 ms",  "10 ms",  "100 ms"};
  if (exponent >= 0 && exponent < static_cast<int>(std::size(kNames))) return std::string(kNames[exponent]);
  return to_text(Nanoseconds{std::pow(10, exponent)});
}

Html decade_axis(const Decades& decades) {
  Html labels;
  for (int e = decades.first; e <= decades.last; ++e) {
    const std::string_view edge = e == decades.first ? " first" : e == decades.last ? " last" : "";
    labels += html(R"(<i class="decade{}" style="left:{:.2f}%">{}</i>)", edge,
                   percent_of(e - decades.first, decades.last - decades.first), decade_text(e));
  }
  return labels;
}

Html decade_lines(const Decades& decades) {
  Html lines;
  for (int e = decades.first; e <= decades.last; ++e)
    lines += html(R"(<i class="grid" style="left:{:.2f}%"></i>)",
                  percent_of(e - decades.first, decades.last - decades.first));
  return lines;
}

Html latency_row(const Percentile& percentile, const Measurement* tcp, const Measurement* rdma,
                 const Decades& decades) {
  Html dots = decade_lines(decades);
  if (tcp != nullptr && rdma != nullptr) {
    const double a = decades.place(tcp->summary.*percentile.value);
    const double b = decades.place(rdma->summary.*percentile.value);
    dots += html(R"(<i class="between" style="left:{:.2f}%;width:{:.2f}%"></i>)", std::min(a, b),
                 std::fabs(a - b));
  }
  Html numbers;
  for (const Measurement* run : {tcp, rdma}) {
    const double value = run == nullptr ? 0 : run->summary.*percentile.value;
    if (run != nullptr)
      dots +=
          html(R"(<i class="dot {}" style="left:{:.2f}%"></i>)", css_of(run->engine), decades.place(value));
    numbers += html(R"(<td class="number">{}</td>)",
                    run == nullptr ? std::string("–") : to_text(Nanoseconds{value}));
  }
  return html(R"(<tr><th scope="row">{}</th><td class="track dots"><div>{}</div></td>{}</tr>)",
              percentile.name, dots, numbers);
}

Html sparkline(const Measurement& run) {
  const auto [low, high] = std::minmax_element(run.intervals.begin(), run.intervals.end());
  if (!std::isfinite(*low) || !std::isfinite(*high) || *high <= 0) return {};
  std::string points;
  const double step = 100.0 / static_cast<double>(run.intervals.size() - 1);
  for (std::size_t i = 0; i < run.intervals.size(); ++i)
    points += fmt::format("{:.2f},{:.2f} ", static_cast<double>(i) * step,
                          23 - 21 * std::clamp(run.intervals[i] / *high, 0.0, 1.0));
  return html(
      R"(<div class="spark"><span class="key {0}">{1}</span><svg viewBox="0 0 100 24" preserveAspectRatio="none" )"
      R"(role="img" aria-label="{1} bandwidth over time"><polyline class="{0}" points="{2}"/></svg>)"
      R"(<span class="quiet">{3} to {4}, every 100 ms from zero to {4}</span></div>)",
      css_of(run.engine), title(run.engine), points, to_text(BitRate{*low}), to_text(BitRate{*high}));
}

}  // namespace

Html draw_bandwidths(const Path& path) {
  const double axis = bandwidth_axis(path);
  Html rows;
  for (const std::uint64_t size : path.bandwidth_sizes()) {
    bool names_size = true;
    for (const Engine engine : kEngines) {
      const Measurement* run = of_size(path.of(engine).bandwidths, size);
      if (run == nullptr) continue;
      rows += bandwidth_row(*run, axis, names_size);
      names_size = false;
    }
  }
  if (rows.empty()) return {};
  return html(
      R"(<table class="chart bandwidth"><caption>Bandwidth by message size</caption><thead class="unseen">)"
      R"(<tr><th>Message</th><th>Engine</th><th>Bar</th><th>Median</th></tr></thead><tbody>{}</tbody></table>)",
      rows);
}

Html draw_latencies(const Path& path) {
  const Measurement* tcp = smallest_latency(path.of(Engine::kTcp));
  const Measurement* rdma = smallest_latency(path.of(Engine::kRdma));
  if (tcp == nullptr && rdma == nullptr) return {};
  const Decades decades = decades_of({tcp, rdma});
  Html rows;
  for (const Percentile& percentile : kPercentiles) rows += latency_row(percentile, tcp, rdma, decades);
  const Measurement& any = tcp != nullptr ? *tcp : *rdma;
  return html(
      R"(<table class="chart latency"><caption>Latency, half a round trip of {}, logarithmic axis</caption>)"
      R"(<thead><tr><th></th><td class="track axis"><div>{}</div></td><th class="number"><span class="key tcp">TCP</span></th>)"
      R"(<th class="number"><span class="key rdma">RDMA</span></th></tr></thead><tbody>{}</tbody></table>)",
      to_text(ByteCount{any.message_bytes}), decade_axis(decades), rows);
}

Html draw_intervals(const Path& path) {
  Html all;
  for (const Engine engine : kEngines) {
    const Measurement* fastest = path.of(engine).fastest();
    if (fastest != nullptr && fastest->intervals.size() > 1) all += sparkline(*fastest);
  }
  return all;
}

Html describe_path(const Path& path) {
  Html all;
  ToldRoots told;
  for (const Engine engine : kEngines) {
    const EngineRuns& runs = path.of(engine);
    if (const Measurement* fastest = runs.fastest()) {
      all += html(R"(<li><span class="key {}">{}</span> {}: {}</li>)", css_of(engine), title(engine),
                  to_text(BitRate{fastest->summary.median}), describe_ceiling(*fastest));
      for (const auto& remark : remarks(*fastest)) all += html(R"(<li class="remark">{}</li>)", remark);
    }
    if (const Measurement* quickest = smallest_latency(runs); quickest && !quickest->floor.parts.empty())
      all += html(R"(<li><span class="key {}">{}</span> latency {}: {}</li>)", css_of(engine), title(engine),
                  to_text(Nanoseconds{quickest->summary.median}), describe_floor(*quickest));
    for (const Measurement* failed : runs.failures) {
      const auto metric = enum_names(failed->metric)[static_cast<std::size_t>(failed->metric)];
      if (told.is_told(*failed)) {
        all += html(R"(<li class="bad"><strong>✕ {} {} has no result,</strong> {}.</li>)", title(engine),
                    metric, kSameRoot);
        continue;
      }
      const std::string remedy = failed->failure->remedy.empty() ? "" : " Next: " + failed->failure->remedy;
      all += html(R"(<li class="bad"><strong>✕ {} {} has no result.</strong> {}.{}</li>)", title(engine),
                  metric, describe_failure(*failed), remedy);
      if (failed->failure->root)
        for (const std::string& line : failed->failure->root->seen)
          all += html(R"(<li class="remark">seen: {}</li>)", line);
    }
  }
  if (path.ping != nullptr) all += html("<li>Ping: {}</li>", ping_text(*path.ping));
  return all.empty() ? all : html(R"(<ul class="meaning">{}</ul>)", all);
}

}  // namespace railbed
