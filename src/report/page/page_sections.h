// The sections of report.html, top to bottom. Each is empty if it has nothing to show.
#pragma once

#include "report/page/html.h"
#include "report/picture/scene.h"

namespace railbed {

// The top of the page: what is broken worst, or that nothing is.
struct PageVerdict {
  std::string headline;  // in one line; also the page's title
  std::string reason;    // why that is, and how much else is broken; empty if nothing is
};
PageVerdict verdict_of(const Report& report);

Html draw_header(const Report& report, const PageVerdict& verdict);
Html draw_findings(const Report& report);
Html draw_measurements(const Report& report);
Html draw_runs(const Report& report);
Html draw_nodes(const Report& report, Scene scene);
Html draw_methods(const Report& report);

// Draws TCP beside RDMA, path by path; empty if there are no such measurements.
Html draw_paths(const std::vector<Measurement>& measurements);

// Returns the measurements and those of every run, with repeats merged.
std::vector<Measurement> all_measurements(const Report& report);

// Puts a table in a box of its own, which scrolls sideways if the page is too narrow.
Html scrolled_table(std::string_view label, const Html& table);

std::string_view page_style();
std::string_view page_script();

}  // namespace railbed
