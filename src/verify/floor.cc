#include "verify/floor.h"

#include <fmt/format.h>

#include <algorithm>

namespace railbed {

Result<BitRate> bandwidth_floor(const Ceiling& ceiling, double fraction) {
  if (!(fraction > kLeastFraction && fraction <= 1))
    return fail(ErrorKind::kBadInput,
                fmt::format("a floor of {} of the ceiling judges nothing: it must be above {} and at most 1",
                            fraction, kLeastFraction));
  if (ceiling.limits.empty()) return fail(ErrorKind::kUnavailable, "no limit of this path is known");
  const auto least_of = [](const Limit& limit) { return limit.least.value_or(limit.rate); };
  return least_of(*std::ranges::min_element(ceiling.limits, {}, least_of)) * fraction;
}

}  // namespace railbed
