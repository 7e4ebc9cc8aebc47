#include "base/toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace railbed {
namespace {

constexpr std::size_t kLargestToml = 1 << 20;
constexpr std::size_t kDeepestToml = 16;
constexpr std::size_t kMostTomlMembers = 1024;
constexpr std::size_t kMostTomlValues = 20'000;

using json::Value;
using TomlKey = std::vector<std::string>;

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// Returns the code point as UTF-8; nullopt if it is none.
std::optional<std::string> utf8_of(std::uint32_t code) {
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return std::nullopt;
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  if (code < 0x800) return std::string{static_cast<char>(0xC0 | (code >> 6)), tail(0)};
  if (code < 0x10000) return std::string{static_cast<char>(0xE0 | (code >> 12)), tail(6), tail(0)};
  return std::string{static_cast<char>(0xF0 | (code >> 18)), tail(12), tail(6), tail(0)};
}

// Returns the number without the underscores between its digits.
std::optional<Value> number_of(std::string_view word) {
  std::string digits;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (word[i] != '_')
      digits += word[i];
    else if (i == 0 || i + 1 == word.size() || word[i - 1] == '_')
      return std::nullopt;
  std::string_view text = digits;
  if (text.starts_with('+')) text.remove_prefix(1);
  for (const auto& [prefix, base] : {std::pair{"0x", 16}, std::pair{"0o", 8}, std::pair{"0b", 2}})
    if (text.starts_with(prefix)) {
      const auto number = parse_number<std::int64_t>(text.substr(2), base);
      return number && *number >= 0 ? std::optional<Value>(*number) : std::nullopt;
    }
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string_view::npos)
    return std::nullopt;
  if (text.find_first_of(".eE") == std::string_view::npos) {
    const auto number = parse_number<std::int64_t>(text);
    return number ? std::optional<Value>(*number) : std::nullopt;
  }
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Returns true if the word begins as a date (1979-05-27) or a time (07:32:00) does.
bool is_moment(std::string_view word) {
  const auto digits = [&](std::size_t from, std::size_t count) {
    return word.size() >= from + count &&
           word.substr(from, count).find_first_not_of("0123456789") == std::string_view::npos;
  };
  const bool date = digits(0, 4) && digits(5, 2) && digits(8, 2) && word[4] == '-' && word[7] == '-';
  return date || (digits(0, 2) && digits(3, 2) && word[2] == ':');
}

class TomlReader {
 public:
  explicit TomlReader(std::string_view text) : text_(text) {}

