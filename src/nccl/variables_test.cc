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
  for (const Variable& variable : all_variables()) {
    EXPECT_TRUE(variable.name.starts_with("NCCL_")) << variable.name;
    EXPECT_EQ(find_variable(variable.name), &variable);
  }
}

TEST(Variables, LiveInVersionsThatExist) {
  for (const Variable& variable : all_variables()) {
    EXPECT_GE(variable.since, (Version{2, 0, 5})) << variable.name;
    EXPECT_LE(variable.since, kNewestKnown) << variable.name;
    EXPECT_LE(variable.until, kNewestKnown) << variable.name;
    EXPECT_TRUE(variable.until == Version{} || variable.since < variable.until) << variable.name;
  }
}

TEST(Variables, ValuesFitTheirKind) {
  for (const Variable& variable : all_variables()) {
    EXPECT_EQ(variable.takes.kind == Kind::kInteger, variable.takes.low < variable.takes.high)
        << variable.name;
    EXPECT_EQ(variable.takes.kind == Kind::kWord, words(variable.takes.words).size() > 1) << variable.name;
  }
}

// An undocumented variable accepts anything; a variable that replaces another must exist.
TEST(Variables, MeaningsAndSuccessors) {
  for (const Variable& variable : all_variables()) {
    EXPECT_TRUE(!variable.meaning.empty() || variable.takes.kind == Kind::kText) << variable.name;
    EXPECT_TRUE(!variable.meaning.empty() || !variable.debugging) << variable.name;
    EXPECT_FALSE(variable.meaning.ends_with('.')) << variable.name;
    EXPECT_EQ(variable.meaning.find('\n'), variable.meaning.npos) << variable.name;
    if (variable.instead.empty()) continue;
    const Variable* const successor = find_variable(variable.instead);
    ASSERT_NE(successor, nullptr) << variable.name;
    EXPECT_EQ(successor->until, Version{}) << variable.name;
  }
}

}  // namespace
}  // namespace railbed::nccl
