// Adds to a cluster.yaml without disturbing what its author wrote.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "inventory/cluster.h"

namespace railbed {

// What the expectations say, as YAML: {"driver", "570.86.10"}; fraction_of_ceiling always.
std::vector<std::pair<std::string_view, std::string>> settings_of(const Expectations& expect);

struct Amended {
  std::string text;                // the whole file
  std::vector<std::string> added;  // "driver: 570.86.10", in the order of Expectations
  std::vector<std::string> kept;   // keys that the file says already, whatever it says
};
// Adds to the top level's `expect:` the keys that it does not have, below a comment. Every other byte stays.
// An error where the text cannot be read, or is written so that nothing can be added safely.
Result<Amended> add_expectations(std::string_view text, std::string_view file, const Expectations& expect,
                                 std::string_view comment);

}  // namespace railbed
