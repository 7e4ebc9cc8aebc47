#include <algorithm>
#include <map>

#include "base/wording.h"
#include "inventory/hostlist.h"
#include "report/causes.h"
#include "report/page/page_sections.h"

namespace railbed {
namespace {

// Causes of one rule that are shown in full; the rest is only named.
constexpr std::size_t kCausesOnPage = 20;

struct Look {
  std::string_view css;
  std::string_view sign;
  std::string_view word;
};

Look look_of(Status status) {
  switch (status) {
    case Status::kFail:
      return {"bad", "✕", "Failure"};
    case Status::kWarn:
      return {"warn", "!", "Warning"};
    case Status::kUnknown:
      return {"unknown", "?", "Could not look"};
    case Status::kPass:
      return {"good", "✓", "Passed"};
    case Status::kNotApplicable:
      return {"quiet", "–", "Does not apply"};
  }
  return {};
}

Html pair(std::string_view name, const Html& value) {
  return value.empty() ? value : html("<div><dt>{}</dt><dd>{}</dd></div>", name, value);
}

Html code(const std::string& text) { return text.empty() ? Html{} : html("<code>{}</code>", text); }

Html remedy_of(const Remedy& remedy) {
  Html all;
  if (!remedy.text.empty()) all += html("<p class=\"remedy\">{}</p>", remedy.text);
  if (!remedy.commands.empty()) {
    Html lines;
    for (const auto& command : remedy.commands)
      lines += html("{}{}", lines.empty() ? Html{} : Html{"\n"}, command);
    all += html(R"(<div class="commands"><pre><code>{}</code></pre></div>)", lines);
  }
  if (remedy.needs_reboot) all += html(R"(<p class="quiet">Takes effect after a reboot.</p>)");
  if (!remedy.reversible) all += html(R"(<p class="quiet">This cannot be undone.</p>)");
  return all;
}

Html consequence_line(const Folded& folded) {
  const Look look = look_of(folded.example->status);
  return html(R"(<li><span class="{}" title="{}">{}</span> {} <code class="rule">{}</code></li>)", look.css,
              look.word, look.sign, headline(folded), folded.example->rule);
}

Html consequences_of(const Cause& cause) {
  if (cause.consequences.empty()) return {};
  Html lines;
  for (const Folded& folded : cause.consequences) lines += consequence_line(folded);
  return html(R"(<details><summary>Explains {} more {}</summary><ul class="consequences">{}</ul></details>)",
              cause.explained, cause.explained == 1 ? "finding" : "findings", lines);
}

Html article(const Cause& cause) {
  const Finding& finding = *cause.root.example;
  const Look look = look_of(finding.status);
  Html facts = pair("Expected", html("{}", finding.expected));
  facts += pair("Observed", html("{}", finding.observed));
  facts += pair("Read from", code(finding.evidence));
  const std::string hosts = fold_hosts(cause.root.nodes);
  if (headline(cause.root).find(hosts) == std::string::npos) facts += pair("On", html("{}", hosts));
  if (!facts.empty()) facts = html("<dl>{}</dl>", facts);
  return html(
      R"(<article class="finding {}"><p class="status"><span class="sign" aria-hidden="true">{}</span> {} )"
      R"(<code class="rule">{}</code></p><h3>{}</h3>{}{}{}</article>)",
      look.css, look.sign, look.word, finding.rule, headline(cause.root), remedy_of(finding.remedy), facts,
      consequences_of(cause));
}

Html rest_of(const std::vector<const Cause*>& rest) {
  std::vector<std::string> nodes;
  for (const Cause* cause : rest)
    nodes.insert(nodes.end(), cause->root.nodes.begin(), cause->root.nodes.end());
  return html(R"(<p class="quiet">{} more findings of <code>{}</code>{}; the JSON output lists each.</p>)",
              rest.size(), rest.front()->root.example->rule, nodes.empty() ? "" : " on " + fold_hosts(nodes));
}

Html red_findings(const std::vector<Cause>& causes) {
  std::map<std::string_view, std::vector<const Cause*>> of_rule;
  Html all;
  for (const Cause& cause : causes) {
    if (severity(cause.worst) >= severity(Status::kPass)) continue;
    auto& kin = of_rule[cause.root.example->rule];
    kin.push_back(&cause);
    if (kin.size() <= kCausesOnPage) all += article(cause);
  }
  for (const auto& [rule, kin] : of_rule)
    if (kin.size() > kCausesOnPage) all += rest_of({kin.begin() + kCausesOnPage, kin.end()});
  return all;
}

// Draws one row for each rule: the nodes on which it passed or does not apply.
Html quiet_table(const Findings& findings, Status status) {
  std::map<std::string_view, std::vector<std::string>> nodes_of_rule;
  std::map<std::string_view, std::size_t> count_of_rule;
  std::size_t count = 0;
  for (const Finding& finding : findings) {
    if (finding.status != status) continue;
    ++count;
    ++count_of_rule[finding.rule];
    if (!finding.node.empty()) nodes_of_rule[finding.rule].push_back(finding.node);
  }
  if (count == 0) return {};
  Html rows;
  for (const auto& [rule, times] : count_of_rule)
    rows += html(R"(<tr><td><code>{}</code></td><td class="number">{}</td><td>{}</td></tr>)", rule, times,
                 fold_hosts(nodes_of_rule[rule]));
  const Html table = html(
      R"(<table><thead><tr><th>Rule</th><th class="number">Findings</th><th>Nodes</th></tr></thead><tbody>{}</tbody></table>)",
      rows);
  const Look look = look_of(status);
  return html(
      R"(<details class="quiet-findings"><summary><span class="{}">{}</span> {}: {}</summary>{}</details>)",
      look.css, look.sign, look.word, count, scrolled_table(look.word, table));
}

std::string_view nothing_red_text(const Report& report) {
  return std::ranges::find(report.verdict.findings, Status::kPass, &Finding::status) !=
                 report.verdict.findings.end()
             ? "No rule found a fault."
             : "Nothing could be checked here.";
}

// Refers to burn-ins with failures: they judge themselves, so no rule repeats it.
Html burns_text(const Report& report) {
  std::size_t failures = 0;
  for (const BenchRun& run : report.runs)
    for (const BurnReport& burn : run.burns)
      failures += static_cast<std::size_t>(
          std::ranges::count(burn.findings, BurnStatus::kFailure, &BurnFinding::status));
  if (failures == 0) return {};
  return html(R"(<p class="bad">✕ {} of a burn-in, below</p>)", counted(failures, "failure"));
}

}  // namespace

Html scrolled_table(std::string_view label, const Html& table) {
  return html(R"(<div class="scroll" role="region" tabindex="0" aria-label="{}">{}</div>)", label, table);
}

Html draw_findings(const Report& report) {
  Html all = red_findings(root_causes(report.verdict.findings));
  if (all.empty()) all = html(R"(<p class="quiet">{}</p>)", nothing_red_text(report));
  all += burns_text(report);
  all += quiet_table(report.verdict.findings, Status::kPass);
  all += quiet_table(report.verdict.findings, Status::kNotApplicable);
  return html(R"(<section aria-labelledby="findings"><h2 id="findings">Findings</h2>{}</section>)", all);
}

}  // namespace railbed
