// The command line as a whole: built from the table of commands, parsed, run.
#pragma once

#include <memory>

#include "cli/command.h"

namespace railbed {

// Every command with its options declared. `action` is set to the chosen command's by parsing.
std::unique_ptr<CLI::App> build_app(Action& action);

// Parses, runs, and returns the process's exit code (base/result.h).
int run_railbed(int argc, const char* const* argv);

}  // namespace railbed
