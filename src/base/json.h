// JSON both ways for plain structs. A struct lists its fields once (base/fields.h):
//
//   struct Port {
//     int number = 0;
//     Reading<std::string> state;  // P/state
//     FIELDS(Port, number, state);
//   };
//
// and encode()/decode() do the rest. Decoding accepts untrusted text: a wrong type is an Error that names the
// place ("rdma.devices[2].ports[0].number: expected an integer"), unknown fields are ignored, and missing
// fields keep their default. Every decoded string passes through printable() (base/text.h): no member holds a
// control character, a line break or a change of text direction, whatever the document holds. This is the
// only file that includes nlohmann/json.
//
// Hundreds of structs pass through these templates, in dozens of files, so they are written to compile fast.
// `fields` is a template, which costs nothing in files that only include a struct. All code that uses the
// JSON library is in plain functions in json.cc. Decoding fills a value in place, so that no Result<T> of
// every member's type is instantiated (docs/decisions/0008-files-in-batches.md).
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
#include <type_traits>
#include <vector>

#include "base/reading.h"
#include "base/result.h"
#include "base/units.h"

namespace railbed::json {

using Value = nlohmann::ordered_json;

// Parses JSON text. Invalid UTF-8, trailing text, nesting deeper than 64 levels, objects with more than 4096
// members and documents with more than a million values are kBadInput errors. If an object repeats a name,
// the last value counts.
Result<Value> parse(std::string_view text);
// Both return JSON text. Bytes that are not UTF-8 become U+FFFD, because /sys may hold anything. Characters
// that printable() would replace are written as \u escapes.
std::string dump(const Value& value);         // one line
std::string dump_pretty(const Value& value);  // two-space indent, ends with a newline

// A string that may have several lines: decoding keeps its line breaks.
struct Lines {
  std::string text;
};

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
struct AnyField {
  void operator()(std::string_view, auto) const {}
};
template <class T>
concept Record = requires {
  T::fields(AnyField{});
};
template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T value) {
  enum_names(value);
};
// Other types (addresses, subnets) are converted from and to text.
template <class T>
concept Textual = requires(const T value, std::string_view text) {
  { value.to_text() } -> std::convertible_to<std::string>;
  { T::parse(text) } -> std::same_as<std::optional<T>>;
};

// The current place in the document, as a linked list on the stack, so that success costs nothing.
struct Place {
  const Place* parent = nullptr;
  std::string_view key = {};
  std::size_t index = 0;
  mutable std::size_t held = 0;  // at the root only: bytes decoded into lists and maps up to now
  std::string to_text() const;
};

// Returns the error for a wrong type: "rdma.devices[2].name: expected a string".
Error expected(const Place& place, std::string_view what);

// Adds the bytes of a list or a map to the document's total before it is filled. Returns false and sets
// `error` if the total would exceed 32 MiB, far more than any document of railbed needs.
bool may_hold(const Place& place, std::size_t bytes, Error& error);

// The library's part of encoding. Members are appended without a search for the name: names in a struct
// differ.
Value from_text(std::string_view text);
Value from_bool(bool value);
Value from_signed(std::int64_t number);
Value from_unsigned(std::uint64_t number);
Value from_double(double number);
Value new_object(std::size_t members = 0);  // reserves room for `members` members
Value new_array();
void append_member(Value& object, std::string_view key, Value&& member);
void append(Value& array, Value&& element);

// The library's part of decoding. as_…() return null, and take_…() false, if the value has another type.
const bool* as_bool(const Value& value);
const std::string* as_text(const Value& value);
std::string cleaned(const std::string& text);  // printable(): see the head of this file
bool take_text(const Value& value, std::string& out);
bool take_lines(const Value& value, std::string& out);
bool is_array(const Value& value);
bool is_object(const Value& value);
bool is_null(const Value& value);
std::size_t size_of(const Value& value);
const Value& element_of(const Value& array, std::size_t index);
const Value* member_of(const Value& object, std::string_view key);
// Calls visit(key, member) for the members of an object in order, until a call returns false. Returns whether
// all calls returned true.
bool each_member(const Value& object,
                 bool (*visit)(void* context, const std::string& key, const Value& member), void* context);
bool take_number(const Value& value, double& out);
// Stores the two's complement of an integer in `bits`. Returns false unless the value is an integer from
// `low` to `high`.
bool take_integer(const Value& value, std::int64_t low, std::uint64_t high, std::uint64_t& bits);
// Returns the index of an enumerator's name in `names`; nullopt if the value is not one of them.
std::optional<std::size_t> position_of(const Value& value, const std::string_view* names, std::size_t count);
bool take_miss(const Value& reading, const Place& place, Miss& out, Error& error);
// Stores a reading's "from" in `out`, which stays unchanged if the reading has none.
bool take_from(const Value& reading, const Place& place, std::string& out, Error& error);

