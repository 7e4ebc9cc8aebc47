#include "cli/change/apply_options.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "cli/change/plan_options.h"
#include "cli/document.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "report/text/apply_text.h"

namespace railbed {
namespace {

std::string own_name() {
  const passwd* const user = getpwuid(getuid());
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return fmt::format("{}@{}", user != nullptr ? user->pw_name : std::to_string(getuid()), host);
}

}  // namespace

void add_apply_options(CLI::App& app, ApplyOptionsSaid& said) {
  app.add_flag("--yes,-y", said.yes, "do not ask before it begins");
  app.add_flag("--confirm", said.confirm, "ask once more when all nodes have switched, before it is kept");
  app.add_option("--timeout", said.choice.seconds,
                 "how long a node that has switched waits to be told to keep it; then it goes back by itself")
      ->check(between(30, 3600))
      ->capture_default_str()
      ->type_name("SECONDS");
  app.add_flag("--no-prove", said.unproven, "keep it without a look at the rails from both ends");
}

ApplyChoice choice_of(const ApplyOptionsSaid& said) {
  ApplyChoice choice = said.choice;
  choice.who = own_name();
  choice.prove = !said.unproven;
  if (said.confirm) choice.confirm = asks_person;
  return choice;
}

bool is_agreed(const ApplyOptionsSaid& said, std::string_view question) {
  if (said.yes) return true;
  if (isatty(STDIN_FILENO) == 1) return asks_person(question);
  print_to_stderr("railbed: there is no terminal to ask on; --yes begins without a question\n");
  return false;
}

int print_outcome(const ApplyOutcome& outcome, bool json) {
  print_result(json ? document_text(kApplyDocument, outcome) : apply_text(outcome));
  if (outcome.committed) return kExitClean;
  return outcome.was_begun() ? kExitFailures : kExitCouldNotLook;
}

}  // namespace railbed
