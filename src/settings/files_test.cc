#include "settings/files.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(Block, StandsAtTheEndOfAFileThatHasNone) {
  EXPECT_EQ(block_in("127.0.0.1 localhost\n"), std::nullopt);
  const std::string text = with_block("127.0.0.1 localhost", "10.0.0.1 gpu1\n");
  EXPECT_TRUE(text.starts_with("127.0.0.1 localhost\n# railbed begin")) << text;
  EXPECT_EQ(block_in(text), "10.0.0.1 gpu1\n");
}

TEST(Block, IsReplacedWhereItStands) {
  const std::string first = with_block("a\n", "one\n") + "b\n";
  const std::string second = with_block(first, "two\nthree\n");
  EXPECT_EQ(block_in(second), "two\nthree\n");
  EXPECT_TRUE(second.starts_with("a\n"));
  EXPECT_TRUE(second.ends_with("b\n"));
  EXPECT_EQ(with_block(second, ""), "a\nb\n");
}

TEST(Block, WithoutItsEndIsLeftAlone) {
  const std::string marked = with_block("", "one\n");
  const std::string cut = marked.substr(0, marked.find("one\n") + 4) + "somebody's\n";
  EXPECT_EQ(block_in(cut), std::nullopt);
  EXPECT_TRUE(with_block(cut, "two\n").starts_with(cut));
}

TEST(Seal, TellsWhoWroteAFileLast) {
  const std::string written = seal(std::string(kFileMark) + "key = 1\n");
  EXPECT_EQ(author_of(written, false), Author::kRailbed);
  EXPECT_EQ(author_of(written + "key = 2\n", false), Author::kEdited);
  EXPECT_EQ(author_of(std::string(kFileMark) + "key = 1\n", false),
            Author::kEdited);  // the digest was taken out
  EXPECT_EQ(author_of("key = 1\n", false), Author::kOther);
  EXPECT_EQ(seal("key = 1\n"), "key = 1\n");
}

TEST(Seal, TellsWhoWroteABlockLast) {
  const std::string written = with_block("a\n", "one\n") + "b\n";
  EXPECT_EQ(author_of(written, true), Author::kRailbed);
  EXPECT_EQ(author_of("somebody's\n" + written, true), Author::kRailbed);
  std::string edited = written;
  edited.replace(edited.find("one\n"), 4, "two\n");
  EXPECT_EQ(author_of(edited, true), Author::kEdited);
  EXPECT_EQ(author_of("a\n", true), Author::kRailbed);
}

// A person removed the second mark once: what stood below the first is not the new block's.
TEST(Block, BeginsAtTheLastFirstMark) {
  const std::string torn = std::string(kBlockBegin) + "x\n10.0.0.7 mine\n";
  const std::string once = with_block(torn, "10.0.0.1 a\n");
  EXPECT_EQ(with_block(once, "10.0.0.1 a\n"), once);
  EXPECT_EQ(with_block(once, ""), torn);
}

}  // namespace
}  // namespace railbed
