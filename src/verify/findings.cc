#include "verify/findings.h"

namespace railbed {

void StatusCounts::add(Status status) {
  switch (status) {
    case Status::kPass:
      ++pass;
      break;
    case Status::kWarn:
      ++warn;
      break;
    case Status::kFail:
      ++fail;
      break;
    case Status::kUnknown:
      ++unknown;
      break;
    case Status::kNotApplicable:
      ++not_applicable;
      break;
  }
}

void StatusCounts::add(const StatusCounts& others) {
  pass += others.pass;
  warn += others.warn;
  fail += others.fail;
  unknown += others.unknown;
  not_applicable += others.not_applicable;
}

StatusCounts Findings::counts() const {
  StatusCounts counts = left_out_;
  for (const Finding& finding : *this) counts.add(finding.status);
  return counts;
}

}  // namespace railbed
