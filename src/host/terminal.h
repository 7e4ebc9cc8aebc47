// Programs that speak with a person, and so hold back what they say to anything but a terminal.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "host/child.h"

namespace railbed {

// Starts it at a terminal of its own, which is raw: no echo, no change of line ends. `in` and `out` are our
// end of it; `err` is a pipe.
Result<Program> start_in_terminal(const std::vector<std::string>& words, const SecretFiles& secrets = {});

// A program whose standard streams are pipes, and a terminal beside them that nothing but the program itself
// writes to: what it asks there, it asks for itself, whatever came through its streams.
struct AskingProgram {
  Program program;
  Fd terminal;      // our end; raw, and does not block
  Fd its_terminal;  // open as long as ours: without it ours would seem to have hung up between two questions
};
Result<AskingProgram> start_beside_terminal(const std::vector<std::string>& words, char* const* environment);

}  // namespace railbed
