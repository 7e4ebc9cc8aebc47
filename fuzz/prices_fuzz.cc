// Any bytes as a user's prices: complaints or numbers that can be summed, never a crash.
//
// Rooms: predict
#include <cmath>
#include <cstdint>

#include "fuzz/require.h"
#include "predict/prices.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railbed;
  const auto prices = parse_prices(as_text(data, size), "prices.yaml");
  if (!prices) {
    require(prices.error().kind == ErrorKind::kBadInput && !prices.error().text.empty());
    return 0;
  }
  for (const auto& [kind, price] : prices->prices) require(std::isfinite(price) && price >= 0);
  return 0;
}
