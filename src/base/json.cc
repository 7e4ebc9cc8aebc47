#include "base/json.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace railbed::json {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxMembers = 4096;
constexpr std::size_t kMaxValues = 1'000'000;  // each takes some fifty bytes once it is parsed

std::string place_of(const std::string& what) {
  // nlohmann prefixes "[json.exception.parse_error.101] "; the rest is written for people.
  const auto end = what.find("] ");
  return end == std::string::npos ? what : what.substr(end + 2);
}

// The library escapes the control characters of ASCII alone. A terminal obeys others, too, and JSON can name
// each by its number (RFC 8259, section 7).
std::string escaped(std::string text) {
  std::string result;
  std::size_t kept = 0;  // of `text` in `result`
  for (std::size_t at = text.find_first_of("\x7F\xC2\xE2"); at != std::string::npos;) {
    const CodePoint next = first_code_point(std::string_view(text).substr(at));
    const std::size_t bytes = std::max<std::size_t>(next.bytes, 1);
    const std::string_view character = std::string_view(text).substr(at, bytes);
    if (printable(character) != character) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      result.append(text, kept, at - kept).append("\\u");
      for (int shift = 12; shift >= 0; shift -= 4) result += kDigits[(next.value >> shift) & 0xF];
      kept = at + bytes;
    }
    at = text.find_first_of("\x7F\xC2\xE2", at + bytes);
  }
  if (kept == 0) return text;
  return result.append(text, kept);
}

// By scanning, so that a hostile document is refused before anything recursive or quadratic sees it: an
// object keeps its members in order, and looks through all of them for each new one.
std::string_view unreasonable(std::string_view text) {
  std::array<std::size_t, kMaxDepth + 1> members{};
  std::size_t depth = 0;
  std::size_t values = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!in_string && (c == ',' || c == '[' || c == '{') && ++values > kMaxValues)
      return "JSON of more than a million values";
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return "JSON nested deeper than 64 levels";
      members[depth] = 0;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    } else if (c == ':' && ++members[depth] > kMaxMembers) {
      return "JSON object with more than 4096 members";
    }
  }
  return "";
}

}  // namespace

Result<Value> parse(std::string_view text) {
  if (const auto why = unreasonable(text); !why.empty()) return fail(ErrorKind::kBadInput, std::string(why));
  // The one place where the library may throw; it says where the text is wrong, which is worth keeping.
  try {
    return Value::parse(text);
  } catch (const Value::exception& problem) {
    return fail(ErrorKind::kBadInput, "not JSON: " + printable(place_of(problem.what())));
  }
}

std::string dump(const Value& value) {
  return escaped(value.dump(-1, ' ', false, Value::error_handler_t::replace));
}

std::string dump_pretty(const Value& value) {
  return escaped(value.dump(2, ' ', false, Value::error_handler_t::replace)) + "\n";
}

namespace detail {

std::string Place::to_text() const {
  if (parent == nullptr) return "";
  std::string text = parent->to_text();
  if (key.empty()) return text + "[" + std::to_string(index) + "]";
  return text.empty() ? std::string(key) : text + "." + std::string(key);
}

Error expected(const Place& place, std::string_view what) {
  const std::string where = printable(place.to_text());
  return {ErrorKind::kBadInput, (where.empty() ? "document" : where) + ": expected " + std::string(what)};
}

Value from_text(std::string_view text) { return Value(std::string(text)); }
Value from_bool(bool value) { return Value(value); }
Value from_signed(std::int64_t number) { return Value(number); }
Value from_unsigned(std::uint64_t number) { return Value(number); }
Value from_double(double number) { return Value(number); }
Value new_object() { return Value::object(); }
Value new_array() { return Value::array(); }

void append_member(Value& object, std::string_view key, Value&& member) {
  // The library's map is a vector of pairs; its own emplace() looks for the key first.
  using Members = std::vector<std::pair<const std::string, Value>>;
  static_cast<Members&>(object.get_ref<Value::object_t&>()).emplace_back(std::string(key), std::move(member));
}

void append(Value& array, Value&& element) { array.get_ref<Value::array_t&>().push_back(std::move(element)); }

const bool* as_bool(const Value& value) { return value.get_ptr<const Value::boolean_t*>(); }
const std::string* as_text(const Value& value) { return value.get_ptr<const Value::string_t*>(); }
std::string cleaned(const std::string& text) { return printable(text); }
bool take_text(const Value& value, std::string& out) {
  const std::string* const found = as_text(value);
  if (found != nullptr) out = cleaned(*found);
  return found != nullptr;
}
bool take_lines(const Value& value, std::string& out) {
  const std::string* const found = as_text(value);
  if (found != nullptr) out = printable_lines(*found);
  return found != nullptr;
}
bool is_array(const Value& value) { return value.is_array(); }
bool is_object(const Value& value) { return value.is_object(); }
bool is_null(const Value& value) { return value.is_null(); }
std::size_t size_of(const Value& value) { return value.size(); }
const Value& element_of(const Value& array, std::size_t index) { return array[index]; }

const Value* member_of(const Value& object, std::string_view key) {
  for (const auto& [name, member] : object.get_ref<const Value::object_t&>())
    if (name == key) return &member;
  return nullptr;
}

bool each_member(const Value& object, bool (*visit)(void*, const std::string&, const Value&), void* context) {
  for (const auto& [key, member] : object.get_ref<const Value::object_t&>())
    if (!visit(context, key, member)) return false;
  return true;
}

void RecordReader::member(std::string_view name, void* out,
                          bool (*take)(const Value&, const Place&, void* out, Error& error)) {
  const Value* const found = good ? member_of(object, name) : nullptr;
  if (found != nullptr) good = take(*found, Place{&place, name}, out, error);
}

void RecordWriter::member(std::string_view name, const void* item, Value (*encode)(const void* item)) {
  append_member(object, name, encode(item));
}

bool take_number(const Value& value, double& out) {
  if (!value.is_number()) return false;
  out = value.get<double>();
  return true;
}

bool take_integer(const Value& value, std::int64_t low, std::uint64_t high, std::uint64_t& bits) {
  if (const auto* const number = value.get_ptr<const Value::number_unsigned_t*>()) {
    bits = *number;
    return *number <= high;
  }
  if (const auto* const number = value.get_ptr<const Value::number_integer_t*>()) {
    bits = static_cast<std::uint64_t>(*number);
    return *number >= low && (*number < 0 || bits <= high);
  }
  return false;
}

std::optional<std::size_t> position_of(const Value& value, const std::string_view* names, std::size_t count) {
  const std::string* const text = as_text(value);
  for (std::size_t i = 0; text != nullptr && i < count; ++i)
    if (names[i] == *text) return i;
  return std::nullopt;
}

bool take_miss(const Value& reading, const Place& place, Miss& out, Error& error) {
  const Value* const missing = member_of(reading, "missing");
  if (missing == nullptr) return wrong(place, "a reading with value or missing", error);
  if (!take(*missing, Place{&place, "missing"}, out.missing, error)) return false;
  const Value* const why = member_of(reading, "why");
  if (why != nullptr) take_text(*why, out.why);
  return true;
}

bool take_from(const Value& reading, const Place& place, std::string& out, Error& error) {
  const Value* const from = member_of(reading, "from");
  if (from == nullptr) return true;
  return take_text(*from, out) || wrong(place, "a reading whose from is a string", error);
}

}  // namespace detail
}  // namespace railbed::json
