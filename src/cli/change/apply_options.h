// The options that `railbed apply` and `railbed rollback` share, and the report of their outcome.
#pragma once

#include <string_view>

#include "campaign/change/apply_nodes.h"

namespace CLI {
class App;
}

namespace railbed {

// The options as typed.
struct ApplyOptionsSaid {
  ApplyChoice choice;
  bool yes = false;
  bool confirm = false;
  bool unproven = false;
};

// Adds --yes, --confirm, --timeout and --no-prove, bound to `said`, which must outlive the parsing.
void add_apply_options(CLI::App& app, ApplyOptionsSaid& said);
// Returns the options as apply/ needs them, with the name of this user and host.
ApplyChoice choice_of(const ApplyOptionsSaid& said);

// True if the person agrees on the terminal, or with --yes. False without a terminal.
bool is_agreed(const ApplyOptionsSaid& said, std::string_view question);

// Prints the outcome and returns the exit code: 0 committed, 2 failed, 3 not begun.
int print_outcome(const ApplyOutcome& outcome, bool json);

}  // namespace railbed
