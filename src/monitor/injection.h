// Findings that somebody injects to try alerts (`railbed monitor --inject`). An injected finding is one that a rule judged
// at this look, made red. Its message begins with a mark, which every view, event and alert shows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "verify/findings.h"

namespace railbed {

inline constexpr std::string_view kInjectedMark = "INJECTED to try alerts, no fault: ";

// Returns whether a finding with this message was injected.
inline bool is_injected(std::string_view message) { return message.starts_with(kInjectedMark); }

struct Injection {
  std::string rule;
  std::string subject;  // empty: the first that the rule judges
  Status status = Status::kFail;
  bool operator==(const Injection&) const = default;
};

// Parses what --inject got: "RULE" or "RULE=SUBJECT", or the path of a file with such lines, in which "#" begins a comment. A
// path has a "/". Fails for a rule that is not in the table.
Result<std::vector<Injection>> parse_injections(const std::vector<std::string>& given, Status status);

// Makes the findings red. Returns a line for each injection that the look has no place for: the rule judges no such subject
// here, or it is red without help.
std::vector<std::string> inject(const std::vector<Injection>& injections, Findings& findings);

}  // namespace railbed
