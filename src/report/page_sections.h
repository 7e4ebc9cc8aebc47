// The sections of report.html, top to bottom. Each answers nothing when it has nothing to show.
#pragma once

#include "report/html.h"
#include "report/scene.h"

namespace railbed {

// The verdict in one sentence; also the page's title.
std::string verdict_sentence(const Report& report);

Html draw_header(const Report& report);
Html draw_findings(const Report& report);
Html draw_measurements(const Report& report);
Html draw_runs(const Report& report);
Html draw_nodes(const Report& report, Scene scene);
Html draw_methods(const Report& report);

// TCP beside RDMA, path by path; empty where none of the measurements is of these.
Html draw_paths(const std::vector<Measurement>& measurements);

// The measurements and those of every run, repeats merged.
std::vector<Measurement> all_measurements(const Report& report);

// A table in a box of its own that scrolls sideways where the page is too narrow.
Html scrolled_table(std::string_view label, const Html& table);

std::string_view page_style();
std::string_view page_script();

}  // namespace railbed
