// Quoting for a POSIX shell, and the command lines that railbed prints. People paste these lines into a root
// shell, while the names in them come from nodes, logs and files with untrusted content. So a ShellCommand
// can only be built from fixed text and parts that are quoted for their place.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace railbed {

// Returns `text` as one word of a POSIX shell, always between single quotes.
std::string shell_quote(std::string_view text);

// Returns `text` as one word of a POSIX shell, quoted only if a shell needs it: easier to read.
std::string shell_word(std::string_view text);

// Returns a command line that consists of these words, as a person would type it.
std::string shell_line(const std::vector<std::string>& words);

// A command line to print: either fixed text of this program, or the result of command() below. No other text
// can become one.
class ShellCommand {
 public:
  template <std::size_t kSize>
  ShellCommand(const char (&fixed)[kSize]) : text_(fixed) {}

  const std::string& text() const { return text_; }
  operator const std::string&() const { return text_; }
  operator std::string_view() const { return text_; }
  // Returns whether the text holds anything other than fixed text and numbers.
  bool has_names() const { return has_names_; }
  // Returns the rest of a command that begins with `start`; nullopt if it begins otherwise.
  std::optional<ShellCommand> after(std::string_view start) const {
    if (!text_.starts_with(start)) return std::nullopt;
    return ShellCommand(text_.substr(start.size()), has_names_);
  }
  template <std::convertible_to<std::string_view> Text>
  friend bool operator==(const ShellCommand& command, const Text& other) {
    return command.text_ == std::string_view(other);
  }

 private:
  friend class ShellText;
  ShellCommand(std::string text, bool has_names) : text_(std::move(text)), has_names_(has_names) {}
  std::string text_;
  bool has_names_ = false;
};

// A string literal of this program as a part of a command, for tables.
class ShellFixed {
 public:
  consteval ShellFixed(const char* text) : text_(text) {}
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

// One word, always in quotes, even if no shell needs them.
struct ShellQuoted {
  std::string text;
};

// A program with its options and arguments. A word that begins with "-" is not refused here, so the caller
// must check that none of the arguments acts as an option.
struct ShellWords {
  std::vector<std::string> words;
};

// The value for one {} of command().
class ShellPart {
 public:
  template <std::convertible_to<std::string_view> Text>
  ShellPart(const Text& name) : names_{std::string(std::string_view(name))} {}
  template <std::integral Number>
  ShellPart(Number number) : kind_(Kind::kAsItIs), names_{std::to_string(number)} {}
  ShellPart(const std::vector<std::string>& names) : names_(names) {}
  ShellPart(const ShellQuoted& name) : kind_(Kind::kQuoted), names_{name.text} {}
  ShellPart(const ShellWords& program) : kind_(Kind::kWords), names_(program.words) {}
  ShellPart(const ShellFixed& fixed) : kind_(Kind::kAsItIs), names_{std::string(fixed.text())} {}
  ShellPart(const ShellCommand& made)
      : kind_(Kind::kAsItIs), names_{made.text()}, has_names_(made.has_names()) {}

 private:
  friend class ShellText;
  enum class Kind { kName, kQuoted, kWords, kAsItIs };
  Kind kind_ = Kind::kName;
  std::vector<std::string> names_;
  bool has_names_ = kind_ != Kind::kAsItIs;
};

// Escape `text` for the program that reads it inside a word: as the format of printf(1), where it becomes one
// line, and as the pattern and the replacement of "s/…/…/" of sed(1).
std::string printf_text(std::string_view text);
std::string sed_pattern(std::string_view text);
std::string sed_replacement(std::string_view text);

// The fixed text of a command with `kParts` placeholders {}. None may be inside quotes, because a quoted name
// would end them. Checked at compile time.
template <std::size_t kParts>
class ShellFormat {
 public:
  consteval ShellFormat(const char* text) : text_(text) {
    if (places(text_) != kParts) throw "one {} for each part, and none between quotes";
  }
  std::string_view text() const { return text_; }

 private:
  static consteval std::size_t places(std::string_view text) {
    std::size_t found = 0;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (quote == 0 && (text[i] == '\'' || text[i] == '"' || text[i] == '`'))
        quote = text[i];
      else if (text[i] == quote)
        quote = 0;
      else if (text.substr(i, 2) == "{}")
        found += quote == 0 ? 1 : kParts + 1;
    }
    return found;
  }
  std::string_view text_;
};

// Replaces each {} of `format` with the next part. Use command() below, which checks their number.
ShellCommand fill_command(std::string_view format, std::initializer_list<ShellPart> parts);

// Builds a command from fixed text with one part for each {}:
//
//   command("ip link set {} mtu {}", interface, 9000)
//   command("echo {} > /sys/class/net/{}/mode", mode, interface)
//
// A name, whatever it holds, stays one word of the shell or a part of one, and is made printable. A list of
// names becomes one word per name, separated by spaces. Numbers and commands made earlier are inserted
// unchanged. Two kinds of names are refused: those that begin with "-" at the start of a word without an
// earlier " -- ", which would be options, and those with a ".." component after a "/", which would leave
// their folder. The whole line then becomes a comment that gives the reason.
template <class... Parts>
ShellCommand command(std::type_identity_t<ShellFormat<sizeof...(Parts)>> format, const Parts&... parts) {
  return fill_command(format.text(), {ShellPart(parts)...});
}

}  // namespace railbed
