// Reads TOML (toml.io, version 1.0.0) as a JSON value: the configuration of container engines is written in it.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace railbed {

// Returns the file as an object. Dates and times become texts as they are written. A table with several headers is read as one,
// which programs refuse. Fails with the line on any other fault, on a key that is given twice, and on more than the
// limits: 1 MiB, 16 levels, 1024 members of a table, 20,000 values.
Result<json::Value> parse_toml(std::string_view text);

}  // namespace railbed