  Result<Value> read() {
    Value root = Value::object();
    Value* table = &root;
    while (skip_lines(), at_ < text_.size()) {
      const bool good = peek() == '[' ? read_header(root, table) : read_member(*table, 0);
      if (!good || !end_line())
        return fail(ErrorKind::kBadInput,
                    fmt::format("line {}: {}", line(), why_.empty() ? "no TOML" : why_));
    }
    return root;
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  bool refuse(std::string_view why) {
    if (why_.empty()) why_ = why;
    return false;
  }
  std::size_t line() const {
    return 1 + static_cast<std::size_t>(std::ranges::count(text_.substr(0, at_), '\n'));
  }

  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') ++at_;
  }
  // Skips blanks, comments and ends of lines.
  void skip_lines() {
    while (at_ < text_.size()) {
      skip_blanks();
      if (peek() == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (!take("\n") && !take("\r\n")) return;
    }
  }
  // Skips what may follow a statement on its line.
  bool end_line() {
    skip_blanks();
    if (peek() == '#') at_ = std::min(text_.find('\n', at_), text_.size());
    return at_ >= text_.size() || take("\n") || take("\r\n") || refuse("there is more on the line");
  }

  bool read_escape(std::string& text) {
    constexpr std::string_view kNames = "btnfr\"\\";
    constexpr std::string_view kMeant = "\b\t\n\f\r\"\\";
    const char name = peek();
    ++at_;
    if (const auto found = kNames.find(name); name != '\0' && found != std::string_view::npos) {
      text += kMeant[found];
      return true;
    }
    const std::size_t digits = name == 'u' ? 4 : name == 'U' ? 8 : 0;
    if (digits == 0 || at_ + digits > text_.size()) return refuse("an unknown escape in a text");
    const auto code = parse_number<std::uint32_t>(text_.substr(at_, digits), 16);
    const auto bytes = code ? utf8_of(*code) : std::nullopt;
    if (!bytes) return refuse("an escape in a text is no character");
    at_ += digits;
    text += *bytes;
    return true;
  }

  // Reads a text after its first quotes; `quotes` are one or three. Three span lines.
  bool read_text(std::string_view quotes, std::string& text) {
    const bool long_one = quotes.size() == 3;
    const bool literal = quotes.front() == '\'';
    if (long_one && !take("\n")) (void)take("\r\n");
    while (at_ < text_.size()) {
      if (take(quotes)) {
        // One or two quotes may stand before the last three.
        while (long_one && peek() == quotes.front()) text += text_[at_++];
        return true;
      }
      const char c = text_[at_];
      if (c == '\n' && !long_one) break;
      ++at_;
      if (c != '\\' || literal) {
        text += c;
      } else if (long_one && (peek() == '\n' || peek() == '\r' || peek() == ' ' || peek() == '\t')) {
        const std::size_t next = text_.find_first_not_of(" \t\r\n", at_);
        if (text_.substr(at_, next == std::string_view::npos ? next : next - at_).find('\n') ==
            std::string_view::npos)
          return refuse("an unknown escape in a text");
        at_ = std::min(next, text_.size());
      } else if (!read_escape(text)) {
        return false;
      }
    }
    return refuse("a text does not end");
  }

  bool read_key_part(std::string& part) {
    skip_blanks();
    if (take("\"")) return read_text("\"", part);
    if (take("'")) return read_text("'", part);
    while (is_bare(peek())) part += text_[at_++];
    return !part.empty() || refuse("a key is missing");
  }
  bool read_key(TomlKey& key) {
    do {
      if (key.size() >= kDeepestToml) return refuse("too deep");
      key.emplace_back();
      if (!read_key_part(key.back())) return false;
      skip_blanks();
    } while (take("."));
    return true;
  }

  // Returns the object below `table` that the key names, made where it is missing. In an array of tables it is the last.
  Value* table_at(Value& table, const TomlKey& key, std::size_t parts) {
    Value* at = &table;
    for (std::size_t i = 0; i < parts; ++i) {
      Value& next = (*at)[key[i]];
      if (next.is_null()) {
        next = Value::object();
        if (at->size() > kMostTomlMembers || ++values_ > kMostTomlValues)
          return refuse("too many values"), nullptr;
      }
      at = next.is_array() && !next.empty() ? &next.back() : &next;
      if (!at->is_object()) return refuse(key[i] + " is a value and a table"), nullptr;
    }
    return at;
  }

  bool read_header(Value& root, Value*& table) {
    const bool array = text_.substr(at_).starts_with("[[");
    at_ += array ? 2 : 1;
    TomlKey key;
    if (!read_key(key)) return false;
    skip_blanks();
    if (!take(array ? "]]" : "]")) return refuse("a header does not end");
    if (!array) return (table = table_at(root, key, key.size())) != nullptr;
    Value* const above = table_at(root, key, key.size() - 1);
    if (above == nullptr) return false;
    Value& all = (*above)[key.back()];
    if (all.is_null()) all = Value::array();
    if (!all.is_array()) return refuse(key.back() + " is a value and a table");
    if (above->size() > kMostTomlMembers || ++values_ > kMostTomlValues) return refuse("too many values");
    all.push_back(Value::object());
    table = &all.back();
    return table->is_object();
  }

  bool read_member(Value& table, std::size_t depth) {
    TomlKey key;
    if (!read_key(key)) return false;
    if (!take("=")) return refuse("a key without a value");
    Value value;
    if (!read_value(value, depth + key.size())) return false;
    Value* const above = table_at(table, key, key.size() - 1);
    if (above == nullptr) return false;
    if (above->contains(key.back())) return refuse(key.back() + " is given twice");
    if (above->size() >= kMostTomlMembers) return refuse("too many values");
    (*above)[key.back()] = std::move(value);
    return true;
  }

  bool read_array(Value& value, std::size_t depth) {
    value = Value::array();
    while (skip_lines(), !take("]")) {
      if (!read_value(value.emplace_back(), depth + 1)) return false;
      skip_lines();
      if (!take(",") && peek() != ']') return refuse("a list does not end");
    }
    return true;
  }

  bool read_inline_table(Value& value, std::size_t depth) {
    value = Value::object();
    skip_blanks();
    if (take("}")) return true;
    do {
      if (!read_member(value, depth + 1)) return false;
      skip_blanks();
    } while (take(","));
    return take("}") || refuse("a table in one line does not end");
  }

  bool read_word(Value& value) {
    const std::size_t begin = at_;
    const auto read = [&] {
      at_ = std::min(text_.find_first_of(" \t\r\n,]}#", at_), text_.size());
      return text_.substr(begin, at_ - begin);
    };
    std::string_view word = read();
    if (is_moment(word)) {
      if (word.size() == 10 && peek() == ' ' && peek(1) >= '0' && peek(1) <= '9') {
        ++at_;
        word = read();
      }
      value = std::string(word);
      return true;
    }
    if (word == "true" || word == "false") {
      value = word == "true";
      return true;
    }
    const std::string_view bare = word.substr(word.starts_with('+') || word.starts_with('-') ? 1 : 0);
    if (bare == "inf" || bare == "nan") {
      value = std::string(word);
      return true;
    }
    auto number = number_of(word);
    if (!number) return refuse("a value is neither text, number, date, true nor false");
    value = *std::move(number);
    return true;
  }

  bool read_value(Value& value, std::size_t depth) {
    if (depth > kDeepestToml) return refuse("too deep");
    if (++values_ > kMostTomlValues) return refuse("too many values");
    skip_blanks();
    if (take("[")) return read_array(value, depth);
    if (take("{")) return read_inline_table(value, depth);
    for (const std::string_view quotes : {"\"\"\"", "'''", "\"", "'"})
      if (take(quotes)) {
        std::string text;
        if (!read_text(quotes, text)) return false;
        value = std::move(text);
        return true;
      }
    return read_word(value);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t values_ = 0;
  std::string why_;
};

}  // namespace

Result<json::Value> parse_toml(std::string_view text) {
  if (text.size() > kLargestToml) return fail(ErrorKind::kBadInput, "larger than 1 MiB");
  auto value = TomlReader(text).read();
  // A key of a message is the file's.
  if (!value) return fail(ErrorKind::kBadInput, printable(value.error().text.substr(0, 200)));
  return value;
}

}  // namespace railbed
