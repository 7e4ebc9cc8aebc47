#include "nccl/variables.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace railbed::nccl {
namespace {

TEST(Variables, SortedAndFound) {
  EXPECT_TRUE(std::ranges::is_sorted(all_variables(), {}, &Variable::name));
  EXPECT_EQ(std::ranges::adjacent_find(all_variables(), {}, &Variable::name), all_variables().end());
  ASSERT_NE(find_variable("NCCL_IB_HCA"), nullptr);
  EXPECT_EQ(find_variable("NCCL_IB_HC"), nullptr);
  for (const Variable& one : all_variables()) {
    EXPECT_TRUE(one.name.starts_with("NCCL_")) << one.name;
    EXPECT_EQ(find_variable(one.name), &one);
  }
}

TEST(Variables, LiveInVersionsThatExist) {
  for (const Variable& one : all_variables()) {
    EXPECT_GE(one.since, (Version{2, 0, 5})) << one.name;
    EXPECT_LE(one.since, kNewestKnown) << one.name;
    EXPECT_LE(one.until, kNewestKnown) << one.name;
    EXPECT_TRUE(one.until == Version{} || one.since < one.until) << one.name;
  }
}

TEST(Variables, ValuesFitTheirKind) {
  for (const Variable& one : all_variables()) {
    EXPECT_EQ(one.takes.kind == Kind::kInteger, one.takes.low < one.takes.high) << one.name;
    EXPECT_EQ(one.takes.kind == Kind::kWord, words(one.takes.words).size() > 1) << one.name;
  }
}

// An undocumented variable accepts anything; a variable that replaces another must exist.
TEST(Variables, MeaningsAndSuccessors) {
  for (const Variable& one : all_variables()) {
    EXPECT_TRUE(!one.meaning.empty() || one.takes.kind == Kind::kText) << one.name;
    EXPECT_TRUE(!one.meaning.empty() || !one.debugging) << one.name;
    EXPECT_FALSE(one.meaning.ends_with('.')) << one.name;
    EXPECT_EQ(one.meaning.find('\n'), one.meaning.npos) << one.name;
    if (one.instead.empty()) continue;
    const Variable* const successor = find_variable(one.instead);
    ASSERT_NE(successor, nullptr) << one.name;
    EXPECT_EQ(successor->until, Version{}) << one.name;
  }
}

}  // namespace
}  // namespace railbed::nccl
