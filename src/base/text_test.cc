#include "base/text.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace railbed {
namespace {

TEST(Text, TrimsSplitsAndCutsLines) {
  EXPECT_EQ(trim("  a b \n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(split("a,,b", ',').size(), 3u);
  EXPECT_EQ(words(" a\t b  ").size(), 2u);
  EXPECT_EQ(lines("a\r\nb\n"), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(lines("a\r\r\n\r\nb\r"), (std::vector<std::string_view>{"a", "", "b"}));
}

TEST(Text, ParsesWholeNumbersOnly) {
  EXPECT_EQ(parse_number<int>(" 42\n"), 42);
  EXPECT_EQ(parse_number<int>("0x1f", 16), 31);
  EXPECT_FALSE(parse_number<int>("42 N/A"));
  EXPECT_FALSE(parse_number<int>(""));
  EXPECT_FALSE(parse_number<std::uint8_t>("256"));
  EXPECT_EQ(parse_real("2.5"), 2.5);
}

TEST(Text, ParsesCpuLists) {
  EXPECT_EQ(parse_list("0-2,8"), (std::vector<int>{0, 1, 2, 8}));
  EXPECT_EQ(parse_list(""), std::vector<int>{});
  EXPECT_FALSE(parse_list("3-1"));
  EXPECT_FALSE(parse_list("0-99999999"));
  EXPECT_FALSE(parse_list("-2147483648-2147483647"));
}

TEST(Text, FindsTheWordThatWasMeant) {
  EXPECT_EQ(closest("raisl", {"rails", "nodes"}), "rails");
  EXPECT_FALSE(closest("quux", {"rails", "nodes"}));
  EXPECT_EQ(closest("tpc", {"tcp", "rdma"}), "tcp");
  EXPECT_EQ(closest("gpu", {"gpus"}), "gpus");
  EXPECT_FALSE(closest("ssh", {"sel", "fix"}));
}

TEST(Units, SpeakTheFieldsUnits) {
  EXPECT_EQ(to_text(BitRate::gigabits(38.46)), "38.5 Gb/s");
  EXPECT_EQ(to_text(BitRate{512e6}), "512 Mb/s");
  EXPECT_EQ(to_text(Nanoseconds(850)), "0.85 µs");
  EXPECT_EQ(to_text(Nanoseconds(21928)), "21.9 µs");
  EXPECT_EQ(to_text(Nanoseconds(1.2e6)), "1.20 ms");
  EXPECT_EQ(to_text(Nanoseconds(40)), "40.0 ns");
  EXPECT_EQ(to_text(ByteCount{65536}), "64 KiB");
  EXPECT_EQ(to_text(ByteCount{1000000}), "976.6 KiB");
  EXPECT_EQ(to_text(ByteCount{2}), "2 B");
}

TEST(Units, ReadWhatPeopleWrite) {
  for (const auto* text : {"40 Gb/s", "40Gb/s", "40G", "40Gbps", "40 Gbit/s", "40000M", "0.04T"})
    EXPECT_EQ(parse_bit_rate(text), BitRate::gigabits(40)) << text;
  for (const auto* text : {"40", "40 GB/s", "-40G", "G", "", "40 Gb/s each"})
    EXPECT_FALSE(parse_bit_rate(text)) << text;
  EXPECT_EQ(parse_byte_count("64 GiB"), ByteCount{64ull << 30});
  EXPECT_EQ(parse_byte_count("64K"), ByteCount{65536});
  EXPECT_EQ(parse_byte_count("64 GB"), ByteCount{64000000000});
  EXPECT_EQ(parse_byte_count("4096"), ByteCount{4096});
  EXPECT_EQ(parse_byte_count("1.5 TiB"), ByteCount{1649267441664});
  for (const auto* text : {"", "-1", "64 Gib", "1e999", "99999999999 TiB"})
    EXPECT_FALSE(parse_byte_count(text)) << text;
}

TEST(Text, DigitsAreDigitsAlone) {
  EXPECT_TRUE(is_digits("0"));
  EXPECT_TRUE(is_digits("0180"));
  for (const char* text : {"", " 1", "1 ", "+1", "-1", "1.0", "1\n", "0x1"})
    EXPECT_FALSE(is_digits(text)) << text;
}

TEST(Text, PrintableShowsNothingThatATerminalObeys) {
  EXPECT_EQ(printable("GPU 0\n漢\t\033[31m\xc2\x9b"), "GPU 0 漢 \xEF\xBF\xBD[31m\xEF\xBF\xBD");
  EXPECT_EQ(printable("gr\xf6\xdf", "?"), "gr??");
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable_lines("one\n\033[2Jtwo\r\n"), "one\n\xEF\xBF\xBD[2Jtwo \n");
  EXPECT_EQ(printable_lines("\n\n"), "\n\n");
  EXPECT_EQ(printable_lines(""), "");
  EXPECT_TRUE(is_plain_word("ens3f0np0", 15));
  for (const char* text : {"", "a b", "a\nb", "a\033b", "\xc3\xa9", "sixteen-letters-"})
    EXPECT_FALSE(is_plain_word(text, 15)) << text;
}

TEST(Text, CodePointsAreThoseOfTheStandard) {
  EXPECT_EQ(first_code_point("\xE2\x82\xAC rest").value, U'€');
  EXPECT_EQ(first_code_point("\xE2\x82\xAC rest").bytes, 3U);
  // Cut off, overlong, a surrogate, beyond the last one.
  for (const char* bad : {"\xE2\x82", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80"})
    EXPECT_EQ(first_code_point(bad).bytes, 0U);
}

TEST(Text, SecretsAreComparedWhole) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abd", "abc"));
  EXPECT_FALSE(same_secret("ab", "abc"));
  EXPECT_FALSE(same_secret("", "abc"));
}

}  // namespace
}  // namespace railbed
