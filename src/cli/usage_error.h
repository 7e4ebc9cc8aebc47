// Makes the text of a usage error: the fault in the typed words, and the words to type next.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace railbed {

// A word that people type for a command because other programs have it.
struct OtherWord {
  std::string_view above;    // the command that it is typed behind: "railbed", "bench"
  std::string_view word;     // "doctor"
  std::string_view command;  // the command that does it; empty if `above` alone does
};
std::span<const OtherWord> other_words();

// Returns whether the words name no command where the parsed program requires one.
bool lacks_command(const CLI::App& app, int argc, const char* const* argv);

// Returns the fault, the usage of the command if its arguments are wrong, and the place of its help.
std::string usage_error_text(const CLI::App& app, const CLI::ParseError& error, int argc,
                             const char* const* argv);

// Refuses an empty value of every option and argument of the command and of those below it, because `--root
// "$TREE"` with an unset variable would look at this machine. Arguments of another program may be empty.
void refuse_empty_values(CLI::App& command);

}  // namespace railbed
