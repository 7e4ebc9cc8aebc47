#include "base/shell.h"

#include <algorithm>

#include "base/text.h"

namespace railbed {
namespace {

// Excludes "~", "#" and "{", which some shells interpret at the start of a word.
bool is_plain(char c) {
  constexpr std::string_view kOthers = "_@%+=:,./-";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(c) != std::string_view::npos;
}

std::string with_backslashes(std::string_view text, std::string_view special) {
  std::string escaped;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string shell_quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string shell_word(std::string_view text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, is_plain);
  return plain ? std::string(text) : shell_quote(text);
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

std::string printf_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '%')
      escaped += "%%";
    else if (c == '\\')
      escaped += "\\\\";
    else if (c == '\n')
      escaped += "\\n";
    else if (c == '\t')
      escaped += "\\t";
    else
      escaped += c;
  }
  return escaped;
}

// Escapes the special characters of a basic regular expression (POSIX, 9.3) and the pattern's delimiter.
std::string sed_pattern(std::string_view text) { return with_backslashes(text, "\\.[*^$/"); }
std::string sed_replacement(std::string_view text) { return with_backslashes(text, "\\&/"); }

// Builds one line from fixed text and parts; see command().
class ShellText {
 public:
  explicit ShellText(std::string_view format) : rest_(format) {}

  void add(const ShellPart& part) {
    const std::size_t place = rest_.find("{}");
    line_ += rest_.substr(0, place);
    has_names_ = has_names_ || part.has_names_;
    rest_.remove_prefix(place + 2);
    if (part.kind_ == ShellPart::Kind::kAsItIs) {
      made_comment_ = made_comment_ || part.names_.front().starts_with('#');
      line_ += part.names_.front();
      return;
    }
    for (std::size_t i = 0; i < part.names_.size(); ++i) {
      if (i > 0) line_ += ' ';
      if (part.kind_ == ShellPart::Kind::kWords) {
        line_ += shell_word(printable(part.names_[i]));
        continue;
      }
      add_name(printable(part.names_[i]), part.kind_ == ShellPart::Kind::kQuoted);
    }
  }

  ShellCommand finish() {
    line_ += rest_;
    if (why_not_.empty() && made_comment_ && !line_.starts_with('#')) return {"# " + line_, has_names_};
    return ShellCommand(why_not_.empty() ? std::move(line_) : "# " + why_not_ + ": " + line_, has_names_);
  }

 private:
  void add_name(std::string_view name, bool quoted) {
    const bool begins = line_.empty() || line_.back() == ' ';
    // zsh expands "=ls" to the path of ls.
    quoted = quoted || (begins && name.starts_with('='));
    const std::string word = quoted ? shell_quote(name) : shell_word(name);
    if (begins && name.starts_with('-') && line_.find(" -- ") == std::string::npos)
      why_not_ = word + " would be an option";
    if (line_.ends_with('/') && leaves_folder(name)) why_not_ = word + " would leave its folder";
    const bool whole = begins && (rest_.empty() || rest_.front() == ' ');
    if (whole || !name.empty()) line_ += word;
  }

  static bool leaves_folder(std::string_view name) {
    return std::ranges::any_of(split(name, '/'), [](std::string_view step) { return step == ".."; });
  }

  std::string line_;
  std::string_view rest_;
  std::string why_not_;
  bool has_names_ = false;
  bool made_comment_ = false;  // a part is a comment, because its names were refused
};

ShellCommand fill_command(std::string_view format, std::initializer_list<ShellPart> parts) {
  ShellText text(format);
  for (const ShellPart& part : parts) text.add(part);
  return text.finish();
}

}  // namespace railbed
