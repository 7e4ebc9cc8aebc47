#pragma once

#include "base/json.h"

namespace railbed::json {

// For people who compare: what fits on a line of 110 characters stands on one, the rest has a line a member.
std::string dump_wrapped(const Value& value);

}  // namespace railbed::json
