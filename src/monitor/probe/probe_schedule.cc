#include "monitor/probe/probe_schedule.h"

#include <algorithm>

namespace railbed {
namespace {

// Returns the partner of `own` among `even` nodes, which are at least 2; it may be the dummy. The node that
// meets the last has a place x with 2x = sum, modulo the number of places. That number is odd, so 2 has an
// inverse: even / 2.
std::size_t partner(std::size_t even, std::size_t own, std::uint64_t round) {
  const std::size_t places = even - 1;
  const std::size_t sum = round % places;
  const std::size_t alone = sum * (even / 2) % places;
  if (own == places) return alone;
  if (own == alone) return places;
  return (sum + places - own) % places;
}

}  // namespace

std::vector<std::size_t> partners(std::size_t count, std::size_t own, std::uint64_t round, std::size_t most) {
  std::vector<std::size_t> found;
  if (count < 2 || own >= count) return found;
  const std::size_t even = count + count % 2;
  const std::size_t meetings = std::min(most, even - 1);
  for (std::size_t i = 0; i < meetings; ++i)
    if (const std::size_t one = partner(even, own, round % (even - 1) * meetings + i); one < count)
      found.push_back(one);
  return found;
}

}  // namespace railbed
