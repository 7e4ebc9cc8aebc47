// railbed fix: verifies, applies the settings that fix the findings, and verifies again.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/text.h"
#include "base/wipe.h"
#include "campaign/look/gather.h"
#include "cli/change/applying.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "report/findings.h"
#include "verify/rule.h"

namespace railbed {
namespace {

std::string check_rule(const std::string& id) {
  if (find_rule(id) != nullptr) return "";
  std::vector<std::string_view> ids;
  for (const Rule& rule : all_rules()) ids.push_back(rule.id);
  return fmt::format("no rule \"{}\"{} (railbed rules lists them)", id, did_you_mean(id, ids));
}

// Reads the nodes again and shows the findings that remain.
int verify_again(const ApplyCommand& command) {
  const auto evidence = gather_evidence(request_of(command.said).sources, command.reach, terminal_caller());
  if (!evidence) return report(evidence.error());
  const Verdict verdict = verify(*evidence);
  Run about;
  about.cluster = evidence->cluster.name;
  about.nodes = evidence->nodes.size() + evidence->unreachable.size();
  TextOptions options;
  options.colour = use_colour(STDOUT_FILENO);
  if (!command.said.json) fmt::print("\nVerified again:\n{}", render_text(verdict, about, options));
  return verdict.exit_code();
}

int run_fix(const ApplyCommand& command) {
  const Applied applied = look_and_apply(command);
  if (applied.status != kExitClean || !applied.changed) return applied.status;
  return verify_again(command);
}

}  // namespace

Action declare_fix(CLI::App& app) {
  auto command = std::make_shared<ApplyCommand>();
  command->said.request.fix = true;
  add_applying_options(app, *command);
  app.add_option_function<std::vector<std::string>>(
         "--rule",
         [command](const std::vector<std::string>& rules) {
           command->said.request.rules.insert(rules.begin(), rules.end());
         },
         "the findings of these rules alone, as in --rule net.mtu,host.governor")
      ->delimiter(',')
      ->check(check_rule)
      ->type_name("RULE");
  app.footer(
      "\nLooks at the nodes, takes from `railbed plan` what mends a finding of `railbed verify`, shows it, asks, and\n"
      "applies it as `railbed apply` does: on all nodes or on none, and it takes back what fails. Then it\n"
      "verifies again. The management network is never touched. Findings that no setting mends are listed:\n"
      "`railbed explain RULE` says what does. `railbed plan --fix` shows the plan and stops there. Examples:\n"
      "  railbed fix cluster.yaml\n"
      "  railbed fix cluster.yaml gpu3 --rule net.mtu\n\n"
      "Exit codes: those of `railbed verify` afterwards; 1 nothing was changed because you did not agree, 2 it was\n"
      "taken back, 3 it could not be begun.");
  return [command] {
    const int status = run_fix(*command);
    wipe(command->reach.sudo_password);
    return status;
  };
}

}  // namespace railbed
