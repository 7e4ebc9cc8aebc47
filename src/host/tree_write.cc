#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "host/tree.h"
#include "os/errno_name.h"

namespace railbed {
namespace {

// Printable UTF-8 with newlines and tabs; anything else is written as hex.
bool is_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const CodePoint next = first_code_point(bytes);
    const bool control =
        (next.value < 0x20 && next.value != '\n' && next.value != '\t') || next.value == 0x7f;
    if (next.bytes == 0 || control) return false;
    bytes.remove_prefix(next.bytes);
  }
  return true;
}

std::string escape(std::string_view path) {
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == '\\' || byte >= 0x7f)
      text += fmt::format("\\{:03o}", byte);
    else
      text.push_back(c);
  }
  return text;
}

// Returns "<<END", the content, and END: a word that no line of the content equals.
std::string block(std::string_view content) {
  std::string end = "END";
  const auto all = split(content, '\n');
  for (int i = 1; std::find(all.begin(), all.end(), end) != all.end(); ++i) end = fmt::format("END{}", i);
  return fmt::format("<<{}\n{}{}{}\n", end, content, content.empty() || content.ends_with('\n') ? "" : "\n",
                     end);
}

std::string file_text(std::string_view content) {
  if (!is_text(content)) {
    std::string hex = "= hex:";
    for (const char c : content) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return hex + "\n";
  }
  if (content.empty()) return "=\n";
  const auto newline = content.find('\n');
  const bool one_line = newline == std::string_view::npos || newline + 1 == content.size();
  if (!one_line || content.starts_with("hex:")) return block(content);
  return fmt::format("= {}\n", content.substr(0, newline));
}

std::string entry_text(const std::string& path, const TreeEntry& entry) {
  switch (entry.kind) {
    case TreeEntry::Kind::kFolder:
      return escape(path) + "/\n";
    case TreeEntry::Kind::kFile:
      return escape(path) + " " + file_text(entry.content);
    case TreeEntry::Kind::kLink:
      return fmt::format("{} -> {}\n", escape(path), escape(entry.content));
    case TreeEntry::Kind::kFailure:
      return fmt::format("{} ! {}\n", escape(path), error_name(entry.error));
  }
  return {};
}

// Returns the miss on one line, without the marks of the format: "<<" opens a block, " ! " ends a command's
// words.
std::string miss_text(const Miss& miss) {
  std::string why = miss.why;
  for (char& c : why)
    if (c == '\n' || c == '<' || c == '!') c = ' ';
  return fmt::format("! {}: {}\n", enum_names(miss.missing)[static_cast<std::size_t>(miss.missing)],
                     trim(why));
}

}  // namespace

std::string write_tree(const Tree& tree) {
  std::string text = "railbed-tree 1\n";
  tree.each([&](const std::string& path, const TreeEntry& entry) { text += entry_text(path, entry); });
  for (const auto& [words, output] : tree.commands) {
    text += "$ " + words + " ";
    if (!output)
      text += miss_text(output.miss());
    else
      text += (output->exit_code != 0 ? fmt::format("! {} ", output->exit_code) : "") + block(output->output);
  }
  for (const auto& [name, answer] : tree.calls)
    text += "@ " + name + " " + (answer ? block(*answer) : miss_text(answer.miss()));
  return text;
}

}  // namespace railbed