// Decodes a struct member by member. After the first error the remaining members are skipped.
struct RecordReader {
  const Value& object;
  const Place& place;
  Error& error;
  bool good = true;
  void member(std::string_view name, void* out,
              bool (*take)(const Value&, const Place&, void* out, Error& error));
};
struct RecordWriter {
  Value object;
  void member(std::string_view name, const void* item, Value (*encode)(const void* item));
};

// Fills `out` and returns true, or sets `error` to the mistake and its place and returns false.
template <class T>
bool take(const Value& value, const Place& place, T& out, Error& error);

template <std::integral T>
bool take_integral(const Value& value, T& out) {
  std::uint64_t bits = 0;
  if (!take_integer(value, static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                    static_cast<std::uint64_t>(std::numeric_limits<T>::max()), bits))
    return false;
  out = static_cast<T>(bits);
  return true;
}

template <class T>
bool take_vector(const Value& value, const Place& place, std::vector<T>& out, Error& error) {
  const std::size_t size = size_of(value);
  if (!may_hold(place, size * sizeof(T), error)) return false;
  out.clear();
  out.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    T item{};
    if (!take(element_of(value, i), Place{&place, {}, i}, item, error)) return false;
    out.push_back(std::move(item));
  }
  return true;
}

template <class T>
bool take_map(const Value& value, const Place& place, std::map<std::string, T>& out, Error& error) {
  struct Context {
    const Place& place;
    std::map<std::string, T>& out;
    Error& error;
  } context{place, out, error};
  if (!may_hold(place, size_of(value) * sizeof(std::pair<std::string, T>), error)) return false;
  out.clear();
  return each_member(
      value,
      [](void* opaque, const std::string& key, const Value& member) {
        auto& into = *static_cast<Context*>(opaque);
        T item{};
        if (!take(member, Place{&into.place, key}, item, into.error)) return false;
        into.out.emplace(cleaned(key), std::move(item));
        return true;
      },
      &context);
}

// One instantiation per type, shared by all structs that have a member of it.
template <class T>
bool take_any(const Value& value, const Place& place, void* out, Error& error) {
  return take(value, place, *static_cast<T*>(out), error);
}

template <class T>
bool take_record(const Value& value, const Place& place, T& out, Error& error) {
  RecordReader reader{value, place, error};
  T::fields([&](std::string_view name, auto member) {
    using Member = std::remove_cvref_t<decltype(out.*member)>;
    reader.member(name, &(out.*member), take_any<Member>);
  });
  return reader.good;
}

template <class T>
bool take_reading(const Value& value, const Place& place, Reading<T>& out, Error& error) {
  std::string from;
  if (!take_from(value, place, from, error)) return false;
  if (const Value* found = member_of(value, "value")) {
    T read{};
    if (!take(*found, Place{&place, "value"}, read, error)) return false;
    out = Reading<T>(std::move(read), std::move(from));
    return true;
  }
  Miss miss;
  if (!take_miss(value, place, miss, error)) return false;
  out = Reading<T>(std::move(miss), std::move(from));
  return true;
}

inline bool wrong(const Place& place, std::string_view what, Error& error) {
  error = expected(place, what);
  return false;
}

