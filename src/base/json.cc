#include "base/json.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/bounded.h"
#include "base/text.h"

namespace railbed::json {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxMembers = 4096;
constexpr std::size_t kMaxValues = 1'000'000;  // each takes some fifty bytes in memory

constexpr std::size_t kMostDecoded = 32 << 20;  // bytes of structs: an empty object may become a large struct
constexpr std::size_t kLongestReason = 300;

// Strips nlohmann's prefix "[json.exception.parse_error.101] " and limits the length, because nlohmann quotes
// all of the text that it could not read. The remaining text is written for people.
std::string place_of(std::string_view what) {
  const auto end = what.find("] ");
  if (end != std::string_view::npos) what.remove_prefix(end + 2);
  return printable(cut_to(what, kLongestReason));
}

// Writes as \u escapes (RFC 8259, section 7) the characters that printable() would replace. The library
// escapes only the control characters of ASCII, but terminals obey others, too.
std::string escaped(std::string text) {
  std::string result;
  std::size_t kept = 0;  // bytes of `text` that are handled, in `result`
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

// The library's ordered map is a vector of pairs.
using Members = std::vector<std::pair<const std::string, Value>>;
Members& members_of(Value& object) { return object.get_ref<Value::object_t&>(); }

// Builds the value from the parser's events (the library's SAX interface) and stops at the first exceeded
// limit. The library's own builder searches all members of an object for each new one, which is quadratic,
// and builds a whole hostile document before it could be refused. This one appends members unchecked; at the
// end of an object it sorts their names once to find repeated ones. `open_` is the stack of unfinished
// objects and arrays.
class Builder {
 public:
  explicit Builder(Value& root) : root_(root) {}

  const std::string& why() const { return why_; }

  bool null() { return add(Value()); }
  bool boolean(bool value) { return add(Value(value)); }
  bool number_integer(Value::number_integer_t value) { return add(Value(value)); }
  bool number_unsigned(Value::number_unsigned_t value) { return add(Value(value)); }
  bool number_float(Value::number_float_t value, const std::string&) { return add(Value(value)); }
  bool string(std::string& value) { return add(Value(std::move(value))); }
  bool binary(Value::binary_t&) { return refuse("binary data"); }
  bool start_object(std::size_t) { return open(Value::object()); }
  bool start_array(std::size_t) { return open(Value::array()); }
  bool key(std::string& name) {
    Members& members = members_of(*open_.back());
    if (members.size() >= kMaxMembers) return refuse("JSON object with more than 4096 members");
    members.emplace_back(std::move(name), Value());
    return true;
  }
  bool end_object() {
    drop_repeated(members_of(*open_.back()));
    open_.pop_back();
    return true;
  }
  bool end_array() {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Value::exception& problem) {
    why_ = "not JSON: " + place_of(problem.what());
    return false;
  }

 private:
  bool refuse(std::string_view why) {
    why_ = why;
    return false;
  }

  // Stores a value behind the latest key, or at the end of the innermost array.
  bool add(Value&& value) {
    if (++values_ > kMaxValues) return refuse("JSON of more than a million values");
    last_ = &root_;
    if (open_.empty())
      root_ = std::move(value);
    else if (open_.back()->is_object())
      *(last_ = &members_of(*open_.back()).back().second) = std::move(value);
    else
      last_ = &open_.back()->get_ref<Value::array_t&>().emplace_back(std::move(value));
    return true;
  }

  bool open(Value&& value) {
    if (open_.size() >= kMaxDepth) return refuse("JSON nested deeper than 64 levels");
    if (!add(std::move(value))) return false;
    open_.push_back(last_);
    return true;
  }

  // If several members have one name, keeps the last value at the first one's position, as ECMA-262 and the
  // library do.
  void drop_repeated(Members& members) {
    order_.resize(members.size());
    std::iota(order_.begin(), order_.end(), 0);
    const auto name = [&](std::size_t at) -> const std::string& { return members[at].first; };
    std::ranges::sort(order_, [&](std::size_t a, std::size_t b) {
      const int compared = name(a).compare(name(b));
      return compared < 0 || (compared == 0 && a < b);
    });
    std::vector<bool> dropped;
    for (std::size_t first = 0, i = 1; i < order_.size(); ++i) {
      if (name(order_[i]) != name(order_[first])) {
        first = i;
        continue;
      }
      dropped.resize(members.size());
      dropped[order_[i]] = true;
      members[order_[first]].second = std::move(members[order_[i]].second);
    }
    if (dropped.empty()) return;
    Members kept;
    for (std::size_t i = 0; i < members.size(); ++i)
      if (!dropped[i]) kept.emplace_back(members[i].first, std::move(members[i].second));
    members.swap(kept);
  }

  Value& root_;
  std::vector<Value*> open_;  // unfinished objects and arrays, from the outermost
  Value* last_ = nullptr;     // the value added last
  std::vector<std::size_t> order_;
  std::size_t values_ = 0;
  std::string why_;
};

}  // namespace

Result<Value> parse(std::string_view text) {
  Value value;
  Builder builder(value);
  if (!Value::sax_parse(text, &builder)) return fail(ErrorKind::kBadInput, builder.why());
  return value;
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

bool may_hold(const Place& place, std::size_t bytes, Error& error) {
  const Place* root = &place;
  while (root->parent != nullptr) root = root->parent;
  if (bytes <= kMostDecoded - root->held) {
    root->held += bytes;
    return true;
  }
  error = {ErrorKind::kBadInput, "a document of too many parts: they would take more than 32 MiB"};
  return false;
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
Value new_object(std::size_t members) {
  Value object = Value::object();
  members_of(object).reserve(members);
  return object;
}
Value new_array() { return Value::array(); }

void append_member(Value& object, std::string_view key, Value&& member) {
  // The library's own emplace() would search for the key first.
  members_of(object).emplace_back(std::string(key), std::move(member));
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
  if (const std::string* const text = why == nullptr ? nullptr : as_text(*why))
    out.why = cleaned(cut_to(*text, kLongestReason));
  return true;
}

bool take_from(const Value& reading, const Place& place, std::string& out, Error& error) {
  const Value* const from = member_of(reading, "from");
  if (from == nullptr) return true;
  return take_text(*from, out) || wrong(place, "a reading whose from is a string", error);
}

}  // namespace detail
}  // namespace railbed::json
