// Text as PromQL has it. What cluster.yaml says may be anything.
#pragma once

#include <string>
#include <string_view>

namespace railbed {

// Between double quotes; it cannot end there.
std::string promql_quoted(std::string_view text);

// Text that Prometheus' templates show as it is, whatever braces it holds.
std::string template_text(std::string_view text);

}  // namespace railbed
