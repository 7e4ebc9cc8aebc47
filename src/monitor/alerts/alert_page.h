// What each alert means, as a page that the Prometheus that raises it serves: a console template
// (prometheus.io/docs/visualization/template_examples). A person who is paged reaches that Prometheus even if the node
// is gone. Limits and texts are those of the rules file, so that the page says what the alert does.
#pragma once

#include <string>

#include "inventory/cluster.h"

namespace railbed {

// Where Prometheus finds the page, from its folder of configuration, and at which path it serves the page.
inline constexpr const char* kAlertPageFile = "consoles/railbed-alerts.html";

// Returns the page as HTML. Each alert has its name in lower case as anchor.
std::string render_alert_page(const Cluster& cluster);

}  // namespace railbed
