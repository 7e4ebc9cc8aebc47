// The command line as a whole: built from the table of commands, parsed, run.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace railbed {

// Every command with its options declared, or the one of that name alone. `action` is set to the chosen
// command's by parsing.
std::unique_ptr<CLI::App> build_app(Action& action, std::string_view only = "",
                                    std::span<const Command> commands = all_commands());

// One more command within this process; as run_railbed(), without the program's name.
int run_words(const std::vector<std::string>& words);
// Parses, runs, and returns the process's exit code (base/result.h).
int run_railbed(int argc, const char* const* argv, std::span<const Command> commands = all_commands());

}  // namespace railbed
