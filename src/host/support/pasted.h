// The outputs of commands in a text of which nobody states where it is from: one output, recognised by its
// content, or a terminal session with prompts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/support/outputs.h"

namespace railbed {

// Returns the output of a command line with its filters, without its text; without words if railbed does not read it.
Output output_of_command(std::string_view command);

// Returns the command that printed a text, as far as the text shows it: "nvidia-smi topo". Empty if it is no output that
// railbed knows.
std::string command_shown_by(std::string_view text);

// Returns the outputs that a file holds: those of a session, else the one that its name states, else the one that
// its content shows. Empty if none of them is known. Fails (kBadInput) for a session on several machines, whose
// outputs are not facts of one.
Result<std::vector<Output>> outputs_in(std::string_view name, std::string text);

}  // namespace railbed
