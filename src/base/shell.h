// Words as a POSIX shell has to read them, and the command lines that railbed prints for people: they paste
// them into a root shell, while the names within come from nodes, logs and files that anybody may have
// written.
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

// One word for a POSIX shell, between single quotes.
std::string shell_quote(std::string_view text);

// Likewise, without quotes where no shell needs them: for people to read.
std::string shell_word(std::string_view text);

// A command as a person would type it.
std::string shell_line(const std::vector<std::string>& words);

// A command line to print. It is fixed text of this program, or made by command() below: no other text
// becomes one.
class ShellCommand {
 public:
  template <std::size_t kSize>
  ShellCommand(const char (&fixed)[kSize]) : text_(fixed) {}

  const std::string& text() const { return text_; }
  operator const std::string&() const { return text_; }
  operator std::string_view() const { return text_; }
  // Something stands in it that is no fixed text and no number.
  bool has_names() const { return has_names_; }
  // The rest of a command that begins so, else nothing.
  std::optional<ShellCommand> after(std::string_view start) const {
    if (!text_.starts_with(start)) return std::nullopt;
    return ShellCommand(text_.substr(start.size()), has_names_);
  }
  template <std::convertible_to<std::string_view> Text>
  friend bool operator==(const ShellCommand& one, const Text& other) {
    return one.text_ == std::string_view(other);
  }

 private:
  friend class ShellText;
  ShellCommand(std::string text, bool has_names) : text_(std::move(text)), has_names_(has_names) {}
  std::string text_;
  bool has_names_ = false;
};

// Text of this program, for tables.
class ShellFixed {
 public:
  consteval ShellFixed(const char* text) : text_(text) {}
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

// One word, between quotes even where no shell needs them.
struct ShellQuoted {
  std::string text;
};

// A program with its options and arguments, where the arguments were checked: none of them is an option.
struct ShellWords {
  std::vector<std::string> words;
};

// What stands for one {} of command().
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

// Text as the program reads it that gets it within a word: in the format of printf(1), where it becomes one
// line, in the pattern and in the replacement of "s/…/…/" of sed(1).
std::string printf_text(std::string_view text);
std::string sed_pattern(std::string_view text);
std::string sed_replacement(std::string_view text);

// The fixed text of a command with so many {}: none of them between quotes, where a quoted name would end
// them. Checked when it is compiled.
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

ShellCommand fill_command(std::string_view format, std::initializer_list<ShellPart> parts);

// The command of that text, with a part for each {}:
//
//   command("ip link set {} mtu {}", interface, 9000)
//   command("echo {} > /sys/class/net/{}/mode", mode, interface)
//
// A name is one word of the shell, or part of one, whatever it holds; a list of names is one word each, with
// spaces between; a number and a command that was made before stand as they are. A name that would be an
// option because it begins with "-" where a word begins, or that would leave its folder by "..", makes the
// whole line a comment which says so.
template <class... Parts>
ShellCommand command(std::type_identity_t<ShellFormat<sizeof...(Parts)>> format, const Parts&... parts) {
  return fill_command(format.text(), {ShellPart(parts)...});
}

}  // namespace railbed
