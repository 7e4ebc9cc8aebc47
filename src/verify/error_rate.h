// Judges error counters by their rate. A counter holds the errors since boot; the rate matters: 16 errors in
// 200 busy days are negligible, 16 within an hour mean a bad cable. Whether errors still occur is for a load
// window to judge (rules/load.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/reading.h"
#include "facts/facts.h"
#include "verify/judge.h"

namespace railbed {

// The span that a counter covers. A driver or a person may have reset the counter since boot; the true rate
// is then higher than the one computed here.
struct ErrorSpan {
  double days = 0;                       // since boot, at least one
  std::optional<std::uint64_t> packets;  // packets that the port received since boot; empty if unknown or 0
};

// Returns the span since boot. Returns nullopt after ending the case as unknown if the node's uptime could
// not be read.
std::optional<ErrorSpan> error_span(Case& verdict, const Facts& facts, const Reading<std::uint64_t>& packets);

struct ErrorLimit {
  double a_day = 0;
  double of_packets = 0;  // share of the packets; 0: unrelated to traffic
};

// Returns true if `errors` exceeds both limits. The share counts only if the limit has one and the number of
// packets is known. Fewer than three errors never exceed a limit.
bool exceeds(std::uint64_t errors, const ErrorSpan& span, const ErrorLimit& limit);

std::string rate_text(std::uint64_t errors,
                      const ErrorSpan& span);     // "4711 in 10.0 days, 2e-06 of the packets received"
std::string limit_text(const ErrorLimit& limit);  // "at most 10 a day, or …"

}  // namespace railbed
