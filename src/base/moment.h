// Points in time as seconds since 1970 (Unix time, UTC), and as people write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace railbed {

double now_unix();

// RFC 3339, UTC, whole seconds: "2026-01-19T10:00:00Z".
std::string utc_text(double unix_seconds);

// "2026-01-19T10:00:00Z" (RFC 3339 with Z or an offset), or how long ago: "90s", "30m", "1h", "7d".
std::optional<double> parse_since(std::string_view text, double now);

// RFC 3339, UTC, seconds: "2026-01-19T10:00:00Z".
std::string utc_now();

}  // namespace railbed
