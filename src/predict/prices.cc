#include "predict/prices.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "base/yaml.h"
#include "hardware/part_model.h"

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

bool names_part(std::string_view text) {
  return find_adapter_model(text) != nullptr || find_cable_model(text) != nullptr ||
         find_switch_model(text) != nullptr;
}

std::string capitals(std::string_view text) {
  std::string large(text);
  for (char& c : large)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return large;
}

void read_price(PriceList& list, const YamlKey& key, const YamlValue& value, Complaints& complaints) {
  if (key.text == "currency") {
    list.currency = value.text;
    if (!is_plain_word(value.text, kLongestCurrency))
      complaints.add(value.spot, "a currency is a word, as EUR");
    return;
  }
  const auto kind = kind_of(key.text);
  if (!kind && !names_part(key.text))
    return complaints.add(
        key.spot,
        "unknown key; there are currency, adapter, cable, switch, kilowatt-hour, gpu-hour, and part numbers that railbed knows");
  const auto price = parse_real(value.text);
  if (!price || !(*price >= 0 && *price <= kDearest))
    return complaints.add(value.spot, fmt::format("a price is a number from 0 to {:g}", kDearest));
  const bool added = kind ? list.prices.emplace(*kind, *price).second
                          : list.numbers.emplace(capitals(key.text), *price).second;
  if (!added) complaints.add(key.spot, "said twice");
}

}  // namespace

std::optional<double> PriceList::price_of(UpgradePartKind kind, const std::vector<std::string>& of) const {
  std::optional<double> least;
  for (const std::string& number : of) {
    // A cable's number in the table ends before its length.
    const std::string start = capitals(number.substr(0, number.find("…")));
    for (const auto& [priced, price] : numbers)
      if (priced.starts_with(start) && (!least || price < *least)) least = price;
  }
  if (least) return least;
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

Result<PriceList> read_prices(const std::string& path) {
  constexpr std::size_t kMostBytes = 1 << 20;
  if (path.empty()) return PriceList{};
  ASSIGN_OR_RETURN(const auto text, read_file(path, kMostBytes));
  return parse_prices(text, path);
}

}  // namespace railbed
