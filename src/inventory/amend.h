// Adds keys to a cluster.yaml and leaves everything that its author wrote unchanged.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "inventory/cluster.h"

namespace railbed {

// Returns the expectations as keys and YAML values, such as {"driver", "570.86.10"}. fraction_of_ceiling is
// always included.
std::vector<std::pair<std::string_view, std::string>> settings_of(const Expectations& expect);

// The result of add_expectations().
struct Amended {
  std::string text;                // the whole file
  std::vector<std::string> added;  // "driver: 570.86.10", in the order of Expectations
  std::vector<std::string> kept;   // keys that the file already has, with any value
};
// Adds to the top level's `expect:` the keys that it does not have, below a comment. Every other byte stays.
// Returns an error if the text cannot be parsed, or if its form does not allow a safe addition.
Result<Amended> add_expectations(std::string_view text, std::string_view file, const Expectations& expect,
                                 std::string_view comment);

}  // namespace railbed
