#include "campaign/change/output_lines.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace railbed {
namespace {

std::string lines_of(std::initializer_list<std::string_view> pieces) {
  OutputLines cutter;
  std::string lines;
  for (const std::string_view piece : pieces) cutter.take(piece, lines);
  cutter.end(lines);
  return lines;
}

TEST(OutputLines, LinesAreWholeHoweverTheyCome) {
  EXPECT_EQ(lines_of({"a", "b\n", "\n", "c\nd"}), "ab\n\nc\nd\n");
  EXPECT_EQ(lines_of({}), "");
  OutputLines cutter;
  std::string lines;
  cutter.take("half", lines);
  EXPECT_EQ(lines, "");
}

TEST(OutputLines, ProgressBarsHaveALineEachTime) {
  EXPECT_EQ(lines_of({"\r 0%", "\r50%\r", "100%\r\nnext\r\n\nlast\n"}), " 0%\n50%\n100%\nnext\n\nlast\n");
}

TEST(OutputLines, LongLinesAreCutBetweenCharacters) {
  const std::string half(OutputLines::kLongest - 1, 'x');
  EXPECT_EQ(lines_of({half, "\xE2\x82\xAC", "y\n"}), half + "\n\xE2\x82\xACy\n");
  const std::string flood(10 * OutputLines::kLongest, 'z');
  for (const std::string_view line : lines(lines_of({flood}))) EXPECT_EQ(line.size(), OutputLines::kLongest);
  EXPECT_EQ(lines_of({std::string(2 * OutputLines::kLongest, '\x80')}).size(), 2 * OutputLines::kLongest + 3);
}

TEST(OutputLines, EscapeSequencesAreLeftOut) {
  EXPECT_EQ(lines_of({"\x1b[31mred\x1b[0m \x1b]0;title\x07plain\n"}), "red plain\n");
}

}  // namespace
}  // namespace railbed
