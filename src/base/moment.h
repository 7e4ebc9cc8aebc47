// Points in time as seconds since 1970 (Unix time, UTC), and their textual forms.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace railbed {

double now_unix();

// Formats as RFC 3339 in UTC, rounded down to whole seconds: "2026-01-19T10:00:00Z". Returns "an unknown
// time" for times before 1970, after the year 9999, or not a number.
std::string utc_text(double unix_seconds);

// Parses a time, "2026-01-19T10:00:00Z" (RFC 3339 with Z or an offset; fractions of a second are dropped), or
// an age before `now`: "90s", "30m", "1h", "7d". Returns nullopt for other text.
std::optional<double> parse_since(std::string_view text, double now);

// Returns the current time in the form of utc_text().
std::string utc_now();

}  // namespace railbed
