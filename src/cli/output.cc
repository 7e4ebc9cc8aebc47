#include "cli/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.h"
#include "report/escape.h"

namespace railbed {
namespace {

constexpr std::size_t kNarrowest = 20;  // columns; a narrower window has no room for words
constexpr std::size_t kMostIndent = 8;  // of a continuation
constexpr std::size_t kLongestCharacter = 4;

std::atomic<bool> lines_stay_whole = false;

struct Likeness {
  char32_t character;
  const char* ascii;
};
constexpr Likeness kLikenesses[] = {
    {0xA0, " "},    {0xB0, ""},       {0xB1, "+-"},    {0xB5, "u"},     {0xB7, "-"},     {0xD7, "x"},
    {0xF7, "/"},    {0x3B1, "alpha"}, {0x3B2, "beta"}, {0x3BC, "u"},    {0x2013, "-"},   {0x2014, "--"},
    {0x2018, "'"},  {0x2019, "'"},    {0x201C, "\""},  {0x201D, "\""},  {0x2026, "..."}, {0x2190, "<-"},
    {0x2191, "^"},  {0x2192, "->"},   {0x2193, "v"},   {0x2194, "<->"}, {0x2212, "-"},   {0x2264, "<="},
    {0x2265, ">="}, {0x2308, "["},    {0x2309, "]"},   {0x2581, "_"},   {0x2582, "."},   {0x2583, "-"},
    {0x2584, "="},  {0x2585, "+"},    {0x2586, "*"},   {0x2587, "%"},   {0x2588, "#"},   {0x2591, "."},
    {0x25B8, ">"},  {0x25BE, "v"},    {0x2713, "+"},   {0x2715, "x"},
};

template <class Replace>
std::string replaced(std::string_view text, Replace replace) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const CodePoint next = first_code_point(text);
    if (next.bytes == 1)
      result += text.front();
    else
      result += replace(next);
    text.remove_prefix(std::max<std::size_t>(next.bytes, 1));
  }
  return result;
}

// ---- breaking lines

std::size_t spaces_at(std::string_view text) { return std::min(text.find_first_not_of(' '), text.size()); }

// Returns the columns of a text without its color sequences (ECMA-48, 5.4), which take no room.
std::size_t shown_columns(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b') {
      shown += text[at];
      continue;
    }
    while (at + 1 < text.size() && (text[at] == '\x1b' || text[at] == '[' || text[at] < '@')) ++at;
  }
  return columns(shown);
}

// Breaks a line between words. The continuation is indented by two more than the line, at most kMostIndent
// and at most a quarter of the width.
std::string broken(std::string_view line, std::size_t width) {
  std::size_t used = spaces_at(line);
  const std::size_t hang = std::min({used + 2, kMostIndent, width / 4});
  std::string result(line.substr(0, used));
  line.remove_prefix(used);
  for (std::size_t gap = 0; !line.empty();) {
    const std::string_view word = line.substr(0, line.find(' '));
    const std::size_t wide = shown_columns(word);
    if (gap > 0 && used + gap + wide > width) {
      result += '\n' + std::string(hang, ' ');
      used = hang;
    } else {
      result.append(gap, ' ');
      used += gap;
    }
    result += word;
    used += wide;
    line.remove_prefix(word.size());
    gap = spaces_at(line);
    line.remove_prefix(gap);
  }
  return result;
}

std::string line_within(std::string_view line, std::size_t width) {
  if (shown_columns(line) <= width || line.substr(spaces_at(line)).starts_with("$ "))
    return std::string(line);
  if (!line.starts_with('\r')) return broken(line, width);
  constexpr std::string_view kErase = "\r\x1b[K";
  const std::size_t begin = line.starts_with(kErase) ? kErase.size() : 1;
  return std::string(line.substr(0, begin)) + shortened(line.substr(begin), width - 1);
}

// ---- the streams

// Returns the columns of the window behind `fd`; none if it is no terminal, does not report its width, or is
// too narrow.
std::optional<std::size_t> window_width(int fd) {
  if (isatty(fd) != 1) return std::nullopt;
  const char* const said = std::getenv("COLUMNS");
  std::optional<std::size_t> width = said != nullptr ? parse_number<std::size_t>(said) : std::nullopt;
  winsize size = {};
  if (!width && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) width = size.ws_col;
  return width && *width >= kNarrowest ? width : std::nullopt;
}

