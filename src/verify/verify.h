// Facts, expectations and measurements in; findings out. A pure function of its input.
#pragma once

#include "model/evidence.h"
#include "verify/findings.h"

namespace railbed {

struct Verdict {
  Findings findings;      // worst first; a root cause stands before what it explains
  int exit_code() const;  // of ARCHITECTURE.md: 0 clean, 1 warnings, 2 failures, 3 could not look
};

Verdict verify(const Evidence& evidence, Keep keep = Keep::kAll);

}  // namespace railbed
