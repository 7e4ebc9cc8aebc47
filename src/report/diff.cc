// The algorithm. Equal lines at both ends are set aside. For the rest, dynamic programming finds a longest
// common subsequence of lines: a table holds, for each pair of positions, the length of that of the texts
// from there on. A walk from its start then takes equal lines together and otherwise the step that keeps the
// longer rest. Time and memory grow with the product of both lengths. Files of settings are short, and their
// differences are shorter; beyond kLargestTable cells the rest is shown as replaced.
#include "report/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace railbed {
namespace {

constexpr std::size_t kAround = 3;
constexpr std::size_t kLargestTable = 4'000'000;

struct DiffLine {
  char mark = ' ';
  std::string_view text;
};
using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

void replace_all(const Lines& before, const Lines& after, std::vector<DiffLine>& diff) {
  for (const auto line : before) diff.push_back({'-', line});
  for (const auto line : after) diff.push_back({'+', line});
}

void align(const Lines& before, const Lines& after, std::vector<DiffLine>& diff) {
  const std::size_t width = after.size() + 1;
  if ((before.size() + 1) * width > kLargestTable) return replace_all(before, after, diff);
  // length[i][j]: length of the longest common subsequence of the lines from i on and from j on.
  std::vector<std::uint32_t> length((before.size() + 1) * width);
  for (std::size_t i = before.size(); i-- > 0;)
    for (std::size_t j = after.size(); j-- > 0;)
      length[i * width + j] = before[i] == after[j]
                                  ? length[(i + 1) * width + j + 1] + 1
                                  : std::max(length[(i + 1) * width + j], length[i * width + j + 1]);
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < before.size() || j < after.size()) {
    const bool both = i < before.size() && j < after.size();
    if (both && before[i] == after[j]) {
      diff.push_back({' ', before[i++]});
      ++j;
    } else if (j == after.size() || (both && length[(i + 1) * width + j] >= length[i * width + j + 1])) {
      diff.push_back({'-', before[i++]});
    } else {
      diff.push_back({'+', after[j++]});
    }
  }
}

std::vector<DiffLine> compare_lines(const Lines& before, const Lines& after) {
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t head = 0;
  while (head < shorter && before[head] == after[head]) ++head;
  std::size_t tail = 0;
  while (tail < shorter - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) ++tail;
  std::vector<DiffLine> diff;
  for (std::size_t i = 0; i < head; ++i) diff.push_back({' ', before[i]});
  align({before.begin() + head, before.end() - tail}, {after.begin() + head, after.end() - tail}, diff);
  for (std::size_t i = before.size() - tail; i < before.size(); ++i) diff.push_back({' ', before[i]});
  return diff;
}

// Returns the lines [first, last) as a hunk, with the numbers of its first lines in both texts.
std::string hunk_text(const std::vector<DiffLine>& diff, std::size_t first, std::size_t last) {
  const auto count = [&](std::size_t from, std::size_t to, char other) {
    return std::count_if(diff.begin() + from, diff.begin() + to,
                         [&](const DiffLine& line) { return line.mark != other; });
  };
  const auto before = count(first, last, '+');
  const auto after = count(first, last, '-');
  std::string text = fmt::format("@@ -{},{} +{},{} @@\n", count(0, first, '+') + (before > 0 ? 1 : 0), before,
                                 count(0, first, '-') + (after > 0 ? 1 : 0), after);
  for (std::size_t i = first; i < last; ++i)
    text += fmt::format("{}{}\n", diff[i].mark, printable(diff[i].text));
  return text;
}

}  // namespace

std::string unified_diff(std::string_view path, const std::optional<std::string>& before,
                         const std::optional<std::string>& after) {
  const auto lines = [](const std::optional<std::string>& file) { return file ? lines_of(*file) : Lines{}; };
  const std::vector<DiffLine> diff = compare_lines(lines(before), lines(after));
  std::string text = fmt::format("--- {}\n+++ {}\n", before ? path : "/dev/null", after ? path : "/dev/null");
  std::size_t at = 0;
  while (true) {
    while (at < diff.size() && diff[at].mark == ' ') ++at;
    if (at == diff.size()) return text;
    const std::size_t first = at - std::min(at, kAround);
    std::size_t last = at;  // one past the last difference of this hunk
    for (std::size_t i = at; i < diff.size() && i <= last + 2 * kAround; ++i)
      if (diff[i].mark != ' ') last = i + 1;
    text += hunk_text(diff, first, std::min(diff.size(), last + kAround));
    at = last;
  }
}

}  // namespace railbed
