// Runs programs that talk to a person and therefore need a terminal.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "os/child.h"

namespace railbed {

// Starts a program on a raw pseudo-terminal: no echo, no conversion of line ends. `in` and `out` are our end
// of it; `err` is a pipe.
Result<Program> start_in_terminal(const std::vector<std::string>& words, const SecretFiles& secrets = {});

// A program whose standard streams are pipes, with a terminal as its controlling terminal. Only the program
// itself writes to the terminal, so a question there is the program's own, whatever came through its streams.
struct AskingProgram {
  Program program;
  Fd terminal;      // our end; raw, and does not block
  Fd its_terminal;  // kept open: without it our end would report a hang-up between two questions
};
Result<AskingProgram> start_beside_terminal(const std::vector<std::string>& words, char* const* environment);

}  // namespace railbed
