// railbed verify --learn: what a healthy fleet shows, added to its cluster.yaml.
#pragma once

#include <string>

#include "verify/verify.h"

namespace railbed {

// Learns from the evidence, shows what it would add to `file`, asks (a terminal) or needs `yes`, and writes.
// The exit code.
int run_learn(const std::string& file, const Evidence& evidence, const Verdict& verdict, bool yes);

}  // namespace railbed
