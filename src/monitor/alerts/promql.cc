#include "monitor/alerts/promql.h"

#include "base/json.h"

namespace railbed {

// PromQL has Go's escapes (prometheus.io/docs/prometheus/latest/querying/basics, "String literals"). JSON's
// escapes are a subset of them.
std::string promql_quoted(std::string_view text) { return json::dump(json::encode(std::string(text))); }

std::string template_text(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool opens = text.substr(at, 2) == "{{";
    out += opens ? std::string_view("{{ \"{{\" }}") : text.substr(at, 1);
    at += opens ? 1 : 0;
  }
  return out;
}

}  // namespace railbed
