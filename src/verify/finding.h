// What a rule says about one subject.
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

// The order in which people want to see them: what failed first (0), what does not apply last.
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

struct Finding {
  std::string_view rule;  // rdma.port-down: the id of a row of the table
  std::string node;       // empty when it concerns the cluster as a whole
  std::string subject;    // mlx4_0/1, ens6, rail0
  Status status = Status::kUnknown;
  std::string message;  // one line: what is wrong, to what ("mlx4_0/1 is DOWN: no cable, or the peer is off")
  std::string expected;  // "ACTIVE"
  std::string observed;  // "DOWN (Polling)"
  std::string evidence;  // the path or call it was read from
  Remedy remedy;
  Things touches;
  std::optional<std::size_t> caused_by;  // index of the finding in the same list that explains this one
  FIELDS(Finding, rule, node, subject, status, message, expected, observed, evidence, remedy, touches,
         caused_by);
};

}  // namespace railbed
