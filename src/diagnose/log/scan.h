// Reads words and numbers from the front of a text, for the formats of NCCL's messages. Each function
// advances past what it read.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace railbed::diagnose {

class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  // Skips `words` if the text begins with them; otherwise returns false.
  bool take(std::string_view words) {
    if (!text_.starts_with(words)) return false;
    text_.remove_prefix(words.size());
    return true;
  }
  // Moves past the next occurrence of `words`. If there is none, stays and returns false.
  bool skip_past(std::string_view words) {
    const std::size_t at = text_.find(words);
    if (at == std::string_view::npos) return false;
    text_.remove_prefix(at + words.size());
    return true;
  }
  template <class T = int>
  std::optional<T> number(int base = 10) {
    T value{};
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value, base);
    if (error != std::errc()) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }
  std::optional<double> real() {
    double value{};
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }
  // Returns the text up to the next of `stops` or the end. The stop itself remains.
  std::string_view until(std::string_view stops) {
    const std::string_view word = text_.substr(0, text_.find_first_of(stops));
    text_.remove_prefix(word.size());
    return word;
  }
  std::string_view rest() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  std::string_view text_;
};

inline bool has_text(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

// Returns the number that follows `words` somewhere in `text`: number_after("… rank 3 nranks 8", " nranks ")
// is 8.
template <class T = int>
std::optional<T> number_after(std::string_view text, std::string_view words, int base = 10) {
  Scan scan(text);
  if (!scan.skip_past(words)) return std::nullopt;
  return scan.number<T>(base);
}
inline std::optional<double> real_after(std::string_view text, std::string_view words) {
  Scan scan(text);
  if (!scan.skip_past(words)) return std::nullopt;
  return scan.real();
}
// Returns the word (up to a space or comma) that follows `words`; empty if they do not occur.
inline std::string_view word_after(std::string_view text, std::string_view words) {
  Scan scan(text);
  if (!scan.skip_past(words)) return {};
  return scan.until(" ,");
}

}  // namespace railbed::diagnose
