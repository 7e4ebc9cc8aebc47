#include <fmt/format.h>

#include <algorithm>

#include "report/causes.h"
#include "report/escape.h"
#include "report/findings.h"

namespace railbed {
namespace {

// Findings about the cluster as a whole have a suite of their own.
constexpr std::string_view kClusterSuite = "(cluster)";

struct Suite {
  std::string node;
  std::vector<const Finding*> findings;
};

std::vector<Suite> suites_of(const Verdict& verdict) {
  std::map<std::string, std::vector<const Finding*>> by_node;
  for (const Finding& finding : verdict.findings) by_node[finding.node].push_back(&finding);
  std::vector<Suite> suites;
  for (auto& [node, findings] : by_node) suites.push_back({node, std::move(findings)});
  return suites;
}

std::string explanation(const Finding& finding, const Verdict& verdict) {
  std::string text = finding.message + '\n';
  const auto line = [&](std::string_view label, const std::string& value) {
    if (!value.empty()) text += fmt::format("{}: {}\n", label, value);
  };
  line("expected", finding.expected);
  line("observed", finding.observed);
  line("evidence", finding.evidence);
  line("remedy", finding.remedy.text);
  for (const auto& command : finding.remedy.commands) line("run", command);
  if (finding.caused_by && *finding.caused_by < verdict.findings.size()) {
    const Finding& cause = verdict.findings[*finding.caused_by];
    line("caused by", fmt::format("{} {} {}", cause.rule, cause.node, cause.subject));
  }
  return text;
}

// Escapes the body of an element. Unlike in attributes, line breaks survive there.
std::string escape_body(const std::string& text) {
  std::string body;
  std::size_t start = 0;
  for (std::size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1)
    body += escape_markup(std::string_view(text).substr(start, end - start)) + '\n';
  return body;
}

std::string outcome(const Finding& finding, const Verdict& verdict) {
  const std::string message = escape_markup(finding.message);
  const std::string body = escape_body(explanation(finding, verdict));
  switch (finding.status) {
    case Status::kFail:
      return fmt::format("<failure type=\"fail\" message=\"{}\">{}</failure>", message, body);
    case Status::kUnknown:
      return fmt::format("<error type=\"unknown\" message=\"{}\">{}</error>", message, body);
    case Status::kWarn:
      return fmt::format("<system-out>warning: {}</system-out>", body);
    case Status::kNotApplicable:
      return fmt::format("<skipped message=\"{}\"/>", message);
    case Status::kPass:
      return "";
  }
  return "";
}

std::string write_case(const Finding& finding, const Verdict& verdict) {
  const std::string name =
      fmt::format("{}{}{}", finding.rule, finding.subject.empty() ? "" : " ", finding.subject);
  const std::string_view suite = finding.node.empty() ? kClusterSuite : std::string_view(finding.node);
  const std::string inside = outcome(finding, verdict);
  const std::string opening = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"0\"",
                                          escape_markup(suite), escape_markup(name));
  return inside.empty() ? opening + "/>\n" : opening + ">" + inside + "</testcase>\n";
}

std::string tallies(std::size_t tests, const StatusCounts& counts) {
  return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", tests, counts.fail,
                     counts.unknown, counts.not_applicable);
}

std::string write_suite(const Suite& suite, const Run& run, const Verdict& verdict) {
  Findings findings;
  for (const Finding* finding : suite.findings) findings.push_back(*finding);
  const std::string_view name = suite.node.empty() ? kClusterSuite : std::string_view(suite.node);
  const std::string stamp =
      run.started_at.empty() ? "" : fmt::format(" timestamp=\"{}\"", escape_markup(run.started_at));
  std::string xml = fmt::format("  <testsuite name=\"{}\" {} time=\"0\"{}>\n", escape_markup(name),
                                tallies(findings.size(), findings.counts()), stamp);
  for (const Finding* finding : suite.findings) xml += write_case(*finding, verdict);
  return xml + "  </testsuite>\n";
}

}  // namespace

std::string render_junit(const Verdict& verdict, const Run& run) {
  const auto counts = verdict.findings.counts();
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  xml += fmt::format("<testsuites name=\"railbed\" {} time=\"{:.3f}\">\n",
                     tallies(verdict.findings.size(), counts), run.seconds);
  for (const Suite& suite : suites_of(verdict)) xml += write_suite(suite, run, verdict);
  return xml + "</testsuites>\n";
}

}  // namespace railbed
