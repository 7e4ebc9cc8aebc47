// Shows what `railbed explain` found in the files that it was given.
#pragma once

#include <optional>
#include <vector>

#include "base/document.h"
#include "base/fields.h"
#include "campaign/look/explain.h"

namespace railbed {

// The verdicts about files, as `railbed explain --json` prints them.
struct ExplanationDocument {
  std::vector<ExplainedInput> inputs = {};
  std::optional<diagnose::Log> job = {};
  std::optional<diagnose::FlightVerdict> flight = {};
  std::vector<NodeGraph> topologies = {};
  std::vector<Finding> findings = {};               // of the machines, those that are red or unknown
  std::optional<std::vector<Finding>> fabric = {};  // likewise, of the subnet
  FIELDS(ExplanationDocument, inputs, job, flight, topologies, findings, fabric);
};
inline constexpr Document<ExplanationDocument> kExplanationDocument{"railbed-explanation"};

// Prints the explanation, or its error, and returns the exit code: 0 nothing is wrong, 1 warnings, 2 errors found, 3
// nothing was recognised. `all` also lists what passed on machines, in text.
int show_explanation(const Result<Explanation>& explanation, bool as_json, bool all = false);

}  // namespace railbed
