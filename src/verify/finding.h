// Findings: the verdict of one rule on one subject.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "model/remedy.h"
#include "model/things.h"

namespace railbed {

enum class Status { kPass, kWarn, kFail, kUnknown, kNotApplicable };
constexpr auto enum_names(Status) {
  return std::array<std::string_view, 5>{"pass", "warn", "fail", "unknown", "n/a"};
}

// Returns the rank of a status in reports: failures first (0), "not applicable" last (4).
constexpr int severity(Status status) {
  switch (status) {
    case Status::kFail:
      return 0;
    case Status::kWarn:
      return 1;
    case Status::kUnknown:
      return 2;
    case Status::kPass:
      return 3;
    case Status::kNotApplicable:
      return 4;
  }
  return 4;
}

// The verdict of one rule on one subject.
struct Finding {
  std::string_view rule;  // rdma.port-state: the id of a row of the table
  std::string node;       // empty if it concerns the whole cluster
  std::string subject;    // mlx4_0/1, ens6, rail0
  Status status = Status::kUnknown;
  // one line: what is wrong, and where ("mlx4_0/1 is DOWN: no cable, or the peer is off")
  std::string message;
  std::string expected;  // "ACTIVE"
  std::string observed;  // "DOWN (Polling)"
  std::string evidence;  // the path or call that the fact was read from
  Remedy remedy;
  // The things that the finding is about, by which causes are found (causes.h)
  Things touches;
  std::optional<std::size_t> caused_by;  // index of the finding in the same list that explains this one
  FIELDS(Finding, rule, node, subject, status, message, expected, observed, evidence, remedy, touches,
         caused_by);
};

// Returns true for a warning or a failure.
inline bool is_red(const Finding& finding) {
  return finding.status == Status::kWarn || finding.status == Status::kFail;
}

}  // namespace railbed
