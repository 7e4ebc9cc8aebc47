#include "monitor/events/events.h"

#include "base/json.h"
#include "base/moment.h"

namespace railbed {

std::string UtcTime::to_text() const { return utc_text(unix_seconds); }

std::optional<UtcTime> UtcTime::parse(std::string_view text) {
  if (text.size() < 20) return std::nullopt;  // parse_since() also accepts a span such as "5m"
  const auto seconds = parse_since(text, 0);
  if (!seconds || *seconds < 0) return std::nullopt;
  return UtcTime{*seconds};
}

std::string event_line(const NodeEvent& event) { return json::dump(json::encode(event)) + '\n'; }

std::optional<NodeEvent> parse_event_line(std::string_view line) {
  constexpr std::string_view kShortest = R"({"node":"a"})";
  if (line.size() < kShortest.size()) return std::nullopt;  // millions of short lines cost no parser's time
  auto event = json::read<NodeEvent>(line);
  if (!event || event->node.empty()) return std::nullopt;
  return std::move(*event);
}

}  // namespace railbed
