// railbed verify --learn: adds properties of a healthy fleet to its cluster.yaml.
#pragma once

#include <string>

#include "verify/verify.h"

namespace railbed {

// Proposes an amendment to `file` from the evidence, shows it, and writes it if the person at the terminal
// agrees or `yes` is set. Returns the exit code.
int run_learn(const std::string& file, const Evidence& evidence, const Verdict& verdict, bool yes);

}  // namespace railbed
