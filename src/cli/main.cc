// One row a command; the rest of the program is in the rooms.
#include "cli/app.h"
#include "cli/command.h"

namespace railbed {
namespace {

constexpr Command kCommands[] = {
    {"completion", "print a completion script for bash, zsh or fish", declare_completion},
};

}  // namespace

std::span<const Command> all_commands() { return kCommands; }

}  // namespace railbed

int main(int argc, char** argv) { return railbed::run_railbed(argc, argv); }
