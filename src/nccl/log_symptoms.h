// The table of symptoms: NCCL's messages when something is wrong, their meaning and remedy, one row per
// symptom.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nccl/log.h"

namespace railbed::nccl {

enum class Said {
  kWarning,  // only as NCCL WARN
  kNccl,     // as NCCL WARN or INFO
  kAnyone,   // also from the program (PyTorch, nccl-tests)
};

struct Symptom {
  std::string_view id;
  Severity severity;
  bool consequence;  // usually the consequence of another rank's or an earlier problem
  Said said;
  // All must occur in the text, in any order. "<status 12>" means a completion with that ibv_wc_status, which
  // NCCL has written in three ways.
  std::string_view words[3];
  std::string_view source;
  std::string_view title;
  std::string_view cause;
  std::string_view remedy;
};

// Returns the rows, the most informative first: of several problems in a log, the first row is the verdict.
std::span<const Symptom> all_symptoms();

// A cause that takes the place of a symptom's usual one where the log contradicts that (log_rivals.cc).
struct Rival {
  std::string_view symptom;  // id of the row whose cause is refuted
  std::string_view id;       // id of the problem from then on
  // Returns the observation that refutes the row's cause; nothing if the log has none.
  std::optional<std::string> (*refutes)(const LogState& state, const LogProblem& problem);
  std::string_view source;
  std::string_view title;
  std::string_view cause;
  std::string_view remedy;
};

// Returns the rivals. Of several for one symptom, the first whose observation is in the log holds.
std::span<const Rival> all_rivals();

}  // namespace railbed::nccl
