// JSON both ways for plain structs. A struct lists its fields once:
//
//   struct Port {
//     int number = 0;
//     Reading<std::string> state;  // P/state
//     static constexpr auto fields() {
//       return std::tuple{field("number", &Port::number), field("state", &Port::state)};
//     }
//   };
//
// and encode()/decode() do the rest. Decoding takes untrusted text: a wrong type is an Error that names the
// place ("rdma.devices[2].ports[0].number: expected an integer"), unknown fields are ignored, fields that are
// not there keep their default. This is the only file that includes nlohmann/json.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"
#include "base/result.h"
#include "base/units.h"

namespace railbed::json {

using Value = nlohmann::ordered_json;

// Text → value. Bad UTF-8, trailing text and nesting deeper than 64 are errors.
Result<Value> parse(std::string_view text);
// Value → text. Bytes that are not UTF-8 become U+FFFD: /sys may hold anything.
std::string dump(const Value& value);         // one line
std::string dump_pretty(const Value& value);  // two-space indent, ends with a newline

namespace detail {

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsMap = false;
template <class T>
inline constexpr bool kIsMap<std::map<std::string, T>> = true;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsReading = false;
template <class T>
inline constexpr bool kIsReading<Reading<T>> = true;
template <class T>
concept Record = requires {
  T::fields();
};
template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T value) {
  enum_names(value);
};
// Other types (addresses, subnets) convert through text.
template <class T>
concept Textual = requires(const T value, std::string_view text) {
  { value.to_text() } -> std::convertible_to<std::string>;
  { T::parse(text) } -> std::same_as<std::optional<T>>;
};

// Where in the document decoding stands, kept as a linked list on the stack so that success costs nothing.
struct Place {
  const Place* parent = nullptr;
  std::string_view key = {};
  std::size_t index = 0;
  std::string to_text() const;
};

tl::unexpected<Error> expected(const Place& place, std::string_view what);

template <class T>
Result<T> decode(const Value& value, const Place& place);

template <std::integral T>
Result<T> decode_integer(const Value& value, const Place& place) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  } else if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  }
  return expected(place, "an integer in range");
}

template <class T>
Result<std::vector<T>> decode_vector(const Value& value, const Place& place) {
  if (!value.is_array()) return expected(place, "an array");
  std::vector<T> items;
  items.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    auto item = decode<T>(value[i], Place{&place, {}, i});
    if (!item) return fail(item.error().kind, item.error().text);
    items.push_back(std::move(*item));
  }
  return items;
}

template <class T>
Result<std::map<std::string, T>> decode_map(const Value& value, const Place& place) {
  if (!value.is_object()) return expected(place, "an object");
  std::map<std::string, T> items;
  for (const auto& [key, element] : value.items()) {
    auto item = decode<T>(element, Place{&place, key});
    if (!item) return fail(item.error().kind, item.error().text);
    items.emplace(key, std::move(*item));
  }
  return items;
}

template <class T>
Result<T> decode_record(const Value& value, const Place& place) {
  if (!value.is_object()) return expected(place, "an object");
  T record{};
  std::optional<Error> error;
  const auto take = [&](const auto& one) {
    if (error) return;
    const auto found = value.find(one.name);
    if (found == value.end()) return;
    using Member = std::remove_reference_t<decltype(record.*(one.member))>;
    auto decoded = decode<Member>(*found, Place{&place, one.name});
    if (decoded)
      record.*(one.member) = std::move(*decoded);
    else
      error = decoded.error();
  };
  std::apply([&](const auto&... one) { (take(one), ...); }, T::fields());
  if (error) return fail(error->kind, error->text);
  return record;
}

template <class T>
Result<Reading<T>> decode_reading(const Value& value, const Place& place) {
  if (!value.is_object()) return expected(place, "a reading");
  std::string from;
  if (const auto found = value.find("from"); found != value.end()) {
    if (!found->is_string()) return expected(place, "a reading whose from is a string");
    from = found->template get<std::string>();
  }
  if (const auto found = value.find("value"); found != value.end()) {
    auto decoded = decode<T>(*found, Place{&place, "value"});
    if (!decoded) return fail(decoded.error().kind, decoded.error().text);
    return Reading<T>(std::move(*decoded), std::move(from));
  }
  const auto missing = value.find("missing");
  if (missing == value.end()) return expected(place, "a reading with value or missing");
  auto kind = decode<Missing>(*missing, Place{&place, "missing"});
  if (!kind) return fail(kind.error().kind, kind.error().text);
  Miss miss{*kind, {}};
  if (const auto why = value.find("why"); why != value.end() && why->is_string())
    miss.why = why->template get<std::string>();
  return Reading<T>(std::move(miss), std::move(from));
}

