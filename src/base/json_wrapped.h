#pragma once

#include "base/json.h"

namespace railbed::json {

// Returns JSON text that is easy to compare by eye: a value that fits into 110 columns takes one line; any
// other object or array has one line per member. Ends with a newline.
std::string dump_wrapped(const Value& value);

}  // namespace railbed::json
