#include "predict/prices.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/yaml.h"

namespace railbed {
namespace {

constexpr double kDearest = 1e9;
constexpr std::size_t kLongestCurrency = 8;

std::optional<UpgradePartKind> kind_of(std::string_view word) {
  const auto names = enum_names(UpgradePartKind{});
  const auto it = std::ranges::find(names, word);
  if (it == names.end()) return std::nullopt;
  return static_cast<UpgradePartKind>(it - names.begin());
}

void read_price(PriceList& list, const YamlKey& key, const YamlValue& value, Complaints& complaints) {
  if (key.text == "currency") {
    list.currency = value.text;
    if (!is_plain_word(value.text, kLongestCurrency))
      complaints.add(value.spot, "a currency is a word, as EUR");
    return;
  }
  const auto kind = kind_of(key.text);
  if (!kind) return complaints.add(key.spot, "unknown key; there are currency, adapter, cable, switch");
  const auto price = parse_real(value.text);
  if (!price || !(*price >= 0 && *price <= kDearest))
    return complaints.add(value.spot, fmt::format("a price is a number from 0 to {:g}", kDearest));
  if (!list.prices.emplace(*kind, *price).second) complaints.add(key.spot, "said twice");
}

}  // namespace

std::optional<double> PriceList::price_of(UpgradePartKind kind) const {
  const auto it = prices.find(kind);
  return it == prices.end() ? std::nullopt : std::optional(it->second);
}

Result<PriceList> parse_prices(std::string_view text, std::string_view file) {
  Complaints complaints(text, file);
  PriceList list;
  const auto root = parse_yaml(text, complaints);
  if (root && root->kind != YamlValue::Kind::kMapping)
    complaints.add(root->spot, "prices are a mapping, as {currency: EUR, adapter: 75}");
  else if (root)
    for (std::size_t i = 0; i < root->items.size(); ++i)
      read_price(list, root->keys[i], root->items[i], complaints);
  if (!complaints.empty()) return fail(complaints.to_error());
  return list;
}

}  // namespace railbed
