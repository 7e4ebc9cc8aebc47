#include "bmc/console.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

using Steps = std::vector<ConsoleKeys::Step>;
using Wish = ConsoleKeys::Wish;

TEST(ConsoleKeys, ATildeEscapesAtTheBeginningOfALineAlone) {
  ConsoleKeys keys;
  EXPECT_EQ(keys.feed("ls ~/x\r"), (Steps{{Wish::kType, "ls ~/x\r"}}));
  EXPECT_EQ(keys.feed("~."), (Steps{{Wish::kLeave}}));
}

TEST(ConsoleKeys, WishesComeInPiecesAndInOrder) {
  ConsoleKeys keys;
  EXPECT_EQ(keys.feed("~"), Steps{});
  EXPECT_EQ(keys.feed("B"), (Steps{{Wish::kBreak}}));
  EXPECT_EQ(keys.feed("a\n~?b"), (Steps{{Wish::kType, "a\n"}, {Wish::kHelp}, {Wish::kType, "b"}}));
}

TEST(ConsoleKeys, TwoTildesAreOneAndAnotherKeyIsKept) {
  ConsoleKeys keys;
  EXPECT_EQ(keys.feed("~~"), (Steps{{Wish::kType, "~"}}));
  EXPECT_EQ(keys.feed("\r~x"), (Steps{{Wish::kType, "\r~x"}}));
}

}  // namespace
}  // namespace railbed
