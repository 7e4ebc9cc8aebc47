// The tables of symptoms: messages that programs print when something is wrong, one row each, and of lines that
// confirm or refute a cause. A symptom states what happened; why it happened is a hypothesis (hypothesis.h).
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "nccl/severity.h"

namespace railbed::diagnose {

using nccl::Severity;

// The kind of line in which a row's words count.
enum class Said {
  kWarning,  // a NCCL WARN
  kNccl,     // a NCCL WARN or INFO
  kAnyone,   // any line
};

enum class Role {
  kCause,  // a problem of its own
  kEcho,   // usually the consequence of another rank's or an earlier problem
  kAside,  // a warning that a library prints on sound systems, too: no verdict where another line states a failure
  kSight,  // no problem: a line that confirms or refutes hypotheses
};

struct Symptom {
  std::string_view id;
  Severity severity;
  Role role;
  Said said;
  // All must occur in the text, in any order; the first has two bytes or more. "<status 12>" means a completion
  // with that ibv_wc_status, which NCCL has written in three ways and perftest in two.
  std::array<std::string_view, 3> words;
  std::string_view source;
  std::string_view title;
};

// Returns the rows of all tables, the most informative first: a text that several rows match has the first; of
// several problems in a log, the first row is the verdict.
const std::vector<Symptom>& all_symptoms();

}  // namespace railbed::diagnose
