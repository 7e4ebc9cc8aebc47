// Shows what `railbed explain` found in the files that it was given.
#pragma once

#include "campaign/look/explain.h"

namespace railbed {

// Prints the explanation, or its error, and returns the exit code: 0 nothing is wrong, 1 warnings, 2 errors found, 3
// nothing was recognised.
int show_explanation(const Result<Explanation>& explanation, bool as_json);

}  // namespace railbed
