// A user's own prices of parts. No other prices are ever used.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace railbed {

// What is bought once, and what is paid for by the hour.
enum class UpgradePartKind { kAdapter, kCable, kSwitch, kKilowattHour, kGpuHour };
constexpr auto enum_names(UpgradePartKind) {
  return std::array<std::string_view, 5>{"adapter", "cable", "switch", "kilowatt-hour", "gpu-hour"};
}

struct PriceList {
  std::string currency;
  std::map<UpgradePartKind, double> prices;
  std::map<std::string, double> numbers;  // by part number, in capitals
  bool empty() const { return prices.empty() && numbers.empty(); }
  // Returns the least price of these part numbers, else that of the kind.
  std::optional<double> price_of(UpgradePartKind kind, const std::vector<std::string>& of = {}) const;
};

// Parses {currency: EUR, MCX416A-CCAT: 75, adapter: 90, cable: 20, switch: 900}; each key is optional. A part number is
// one that a table of hardware/part_model.h knows. `file` is named in errors.
Result<PriceList> parse_prices(std::string_view text, std::string_view file);
// The same from a file of at most 1 MiB. An empty path gives no prices.
Result<PriceList> read_prices(const std::string& path);

}  // namespace railbed
