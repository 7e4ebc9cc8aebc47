#include "report/page/page_sections.h"
#include "report/picture/picture.h"
#include "report/report.h"

namespace railbed {
namespace {

// If something unescaped slipped through, the browser would neither load nor run it: nothing may be fetched,
// and the only script that may run is the one with this digest (tests/browser checks it).
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'sha256-dlwncVsSpYWf7vEp7gybN89pa0ErvvTGVXo14R/37Dk='; base-uri 'none'; "
    "form-action 'none'";

Html draw_picture(const Scene& scene) {
  return html(R"(<section aria-labelledby="cluster"><h2 id="cluster">Cluster</h2>{}</section>)",
              draw_cluster(scene));
}

}  // namespace

std::string render_html(const Report& report) {
  const std::string name = report.cluster.name.empty() ? "railbed" : report.cluster.name;
  const PageVerdict verdict = verdict_of(report);
  Html body = draw_header(report, verdict);
  const Scene scene = scene_of(report);
  if (!scene.nodes.empty() || report.runs.empty()) body += draw_picture(scene);
  if (!report.verdict.findings.empty() || report.runs.empty()) body += draw_findings(report);
  body += draw_measurements(report);
  body += draw_runs(report);
  body += draw_nodes(report, scene);
  body += draw_methods(report);
  return html(
             "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
             R"(<meta name="viewport" content="width=device-width, initial-scale=1">)"
             R"(<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">)"
             R"(<meta http-equiv="Content-Security-Policy" content="{}">)"
             "<title>{}: "
             "{}</title>\n<style>{}</style></head>\n<body><main>{}</main>\n<script>{}</script></body></html>\n",
             Html{std::string(kPolicy)}, name, verdict.headline, Html{std::string(page_style())}, body,
             Html{std::string(page_script())})
      .markup;
}

}  // namespace railbed
