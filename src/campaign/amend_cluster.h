// What a healthy fleet shows, as an addition to its cluster.yaml.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "verify/verify.h"

namespace railbed {

struct Amendment {
  std::vector<std::string> left_out;  // what was not learnt, and of whom not: one line each
  std::string text;                   // the whole new file; empty: there is nothing new to learn
  std::string difference;             // lines with + and - before them
};

// What the evidence teaches about the cluster that `file` describes. Writes nothing. `day`: 2026-01-19.
Result<Amendment> propose_amendment(const std::string& file, const Evidence& evidence, const Verdict& verdict,
                                    const std::string& day);

// Replaces the file; one that a symbolic link leads to keeps its place and mode.
Result<void> write_amendment(const std::string& file, const Amendment& amendment);

}  // namespace railbed
