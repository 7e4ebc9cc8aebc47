// A user's own prices of parts. No other prices are ever used.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed {

enum class UpgradePartKind { kAdapter, kCable, kSwitch };
constexpr auto enum_names(UpgradePartKind) {
  return std::array<std::string_view, 3>{"adapter", "cable", "switch"};
}

struct PriceList {
  std::string currency;
  std::map<UpgradePartKind, double> prices;
  std::optional<double> price_of(UpgradePartKind kind) const;
};

// Parses {currency: EUR, adapter: 75, cable: 20, switch: 900}; each key is optional. `file` is named in
// errors.
Result<PriceList> parse_prices(std::string_view text, std::string_view file);

}  // namespace railbed
