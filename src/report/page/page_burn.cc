// The course of a burn-in: power, clock and temperature of each GPU over the time, all of one kind on one axis, so that
// siblings can be compared by eye. A line marks each moment in which a result was wrong or an Xid came. GPUs with a finding
// come first.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "report/page/page_pictures.h"
#include "report/page/page_sections.h"
#include "report/picture/bars.h"
#include "report/text/burn_text.h"

namespace railbed {
namespace {

constexpr std::size_t kMostCourses = 64;
constexpr std::size_t kFindingsListed = 8;

struct DrawnGpu {
  const BurnNode* node;
  const BurnGpu* gpu;
  bool has_finding;
};

// The highest values of all GPUs: the upper ends of the axes.
struct Tops {
  int watts = 1;
  int clock = 1;
  int temperature = 1;
};

int highest(const std::vector<int>& values) { return values.empty() ? 0 : *std::ranges::max_element(values); }

std::vector<DrawnGpu> gpus_to_draw(const BurnReport& burn) {
  std::vector<DrawnGpu> all;
  for (const BurnNode& node : burn.nodes)
    for (const BurnGpu& gpu : node.gpus) {
      if (gpu.course.watts.size() < 2) continue;
      const bool has_finding = std::ranges::any_of(burn.findings, [&](const BurnFinding& finding) {
        return finding.node == node.node && finding.gpu == gpu.ordinal;
      });
      all.push_back({&node, &gpu, has_finding});
    }
  std::ranges::stable_sort(all, {}, [](const DrawnGpu& one) { return !one.has_finding; });
  return all;
}

Tops tops_of(const std::vector<DrawnGpu>& gpus) {
  Tops tops;
  for (const DrawnGpu& one : gpus) {
    tops.watts = std::max(tops.watts, highest(one.gpu->course.watts));
    tops.clock = std::max(tops.clock, highest(one.gpu->course.clock));
    tops.temperature = std::max(tops.temperature, highest(one.gpu->course.temperature));
  }
  return tops;
}

// Returns the moments of wrong results and Xids, as paths in a picture of 100 by 24.
Html moments_of(const BurnGpu& gpu) {
  const double whole = gpu.course.interval * static_cast<double>(gpu.course.watts.size());
  Html marks;
  const auto mark = [&](double at) {
    if (at >= 0 && at <= whole) marks += html(R"(<path d="M{:.2f} 0V24"/>)", percent_of(at, whole));
  };
  for (const BurnFault& fault : gpu.faults) mark(fault.at);
  for (const BurnXid& xid : gpu.xids) mark(xid.at);
  return marks;
}

Html course_cell(const std::vector<int>& values, int top, const Html& marks, std::string_view what,
                 const std::string& text) {
  if (values.size() < 2) return html("<td></td>");
  std::string points;
  for (std::size_t i = 0; i < values.size(); ++i)
    points += fmt::format("{:.2f},{:.2f} ",
                          percent_of(static_cast<double>(i), static_cast<double>(values.size() - 1)),
                          23 - 22 * percent_of(values[i], top) / 100);
  return html(
      R"(<td class="course"><svg viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label="{}: {}">{}<polyline points="{}"/></svg> {}</td>)",
      what, text, marks, points, text);
}

Html course_row(const DrawnGpu& one, const Tops& tops) {
  const BurnGpu& gpu = *one.gpu;
  const BurnCourse& course = gpu.course;
  const Html marks = moments_of(gpu);
  return html(
      R"(<tr><th scope="row"{}>{} GPU {}</th>{}{}{}</tr>)",
      one.has_finding ? html(R"( class="bad")") : Html{}, one.node->node, gpu.ordinal,
      course_cell(course.watts, tops.watts, marks, "Power", fmt::format("up to {:.0f} W", gpu.watts_max)),
      course_cell(course.clock, tops.clock, marks, "Clock",
                  fmt::format("up to {} MHz", highest(course.clock))),
      course_cell(course.temperature, tops.temperature, marks, "Temperature",
                  fmt::format("up to {} °C", gpu.temperature)));
}

std::string_view css_of_finding(BurnStatus status) {
  switch (status) {
    case BurnStatus::kFailure:
      return "bad";
    case BurnStatus::kUnknown:
      return "unknown";
    case BurnStatus::kWarning:
      return "warn";
    case BurnStatus::kNote:
      break;
  }
  return "remark";
}

Html burn_meaning(const BurnReport& burn) {
  Html lines;
  for (std::size_t i = 0; i < std::min(burn.findings.size(), kFindingsListed); ++i) {
    const BurnFinding& finding = burn.findings[i];
    lines += html(R"(<li class="{}">{}{}.{}</li>)", css_of_finding(finding.status),
                  finding.injected ? "INJECTED: " : "", finding.message,
                  finding.remedy.empty() ? "" : " Next: " + finding.remedy);
  }
  if (burn.findings.size() > kFindingsListed)
    lines += html(R"(<li class="remark">and {} more, below</li>)", burn.findings.size() - kFindingsListed);
  return lines.empty() ? lines : html(R"(<ul class="meaning">{}</ul>)", lines);
}

Html courses(const BurnReport& burn) {
  const std::vector<DrawnGpu> gpus = gpus_to_draw(burn);
  if (gpus.empty()) return {};
  const Tops tops = tops_of(gpus);
  Html rows;
  for (std::size_t i = 0; i < std::min(gpus.size(), kMostCourses); ++i) rows += course_row(gpus[i], tops);
  if (gpus.size() > kMostCourses)
    rows += html(R"(<tr><td class="quiet" colspan="4">and {} more</td></tr>)", gpus.size() - kMostCourses);
  return draw_chart("Course of the burn-in, each kind on one axis from zero; red: a wrong result or an Xid",
                    {"GPU", "Power", "Clock", "Temperature"}, rows);
}

// Keeps the line breaks, which html() takes out of a text, because it may be a stranger's.
Html preformatted(std::string_view text) {
  Html lines;
  for (const std::string_view line : split(text, '\n')) lines += html("{}\n", line);
  return html("<pre>{}</pre>", lines);
}

}  // namespace

Html draw_burn(const BurnReport& burn) {
  const Html picture = courses(burn);
  const Html all = preformatted(burn_text(burn, false));
  if (picture.empty()) return html(R"(<article class="path">{}</article>)", all);
  return html(
      R"(<article class="path">{}{}<details><summary>All of its numbers</summary>{}</details></article>)",
      burn_meaning(burn), scrolled_table("Course of the burn-in", picture), all);
}

}  // namespace railbed
