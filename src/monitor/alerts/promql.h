// Quotes text for PromQL and for Prometheus templates. Names in cluster.yaml may hold any character.
#pragma once

#include <string>
#include <string_view>

namespace railbed {

// Returns the text between double quotes, with escapes, so that it cannot end the string.
std::string promql_quoted(std::string_view text);

// Returns text that Prometheus templates print unchanged, even if it holds braces.
std::string template_text(std::string_view text);

}  // namespace railbed
