// Error counters stand for all that happened since boot. What matters is how often: sixteen errors in two
// hundred busy days are none, sixteen within an hour are a bad cable. Whether errors still come is for a load
// window (rules/load.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/reading.h"
#include "facts/facts.h"
#include "verify/judge.h"

namespace railbed {

// What a counter counted over. It may have been reset since boot, by the driver or by hand: then errors came
// more often than is said here.
struct ErrorSpan {
  double days = 0;                       // since boot, at least one
  std::optional<std::uint64_t> packets;  // that the port received meanwhile
};

// Nothing, and the case has ended as unknown, when the node does not say how long it is up.
std::optional<ErrorSpan> error_span(Case& one, const Facts& facts, const Reading<std::uint64_t>& packets);

struct ErrorLimit {
  double a_day = 0;
  double of_packets = 0;  // a share; 0: the counter has nothing to do with traffic
};

// Both limits are passed; the second only counts where packets are known. Never by fewer than three errors.
bool exceeds(std::uint64_t errors, const ErrorSpan& span, const ErrorLimit& limit);

std::string rate_text(std::uint64_t errors,
                      const ErrorSpan& span);     // "4711 in 10.0 days, 2e-06 of the packets received"
std::string limit_text(const ErrorLimit& limit);  // "at most 10 a day, or …"

}  // namespace railbed
