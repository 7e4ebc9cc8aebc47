// Verification: derives findings from facts, expectations and measurements. A pure function of its input.
#pragma once

#include "model/evidence.h"
#include "verify/findings.h"

namespace railbed {

struct Verdict {
  Findings findings;      // worst first; a root cause precedes the findings that it explains
  int exit_code() const;  // per ARCHITECTURE.md: 0 clean, 1 warnings, 2 failures, 3 could not look
};

// Judges every rule on every node. `keep` selects the findings that are stored; the others are only counted.
Verdict verify(const Evidence& evidence, Keep keep = Keep::kAll);

}  // namespace railbed
