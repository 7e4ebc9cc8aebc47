#include "inventory/amend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inventory/load.h"

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Expectations learnt() {
  Expectations expect;
  expect.gpus = 8;
  expect.driver = "570.86.10";
  expect.memory = ByteCount{2015ull << 30};
  return expect;
}

std::string amended(std::string_view text) {
  const auto result = add_expectations(text, "c.yaml", learnt(), "learnt today");
  EXPECT_TRUE(result) << (result ? "" : result.error().text);
  if (!result) return "";
  const auto again = add_expectations(result->text, "c.yaml", learnt(), "learnt tomorrow");
  EXPECT_TRUE(again && again->text == result->text && again->added.empty()) << "twice changes something";
  return result->text;
}

constexpr std::string_view kHead = "# our pod\nrailbed: 1\ncluster: pod   # since May\n";
constexpr std::string_view kTail = "nodes:\n  - gpu[01-04]  # rack 7\n";

TEST(AddExpectations, WritesABlockAboveTheNodesOfAFileThatHasNone) {
  EXPECT_EQ(amended(std::string(kHead) + "\n" + std::string(kTail)),
            std::string(kHead) +
                "\n# learnt today\nexpect:\n  gpus: 8\n  driver: 570.86.10\n  memory: 2015 GiB\n\n" +
                std::string(kTail));
}

TEST(AddExpectations, ContinuesABlockAndKeepsItsCommentsAndIndent) {
  EXPECT_EQ(amended(std::string(kHead) +
                    "expect:\n    gpus: 4  # two are lent\n    # tuned\n    governor: performance\n\n" +
                    std::string(kTail)),
            std::string(kHead) +
                "expect:\n    gpus: 4  # two are lent\n    # tuned\n    governor: performance\n"
                "    # learnt today\n    driver: 570.86.10\n    memory: 2015 GiB\n\n" +
                std::string(kTail));
}

TEST(AddExpectations, ContinuesAFlow) {
  EXPECT_EQ(
      amended(std::string(kHead) + "expect: {gpus: 8, kernel: \"a}b\"}  # {x}\n" + std::string(kTail)),
      std::string(kHead) +
          "# learnt today\nexpect: {gpus: 8, kernel: \"a}b\", driver: 570.86.10, memory: 2015 GiB}  # {x}\n" +
          std::string(kTail));
  EXPECT_EQ(amended(std::string(kHead) + "expect: {\n  gpus: 8,\n}\n" + std::string(kTail)),
            std::string(kHead) +
                "# learnt today\nexpect: {\n  gpus: 8, driver: 570.86.10, memory: 2015 GiB\n}\n" +
                std::string(kTail));
}

TEST(AddExpectations, WorksAtTheEndOfAFileWithoutALastNewline) {
  EXPECT_THAT(amended("railbed: 1\ncluster: c\nnodes: [a]\nexpect:\n  gpus: 8"),
              HasSubstr("  gpus: 8\n  # learnt today\n  driver: 570.86.10\n"));
}

TEST(AddExpectations, KeepsWhatTheFileSaysAndSaysSo) {
  const auto result = add_expectations(std::string(kHead) + "expect: {gpus: 4}\n" + std::string(kTail),
                                       "c.yaml", learnt(), "x");
  ASSERT_TRUE(result);
  EXPECT_THAT(result->kept, ElementsAre("gpus"));
  EXPECT_THAT(result->added, ElementsAre("driver: 570.86.10", "memory: 2015 GiB"));
}

TEST(AddExpectations, RefusesWhatItCannotAddToSafely) {
  EXPECT_FALSE(add_expectations("railbed: 1\ncluster: [", "c.yaml", learnt(), "x"));
  const auto inline_root =
      add_expectations("{railbed: 1, cluster: c, nodes: [a]}\n", "c.yaml", learnt(), "x");
  ASSERT_FALSE(inline_root);
  EXPECT_THAT(inline_root.error().text, HasSubstr("driver: 570.86.10"));
}

}  // namespace
}  // namespace railbed
