// The site's own checks: programs that cluster.yaml names, judged by their exit codes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/shell.h"
#include "base/text.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Returns the check's command line as a person types it. Nothing in it is a node's text.
ShellCommand by_hand(const SiteCheck& check) {
  if (check.user.empty()) return command("{}", ShellWords{check.run});
  return command("sudo -u {} -- {}", check.user, ShellWords{check.run});
}

// Returns the first line that says something, at most 200 bytes of it.
std::string first_line(const ConfinedOutput& output) {
  for (const std::string& line : output.output)
    if (const auto text = trim(line); !text.empty()) return printable(text.substr(0, 200));
  return {};
}

// Returns what the program printed for the observed value of a finding: its lines joined, at most 1 KiB.
std::string in_short(const ConfinedOutput& output) {
  constexpr std::size_t kMost = 1024;
  std::string text;
  for (const std::string& line : output.output)
    if (const auto words = trim(line); !words.empty())
      text += (text.empty() ? "" : "; ") + std::string(words);
  const bool cut = output.cut || text.size() > kMost;
  return printable(text.substr(0, kMost)) + (cut ? " …" : "");
}

void judge_exit(Case& verdict, const NodeView& node, const SiteCheck& check, const ConfinedOutput& output) {
  const std::string line = first_line(output);
  const std::string printed = in_short(output);
  const int signal = output.exit_code - 128;  // as a shell has it
  const std::string observed = fmt::format(
      "exit {}{}{}{}", output.exit_code, signal > 0 && signal < 32 ? fmt::format(" (signal {})", signal) : "",
      printed.empty() ? "" : ": ", printed);
  const ExitMeaning meaning = exit_meaning(check, output.exit_code);
  if (meaning == ExitMeaning::kPass) return verdict.pass(observed);
  if (meaning == ExitMeaning::kNotApplicable) return verdict.not_applicable(observed);
  if (meaning == ExitMeaning::kUnknown) return verdict.unknown(observed);
  Complaint complaint;
  complaint.message = fmt::format("{} on {}: {}", check.name, *node.name,
                                  line.empty() ? fmt::format("exit {}", output.exit_code) : line);
  complaint.expected = passing_exits(check);
  complaint.observed = observed;
  // No command of a remedy: railbed does not know the program, and fix must not offer it.
  complaint.remedy = {fmt::format("{}{}By hand: {}", check.remedy,
                                  check.remedy.empty()          ? ""
                                  : check.remedy.ends_with('.') ? " "
                                                                : ". ",
                                  by_hand(check).text()),
                      {}};
  verdict.red(meaning == ExitMeaning::kFail ? Status::kFail : Status::kWarn, std::move(complaint));
}

void site_check(const Survey& survey, Judge& judge) {
  const auto checks = site_checks_by_node(survey.evidence.cluster);
  for (const NodeView& node : survey.nodes) {
    const auto own = checks.find(*node.name);
    if (own == checks.end()) continue;
    for (const SiteCheck* check : own->second) {
      Case verdict = judge.on(node, check->name);
      const auto run = std::ranges::find(node.facts->site_checks, check->name, &SiteCheckRun::name);
      if (run == node.facts->site_checks.end()) {
        verdict.not_applicable("it was not run: only verify and prove run a site's checks");
      } else if (run->job.run != check->run || run->job.user != check->user) {
        verdict.unknown(
            fmt::format("these facts are of another program: {}",
                        printable(fmt::format("{}", fmt::join(run->job.run, " "))).substr(0, 200)));
      } else if (const ConfinedOutput* output = verdict.read(run->result)) {
        judge_exit(verdict, node, *check, *output);
      }
    }
  }
}

}  // namespace

std::span<const Rule> site_rules() {
  static const Rule kRules[] = {
      {.id = "site.check",
       .title = "a check of the site's own passes",
       .why = "Its author knows something of this site that railbed does not.",
       .source = "the programs of checks: in cluster.yaml, run once on each node by verify and prove",
       .standard = "exit code 0, or what exit: says passes; 1 is a warning, 2 a failure, any other unknown",
       .remedy = "What the check's remedy: says; run the program by hand on the node.",
       .fixture = "h100-site-check",
       .explained_by = {},
       .check = site_check},
  };
  return kRules;
}

}  // namespace railbed
