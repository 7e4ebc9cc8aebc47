#include "monitor/injection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "verify/rule.h"

namespace railbed {
namespace {

constexpr std::size_t kMostInjections = 100;
constexpr std::size_t kMostSubjectsNamed = 8;
constexpr std::size_t kLongestInjectionFile = 64 << 10;

Error no_such_rule(std::string_view name) {
  std::vector<std::string_view> ids;
  for (const Rule& rule : all_rules()) ids.push_back(rule.id);
  const std::string meant = did_you_mean(name, ids);
  return {ErrorKind::kBadInput, fmt::format("--inject: there is no rule \"{}\"{} `railbed rules` lists them",
                                            printable(name), meant.empty() ? ";" : meant)};
}

Result<Injection> parse_injection(std::string_view text, Status status) {
  const auto equals = text.find('=');
  Injection injection{.rule = std::string(trim(text.substr(0, equals))), .subject = {}, .status = status};
  if (equals != std::string_view::npos) injection.subject = std::string(trim(text.substr(equals + 1)));
  if (find_rule(injection.rule, all_rules()) == nullptr) return fail(no_such_rule(injection.rule));
  return injection;
}

// Returns the subjects that the rule judges at this look.
std::string subjects_of(const Findings& findings, std::string_view rule) {
  std::vector<std::string> subjects;
  for (const Finding& finding : findings)
    if (finding.rule == rule && subjects.size() <= kMostSubjectsNamed)
      subjects.push_back(printable(finding.subject));
  if (subjects.size() > kMostSubjectsNamed) subjects.back() = "…";
  return fmt::format("{}", fmt::join(subjects, ", "));
}

std::string missing_subject(const Injection& injection, const Findings& findings) {
  const std::string subjects = subjects_of(findings, injection.rule);
  if (subjects.empty())
    return fmt::format("--inject {}: the rule judges nothing here, so nothing is injected", injection.rule);
  return fmt::format("--inject {}={}: the rule judges no such subject, so nothing is injected; it judges {}",
                     injection.rule, printable(injection.subject), subjects);
}

void make_red(const Injection& injection, Finding& finding) {
  const Rule& rule = *find_rule(injection.rule, all_rules());
  const std::string where = finding.node.empty() ? "" : fmt::format(" of {}", finding.node);
  finding.status = injection.status;
  finding.message =
      fmt::format("{}{}{} breaks the rule \"{}\"", kInjectedMark, finding.subject, where, rule.title);
  finding.expected = rule.standard;
  finding.observed = "nothing: it was injected";
  finding.evidence = "railbed monitor --inject";
  finding.remedy = {fmt::format("Start the monitor without --inject. Of a true finding: {}", rule.remedy),
                    {}};
  finding.caused_by.reset();
}

}  // namespace

Result<std::vector<Injection>> parse_injections(const std::vector<std::string>& given, Status status) {
  std::vector<Injection> all;
  const auto add = [&](std::string_view text) -> Result<void> {
    if (all.size() >= kMostInjections)
      return fail(ErrorKind::kBadInput, fmt::format("--inject: more than {} findings", kMostInjections));
    ASSIGN_OR_RETURN(auto injection, parse_injection(text, status));
    if (std::ranges::find(all, injection) == all.end()) all.push_back(std::move(injection));
    return {};
  };
  for (const std::string& one : given) {
    const bool is_file = one.substr(0, one.find('=')).find('/') != std::string::npos;
    if (!is_file) {
      RETURN_IF_ERROR(add(one));
      continue;
    }
    ASSIGN_OR_RETURN(const auto content, read_file(one, kLongestInjectionFile));
    for (const std::string_view line : lines(content))
      if (const auto text = trim(line.substr(0, line.find('#'))); !text.empty()) RETURN_IF_ERROR(add(text));
  }
  return all;
}

std::vector<std::string> inject(const std::vector<Injection>& injections, Findings& findings) {
  std::vector<std::string> notes;
  for (const Injection& injection : injections) {
    Finding* place = nullptr;
    bool red = false;
    for (Finding& finding : findings) {
      const bool fits = finding.rule == injection.rule &&
                        (injection.subject.empty() || finding.subject == injection.subject);
      red |= fits && is_red(finding) && !is_injected(finding.message);
      if (fits && place == nullptr && !is_red(finding)) place = &finding;
    }
    if (red)
      notes.push_back(
          fmt::format("--inject {}: it is red without help, so nothing is injected", injection.rule));
    else if (place == nullptr)
      notes.push_back(missing_subject(injection, findings));
    else
      make_red(injection, *place);
  }
  return notes;
}

}  // namespace railbed
