// Adds the expectations that a healthy fleet shows to its cluster.yaml.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "verify/verify.h"

namespace railbed {

struct Amendment {
  std::vector<std::string> left_out;  // what was not learned, and for which nodes; one line each
  std::string text;                   // the whole new file; empty if there is nothing to add
  std::string difference;             // the changed lines, prefixed with + or -
};

// Returns the expectations that the evidence adds to the cluster that `file` describes. Writes nothing. `day`
// has the form 2026-01-19 and appears in a comment of the new file.
Result<Amendment> propose_amendment(const std::string& file, const Evidence& evidence, const Verdict& verdict,
                                    const std::string& day);

// Replaces the file and keeps its mode. If `file` is a symbolic link, the file that it points to is replaced.
// Fails if the file is gone.
Result<void> write_amendment(const std::string& file, const Amendment& amendment);

}  // namespace railbed
