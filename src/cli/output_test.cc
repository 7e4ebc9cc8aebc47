#include "cli/output.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace railbed {
namespace {

TEST(Output, AsciiHasALikenessOfWhatRailbedPrints) {
  EXPECT_EQ(as_ascii("1.2 µs → gpu02 · 45 °C ± 2 … ≥ 3"), "1.2 us -> gpu02 - 45 C +- 2 ... >= 3");
  EXPECT_EQ(as_ascii("名\xff"), "??");
}

TEST(Output, JsonKeepsItsCharactersAsEscapes) {
  EXPECT_EQ(as_ascii_json("\"a → b\""), R"("a \u2192 b")");
  EXPECT_EQ(as_ascii_json("\xF0\x9F\x98\x80"), R"(\ud83d\ude00)");
}

TEST(Output, LinesAreBrokenBetweenWords) {
  EXPECT_EQ(within_window("short\n", 20), "short\n");
  EXPECT_EQ(within_window("  one two three four five\n", 20), "  one two three four\n    five\n");
  EXPECT_EQ(within_window("name      value     12.3 Gb/s\n", 20), "name      value\n  12.3 Gb/s\n");
}

TEST(Output, LongWordsAndCommandsStayWhole) {
  const std::string word(30, 'x');
  EXPECT_EQ(within_window("a " + word + " b", 20), "a\n  " + word + "\n  b");
  EXPECT_EQ(within_window("    $ sudo ip link set dev eth1 up", 20), "    $ sudo ip link set dev eth1 up");
}

TEST(Output, ColoursTakeNoRoomAndCharactersTakeOne) {
  EXPECT_EQ(within_window("\033[31mFAIL\033[0m  gpu02 is ok µµ", 20), "\033[31mFAIL\033[0m  gpu02 is ok µµ");
}

TEST(Output, ProgressIsCut) {
  EXPECT_EQ(within_window("\r\x1b[Klooking at many nodes now", 20), "\r\x1b[Klooking at many no…");
}

TEST(Output, TheFirstVariableThatIsSetDecides) {
  unsetenv("LC_ALL");
  unsetenv("LC_CTYPE");
  unsetenv("LANG");
  EXPECT_FALSE(wants_ascii());
  setenv("LANG", "C", 1);
  EXPECT_TRUE(wants_ascii());
  setenv("LC_CTYPE", "de_DE.UTF-8", 1);
  EXPECT_FALSE(wants_ascii());
  setenv("LC_ALL", "POSIX", 1);
  EXPECT_TRUE(wants_ascii());
  unsetenv("LC_ALL");
  unsetenv("LC_CTYPE");
  unsetenv("LANG");
}

}  // namespace
}  // namespace railbed
