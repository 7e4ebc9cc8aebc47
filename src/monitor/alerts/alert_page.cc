#include "monitor/alerts/alert_page.h"

#include <fmt/format.h>

#include "base/text.h"
#include "monitor/alerts/alert_rules.h"
#include "report/escape.h"

namespace railbed {
namespace {

constexpr std::string_view kAlertPageStyle =
#include "monitor/alerts/alert_page.css.text"
    ;

// Returns text as HTML that Prometheus, which reads {{ }} as its own, prints unchanged.
std::string literal(std::string_view text) {
  std::string out;
  for (const char c : escape_markup(text)) {
    if (c == '{')
      out += "&#123;";
    else
      out += c;
  }
  return out;
}

// Returns an annotation with "…" for each part that depends on the single alert.
std::string in_general(std::string_view annotation) {
  std::string out;
  while (true) {
    const auto begin = annotation.find("{{");
    const auto end = begin == annotation.npos ? begin : annotation.find("}}", begin);
    out += annotation.substr(0, begin);
    if (end == annotation.npos) return out;
    if (!out.ends_with("…")) out += "…";
    annotation.remove_prefix(end + 2);
  }
}

// Returns what is wrong, without where: "damaged packets arrive".
std::string headline_of(const AlertRule& alert) {
  const std::string what = in_general(alert.summary);
  const auto where = what.find(": ");
  return where == what.npos ? what : what.substr(where + 2);
}

std::string article(const AlertRule& alert) {
  const bool decided = alert.severity.find("{{") == alert.severity.npos;
  const bool own = alert.finding.find("{{") == alert.finding.npos;
  const std::string finding = own ? alert.finding : "RULE";
  const bool explained = !finding.starts_with("monitor.");
  return fmt::format(
      "<article id=\"{}\"><h3>{}</h3>\n<p class=\"rule\">{}{}{}</p>\n<p><b>{}.</b> {}</p>\n<p><b>Do:</b> {}</p>\n"
      "<pre>{}</pre></article>\n",
      lower(alert.name), literal(alert.name), decided ? literal(alert.severity) : "critical or warning",
      alert.pending.empty() ? "" : ", after " + literal(alert.pending),
      explained ? fmt::format("; <code>railbed explain {}</code>", literal(finding)) : "",
      literal(headline_of(alert)), literal(in_general(alert.description)), literal(in_general(alert.remedy)),
      literal(alert.expression));
}

}  // namespace

std::string render_alert_page(const Cluster& cluster) {
  const std::string title = literal("Alerts on the nodes of " + cluster.name);
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/><title>{}</title>\n"
      "<style>\n{}</style></head>\n<body><h1>{}</h1>\n",
      title, kAlertPageStyle, title);
  std::string group;
  for (const AlertRule& alert : alert_rules(cluster)) {
    if (alert.group != group) text += fmt::format("<h2>{}</h2>\n", literal(alert.group));
    group = alert.group;
    text += article(alert);
  }
  return text + "</body></html>\n";
}

}  // namespace railbed
