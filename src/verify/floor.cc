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
  const auto binding = std::ranges::min_element(ceiling.limits, {}, &Limit::rate);
  return binding->rate * fraction;
}

}  // namespace railbed