template <NamedEnum T>
Result<T> decode_enum(const Value& value, const Place& place) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const auto names = enum_names(T{});
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == text) return static_cast<T>(i);
  }
  return expected(place, "one of the known words");
}

template <class T>
Result<T> decode(const Value& value, const Place& place) {
  if constexpr (std::same_as<T, Value>) {
    return value;
  } else if constexpr (std::same_as<T, bool>) {
    if (!value.is_boolean()) return expected(place, "true or false");
    return value.template get<bool>();
  } else if constexpr (std::integral<T>) {
    return decode_integer<T>(value, place);
  } else if constexpr (std::floating_point<T>) {
    if (!value.is_number()) return expected(place, "a number");
    return value.template get<T>();
  } else if constexpr (std::same_as<T, std::string>) {
    if (!value.is_string()) return expected(place, "a string");
    return value.template get<std::string>();
  } else if constexpr (std::same_as<T, BitRate>) {
    if (!value.is_number()) return expected(place, "a number of bits per second");
    return BitRate{value.template get<double>()};
  } else if constexpr (std::same_as<T, Nanoseconds>) {
    if (!value.is_number()) return expected(place, "a number of nanoseconds");
    return Nanoseconds{value.template get<double>()};
  } else if constexpr (std::same_as<T, ByteCount>) {
    auto bytes = decode_integer<std::uint64_t>(value, place);
    if (!bytes) return fail(bytes.error().kind, bytes.error().text);
    return ByteCount{*bytes};
  } else if constexpr (kIsOptional<T>) {
    if (value.is_null()) return T{};
    auto inner = decode<typename T::value_type>(value, place);
    if (!inner) return fail(inner.error().kind, inner.error().text);
    return T{std::move(*inner)};
  } else if constexpr (kIsVector<T>) {
    return decode_vector<typename T::value_type>(value, place);
  } else if constexpr (kIsMap<T>) {
    return decode_map<typename T::mapped_type>(value, place);
  } else if constexpr (kIsReading<T>) {
    return decode_reading<typename T::Value>(value, place);
  } else if constexpr (NamedEnum<T>) {
    return decode_enum<T>(value, place);
  } else if constexpr (Textual<T>) {
    if (value.is_string())
      if (auto parsed = T::parse(value.template get_ref<const std::string&>())) return *parsed;
    return expected(place, "an address");
  } else {
    static_assert(Record<T>, "give the struct a fields()");
    return decode_record<T>(value, place);
  }
}

}  // namespace detail

template <class T>
Value encode(const T& item) {
  using namespace detail;
  if constexpr (std::same_as<T, Value>) {
    return item;
  } else if constexpr (std::is_arithmetic_v<T> || std::convertible_to<const T&, std::string_view>) {
    return Value(item);
  } else if constexpr (std::same_as<T, BitRate>) {
    return Value(item.bits_per_second);
  } else if constexpr (std::same_as<T, Nanoseconds>) {
    return Value(item.count());
  } else if constexpr (std::same_as<T, ByteCount>) {
    return Value(item.bytes);
  } else if constexpr (kIsOptional<T>) {
    return item ? encode(*item) : Value(nullptr);
  } else if constexpr (kIsMap<T>) {
    Value object = Value::object();
    for (const auto& [key, element] : item) object[key] = encode(element);
    return object;
  } else if constexpr (std::ranges::input_range<const T>) {
    Value array = Value::array();
    for (const auto& element : item) array.push_back(encode(element));
    return array;
  } else if constexpr (kIsReading<T>) {
    Value object = Value::object();
    if (item.ok()) {
      object["value"] = encode(item.value());
    } else {
      object["missing"] = encode(item.miss().missing);
      object["why"] = item.miss().why;
    }
    object["from"] = item.from();
    return object;
  } else if constexpr (NamedEnum<T>) {
    return Value(enum_names(item)[static_cast<std::size_t>(item)]);
  } else if constexpr (Textual<T>) {
    return Value(item.to_text());
  } else {
    static_assert(Record<T>, "give the struct a fields()");
    Value object = Value::object();
    std::apply(
        [&](const auto&... one) { ((object[std::string(one.name)] = encode(item.*(one.member))), ...); },
        T::fields());
    return object;
  }
}

template <class T>
Result<T> decode(const Value& value) {
  return detail::decode<T>(value, detail::Place{});
}

// parse() and decode() in one.
template <class T>
Result<T> read(std::string_view text) {
  auto value = parse(text);
  if (!value) return fail(value.error().kind, value.error().text);
  return decode<T>(*value);
}

}  // namespace railbed::json
