// The options that `railbed apply` and `railbed rollback` share, and how they end.
#pragma once

#include <string_view>

#include "campaign/apply_nodes.h"

namespace CLI {
class App;
}

namespace railbed {

struct ApplyOptionsSaid {
  ApplyChoice choice;
  bool yes = false;
  bool confirm = false;
  bool unproven = false;
};

// --yes, --confirm, --timeout and --no-prove, bound to `said`, which must outlive the parsing.
void add_apply_options(CLI::App& app, ApplyOptionsSaid& said);
ApplyChoice choice_of(const ApplyOptionsSaid& said);

// Asks on the terminal, unless --yes was said. Without a terminal the answer is no.
bool is_agreed(const ApplyOptionsSaid& said, std::string_view question);

// Prints it; the exit code.
int print_outcome(const ApplyOutcome& outcome, bool json);

}  // namespace railbed
