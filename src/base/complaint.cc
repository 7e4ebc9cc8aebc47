#include "base/complaint.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace railbed {
namespace {

// Longer lines are cut to this many bytes around the caret.
constexpr std::size_t kWindow = 100;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

// Replaces characters that could control the terminal. Tabs stay, because the caret's line repeats them.
std::string shown(std::string_view text) {
  std::string result;
  const auto pieces = split(text, '\t');
  for (std::size_t i = 0; i < pieces.size(); ++i) result += (i > 0 ? "\t" : "") + printable(pieces[i], "?");
  return result;
}

struct Line {
  std::size_t begin;
  std::size_t end;
};

Line line_around(std::string_view text, std::size_t offset) {
  const auto before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  Line line{before == std::string_view::npos ? 0 : before + 1,
            std::min(text.find('\n', offset), text.size())};
  if (line.end > line.begin && text[line.end - 1] == '\r') --line.end;
  return line;
}

// Returns the part of a long line to show: it begins at most kWindow / 2 before the caret, on a whole
// character.
Line window(std::string_view text, Line line, std::size_t offset) {
  if (line.end - line.begin <= kWindow) return line;
  Line part = line;
  if (offset > line.begin + kWindow / 2) part.begin = offset - kWindow / 2;
  part.end = std::min(line.end, part.begin + kWindow);
  while (part.begin > line.begin && continues_character(text[part.begin])) --part.begin;
  while (part.end < line.end && continues_character(text[part.end])) ++part.end;
  return part;
}

}  // namespace

std::size_t Complaints::line_of(Spot spot) const {
  const auto before = text_.substr(0, std::min(spot.offset, text_.size()));
  return static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
}

std::string Complaints::quoted(Spot spot) const {
  return '"' + printable(text_.substr(std::min(spot.offset, text_.size()), spot.length), "?") + '"';
}

std::string Complaints::rendered(const Complaint& complaint) const {
  const std::size_t offset = std::min(complaint.spot.offset, text_.size());
  const Line line = line_around(text_, offset);
  const std::size_t column = characters(text_.substr(line.begin, offset - line.begin)) + 1;
  const Line part = window(text_, line, offset);
  // A caret under a tab needs the same tab before it.
  std::string indent = part.begin > line.begin ? " " : "";
  for (const char c : text_.substr(part.begin, std::min(offset, part.end) - part.begin))
    if (!continues_character(c)) indent += c == '\t' ? '\t' : ' ';
  const std::size_t end = std::min(offset + complaint.spot.length, part.end);
  const std::size_t width = end > offset ? characters(text_.substr(offset, end - offset)) : 1;
  return fmt::format("{}:{}:{}: {}\n  {}{}{}\n  {}^{}", file_, line_of({offset}), column, complaint.message,
                     part.begin > line.begin ? "…" : "",
                     shown(text_.substr(part.begin, part.end - part.begin)), part.end < line.end ? "…" : "",
                     indent, std::string(std::max<std::size_t>(width, 1) - 1, '~'));
}

Error Complaints::to_error() const {
  std::vector<const Complaint*> sorted;
  for (const Complaint& complaint : found_) sorted.push_back(&complaint);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Complaint* a, const Complaint* b) { return a->spot.offset < b->spot.offset; });
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kShown); ++i)
    text += (i == 0 ? "" : "\n") + rendered(*sorted[i]);
  if (sorted.size() > kShown) text += fmt::format("\n… and {} more", sorted.size() - kShown);
  return {ErrorKind::kBadInput, std::move(text), {}, true};
}

}  // namespace railbed