bool begins_json(std::string_view text) {
  return text.starts_with('{') || text.starts_with("[\n") || text.starts_with("[]") || text.starts_with("[{");
}

// Returns how many bytes at the end belong to a character that is not complete yet.
std::size_t unfinished(std::string_view text) {
  for (std::size_t back = 1; back < kLongestCharacter && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte >= 0xC0) return (byte >= 0xF0 ? 4U : byte >= 0xE0 ? 3U : 2U) > back ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}

// A stream behind stdout or stderr. Each write is adapted and goes to the descriptor at once, except for an
// incomplete character, which is held until its rest comes. The first write decides whether the output is
// JSON.
class Stream {
 public:
  Stream(int fd, bool ascii) : fd_(fd), ascii_(ascii), on_terminal_(isatty(fd) == 1) {}

  bool is_needed() const { return ascii_ || on_terminal_; }

  bool write(std::string_view text) {
    if (text.empty()) return true;
    if (!json_) json_ = begins_json(text);
    held_ += text;
    const std::size_t rest = unfinished(held_);
    std::string whole = held_.substr(0, held_.size() - rest);
    held_.erase(0, whole.size());
    if (ascii_) whole = *json_ ? as_ascii_json(whole) : as_ascii(whole);
    if (const auto width = window_width(fd_); width && !*json_ && !lines_stay_whole)
      whole = within_window(whole, *width);
    return put(whole);
  }

 private:
  // Writes all of the text. On failure errno is set, as with stdio.
  bool put(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t wrote = ::write(fd_, text.data(), text.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return true;
  }

  int fd_;
  bool ascii_;
  bool on_terminal_;
  std::optional<bool> json_;
  std::string held_;  // an incomplete character
};

ssize_t write_stream(void* cookie, const char* text, std::size_t bytes) {
  return static_cast<Stream*>(cookie)->write({text, bytes}) ? static_cast<ssize_t>(bytes) : 0;
}

// Replaces a stream, which glibc allows for stdout and stderr.
void adapt(FILE*& file, Stream& stream, int buffering) {
  FILE* const adapted =
      stream.is_needed() ? fopencookie(&stream, "w", {nullptr, write_stream, nullptr, nullptr}) : nullptr;
  if (adapted == nullptr) return;
  std::fflush(file);
  std::setvbuf(adapted, nullptr, buffering, BUFSIZ);
  file = adapted;
}

}  // namespace

bool wants_ascii() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      const std::string text = lower(value);
      return text.find("utf-8") == std::string::npos && text.find("utf8") == std::string::npos;
    }
  return false;
}

std::string as_ascii(std::string_view text) {
  return replaced(text, [](const CodePoint& point) {
    const auto* const found = std::ranges::find(kLikenesses, point.value, &Likeness::character);
    return std::string(point.bytes != 0 && found != std::end(kLikenesses) ? found->ascii : "?");
  });
}

std::string as_ascii_json(std::string_view text) {
  return replaced(text, [](const CodePoint& point) {
    if (point.bytes == 0) return std::string("\\ufffd");
    const auto value = static_cast<std::uint32_t>(point.value);
    if (value < 0x10000) return fmt::format("\\u{:04x}", value);
    const std::uint32_t above = value - 0x10000;  // a pair of surrogates (RFC 8259, section 7)
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (above >> 10), 0xDC00 + (above & 0x3FF));
  });
}

std::string within_window(std::string_view text, std::size_t width) {
  std::string result;
  bool first = true;
  for (const std::string_view line : split(text, '\n')) {
    if (!std::exchange(first, false)) result += '\n';
    result += line_within(line, width);
  }
  return result;
}

// stdio writes its last text after all destructors have run, so these two are never destroyed. They are
// reachable from here because the address sanitizer keeps a cookie where its search for leaks does not look.
void adapt_output() {
  static Stream& out = *new Stream(STDOUT_FILENO, wants_ascii());
  static Stream& error = *new Stream(STDERR_FILENO, wants_ascii());
  adapt(stdout, out, _IOLBF);
  adapt(stderr, error, _IONBF);
}

void keep_lines_whole() { lines_stay_whole = true; }

}  // namespace railbed
