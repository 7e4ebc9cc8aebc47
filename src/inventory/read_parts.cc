// Reads the bill of materials: the lists of `parts:`.
#include "base/text.h"
#include "inventory/reader.h"

namespace railbed {
namespace {

std::optional<int> number_within(std::string_view text, int least, int most) {
  const auto number = parse_number<int>(text);
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

std::optional<int> parse_quantity(std::string_view text) { return number_within(text, 1, 100'000); }
std::optional<int> parse_switch_ports(std::string_view text) { return number_within(text, 1, 4096); }
std::optional<int> parse_pcie(std::string_view text) { return number_within(text, 1, 7); }
std::optional<int> parse_watts(std::string_view text) { return number_within(text, 1, 10'000); }

// Parses "x8", the number of wired lanes, which may be lower than the slot's size.
std::optional<int> parse_lanes(std::string_view text) {
  const auto lanes = text.starts_with('x') ? parse_number<int>(text.substr(1)) : std::nullopt;
  return lanes && (*lanes == 1 || *lanes == 2 || *lanes == 4 || *lanes == 8 || *lanes == 16) ? lanes
                                                                                             : std::nullopt;
}

// Parses "2 m", "2m" or "50 cm"; returns metres.
std::optional<double> parse_length(std::string_view text) {
  double factor = 1;
  if (text.ends_with("cm")) {
    factor = 0.01;
    text.remove_suffix(2);
  } else if (text.ends_with('m')) {
    text.remove_suffix(1);
  } else {
    return std::nullopt;
  }
  const auto metres = parse_real(trim(text));
  return metres && *metres > 0 && *metres * factor <= 100'000 ? std::optional(*metres * factor)
                                                              : std::nullopt;
}

std::optional<BitRate> parse_part_speed(std::string_view text) {
  const auto rate = parse_bit_rate(text);
  return rate && rate->gigabits() > 0 && rate->gigabits() <= 100e3 ? rate : std::nullopt;
}

template <class T, class U>
void take_value(std::optional<T>& target, const Said<U>& said) {
  if (said) target = said->value;
}

constexpr std::string_view kLists[] = {"switches", "cables", "servers", "adapters", "gpus"};  // by PartKind

}  // namespace

RawPart ClusterReader::read_part(PartKind kind, const YamlValue& value) {
  RawPart part;
  part.spot = value.spot;
  part.values.kind = kind;
  part.values.line = static_cast<int>(complaints_.line_of(value.spot));
  ClusterPart& values = part.values;
  const std::string_view thing = enum_names(kind)[static_cast<std::size_t>(kind)];
  each_key(value, thing, [&](std::string_view key, const YamlKey& at, const YamlValue& item) {
    const auto words = [&](std::string& target) {
      if (auto said = text(at, item)) target = std::move(said->value);
    };
    if (key == "name") {
      words(values.name);
    } else if (key == "model") {
      words(values.model);
    } else if (key == "processor") {
      words(values.processor);
    } else if (key == "quantity") {
      if (const auto said = parsed(at, item, parse_quantity, "a number from 1 to 100000"))
        values.quantity = said->value;
    } else if (key == "ports") {
      take_value(values.ports, parsed(at, item, parse_switch_ports, "a number of ports from 1 to 4096"));
    } else if (key == "speed") {
      take_value(values.speed, rate(at, item, parse_part_speed, "a rate, as in \"40 Gb/s\""));
    } else if (key == "length") {
      take_value(values.metres, parsed(at, item, parse_length, "a length, as in \"2 m\""));
    } else if (key == "medium") {
      values.medium = word<CableMedium>(at, item);
    } else if (key == "pcie") {
      take_value(values.pcie, parsed(at, item, parse_pcie, "a generation of PCIe from 1 to 7"));
    } else if (key == "slot") {
      take_value(values.lanes, parsed(at, item, parse_lanes, "the slot's lanes, as in \"x8\""));
    } else if (key == "slot_watts") {
      take_value(values.slot_watts, parsed(at, item, parse_watts, "a number of watts, as in 75"));
    } else if (key == "rails") {
      const std::vector<YamlValue> one = {item};
      for (const YamlValue& rail : item.kind == YamlValue::Kind::kList ? item.items : one)
        if (auto said = text(at, rail)) part.rails.push_back(std::move(*said));
    } else {
      read_patterns(at, item, part.nodes);
    }
  });
  return part;
}

std::vector<RawPart> ClusterReader::read_parts(const YamlKey& at, const YamlValue& value) {
  std::vector<RawPart> parts;
  if (!is(YamlValue::Kind::kMapping, value, at)) return parts;
  each_key(value, "parts", [&](std::string_view key, const YamlKey& list_at, const YamlValue& list) {
    if (!is(YamlValue::Kind::kList, list, list_at)) return;
    const auto kind = static_cast<PartKind>(std::find(std::begin(kLists), std::end(kLists), key) - kLists);
    const std::string_view thing = enum_names(kind)[static_cast<std::size_t>(kind)];
    for (const YamlValue& item : list.items)
      if (is(YamlValue::Kind::kMapping, item, fmt::format("a {}", thing), item.spot))
        parts.push_back(read_part(kind, item));
  });
  return parts;
}

}  // namespace railbed
