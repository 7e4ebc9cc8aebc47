// The command line: built from the table of commands, parsed, run.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace railbed {

// Returns the parser with the options of every command, or of the command `only`. Parsing sets `action` to
// that of the chosen command; `action` must outlive the parser.
std::unique_ptr<CLI::App> build_app(Action& action, std::string_view only = "",
                                    std::span<const Command> commands = all_commands());

// Runs one more command within this process. `words` are those after the program's name; the exit code is
// returned as by run_railbed().
int run_words(const std::vector<std::string>& words);
// Parses the command line, runs the command, and returns the process's exit code (base/result.h).
int run_railbed(int argc, const char* const* argv, std::span<const Command> commands = all_commands());

}  // namespace railbed