template <class T>
bool take(const Value& value, const Place& place, T& out, Error& error) {
  if constexpr (std::same_as<T, Value>) {
    out = value;
    return true;
  } else if constexpr (std::same_as<T, bool>) {
    const bool* const found = as_bool(value);
    if (found != nullptr) out = *found;
    return found != nullptr || wrong(place, "true or false", error);
  } else if constexpr (std::integral<T>) {
    return take_integral(value, out) || wrong(place, "an integer in range", error);
  } else if constexpr (std::floating_point<T>) {
    double number = 0;
    if (!take_number(value, number)) return wrong(place, "a number", error);
    out = static_cast<T>(number);
    return true;
  } else if constexpr (std::same_as<T, std::string>) {
    return take_text(value, out) || wrong(place, "a string", error);
  } else if constexpr (std::same_as<T, Lines>) {
    return take_lines(value, out.text) || wrong(place, "a string", error);
  } else if constexpr (std::same_as<T, BitRate>) {
    return take_number(value, out.bits_per_second) || wrong(place, "a number of bits per second", error);
  } else if constexpr (std::same_as<T, Nanoseconds>) {
    double number = 0;
    if (!take_number(value, number)) return wrong(place, "a number of nanoseconds", error);
    out = Nanoseconds{number};
    return true;
  } else if constexpr (std::same_as<T, ByteCount>) {
    return take_integral(value, out.bytes) || wrong(place, "an integer in range", error);
  } else if constexpr (kIsOptional<T>) {
    out.reset();
    return is_null(value) || take(value, place, out.emplace(), error);
  } else if constexpr (kIsVector<T>) {
    return is_array(value) ? take_vector(value, place, out, error) : wrong(place, "an array", error);
  } else if constexpr (kIsMap<T>) {
    return is_object(value) ? take_map(value, place, out, error) : wrong(place, "an object", error);
  } else if constexpr (kIsReading<T>) {
    return is_object(value) ? take_reading(value, place, out, error) : wrong(place, "a reading", error);
  } else if constexpr (NamedEnum<T>) {
    static constexpr auto names = enum_names(T{});
    const auto position = position_of(value, names.data(), names.size());
    if (position) out = static_cast<T>(*position);
    return position.has_value() || wrong(place, "one of the known words", error);
  } else if constexpr (Textual<T>) {
    if (const std::string* const text = as_text(value))
      if (auto parsed = T::parse(*text)) {
        out = *parsed;
        return true;
      }
    if constexpr (requires { T::kExpected; }) return wrong(place, T::kExpected, error);
    return wrong(place, "an address", error);
  } else {
    static_assert(Record<T>, "list the fields of the struct: FIELDS(), base/fields.h");
    return is_object(value) ? take_record(value, place, out, error) : wrong(place, "an object", error);
  }
}

}  // namespace detail

// Returns the JSON value of `item`: a struct becomes an object with its fields in order, an enumerator its
// name, an empty optional null, and a Reading either {"value", "from"} or {"missing", "why", "from"}.
template <class T>
Value encode(const T& item);

namespace detail {
template <class T>
Value encode_any(const void* item) {
  return encode(*static_cast<const T*>(item));
}
}  // namespace detail

template <class T>
Value encode(const T& item) {
  using namespace detail;
  if constexpr (std::same_as<T, Value>) {
    return item;
  } else if constexpr (std::same_as<T, bool>) {
    return from_bool(item);
  } else if constexpr (std::signed_integral<T>) {
    return from_signed(item);
  } else if constexpr (std::integral<T>) {
    return from_unsigned(item);
  } else if constexpr (std::floating_point<T>) {
    return from_double(item);
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    return from_text(item);
  } else if constexpr (std::same_as<T, Lines>) {
    return encode(item.text);
  } else if constexpr (std::same_as<T, BitRate>) {
    return from_double(item.bits_per_second);
  } else if constexpr (std::same_as<T, Nanoseconds>) {
    return from_double(item.count());
  } else if constexpr (std::same_as<T, ByteCount>) {
    return from_unsigned(item.bytes);
  } else if constexpr (kIsOptional<T>) {
    return item ? encode(*item) : Value();
  } else if constexpr (kIsMap<T>) {
    Value object = new_object();
    for (const auto& [key, element] : item) append_member(object, key, encode(element));
    return object;
  } else if constexpr (std::ranges::input_range<const T>) {
    Value array = new_array();
    for (const auto& element : item) append(array, encode(element));
    return array;
  } else if constexpr (kIsReading<T>) {
    Value object = new_object();
    if (item.ok()) {
      append_member(object, "value", encode(item.value()));
    } else {
      append_member(object, "missing", encode(item.miss().missing));
      append_member(object, "why", from_text(item.miss().why));
    }
    append_member(object, "from", from_text(item.from()));
    return object;
  } else if constexpr (NamedEnum<T>) {
    return from_text(enum_names(item)[static_cast<std::size_t>(item)]);
  } else if constexpr (Textual<T>) {
    return from_text(item.to_text());
  } else {
    static_assert(Record<T>, "list the fields of the struct: FIELDS(), base/fields.h");
    std::size_t count = 0;
    T::fields([&](std::string_view, auto) { ++count; });
    RecordWriter writer{new_object(count)};
    T::fields([&](std::string_view name, auto member) {
      using Member = std::remove_cvref_t<decltype(item.*member)>;
      writer.member(name, &(item.*member), encode_any<Member>);
    });
    return std::move(writer.object);
  }
}

// Returns the T that `value` describes; kBadInput, with the place in the document, if a type does not match.
template <class T>
Result<T> decode(const Value& value) {
  T item{};
  Error error;
  if (!detail::take(value, detail::Place{}, item, error)) return tl::unexpected<Error>(std::move(error));
  return item;
}

// Parses and decodes JSON text.
template <class T>
Result<T> read(std::string_view text) {
  auto value = parse(text);
  if (!value) return tl::unexpected<Error>(std::move(value.error()));
  return decode<T>(*value);
}

}  // namespace railbed::json
