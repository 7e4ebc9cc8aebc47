#include "base/json.h"

#include <array>

namespace railbed::json {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxMembers = 4096;

std::string place_of(const std::string& what) {
  // nlohmann prefixes "[json.exception.parse_error.101] "; the rest is written for people.
  const auto end = what.find("] ");
  return end == std::string::npos ? what : what.substr(end + 2);
}

// By scanning, so that a hostile document is refused before anything recursive or quadratic sees it: an
// object keeps its members in order, and looks through all of them for each new one.
std::string_view unreasonable(std::string_view text) {
  std::array<std::size_t, kMaxDepth + 1> members{};
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
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
    return fail(ErrorKind::kBadInput, "not JSON: " + place_of(problem.what()));
  }
}

std::string dump(const Value& value) { return value.dump(-1, ' ', false, Value::error_handler_t::replace); }

std::string dump_pretty(const Value& value) {
  return value.dump(2, ' ', false, Value::error_handler_t::replace) + "\n";
}

namespace detail {

std::string Place::to_text() const {
  if (parent == nullptr) return "";
  std::string text = parent->to_text();
  if (key.empty()) return text + "[" + std::to_string(index) + "]";
  return text.empty() ? std::string(key) : text + "." + std::string(key);
}

tl::unexpected<Error> expected(const Place& place, std::string_view what) {
  const std::string where = place.to_text();
  return fail(ErrorKind::kBadInput, (where.empty() ? "document" : where) + ": expected " + std::string(what));
}

}  // namespace detail
}  // namespace railbed::json
