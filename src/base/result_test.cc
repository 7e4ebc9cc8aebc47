#include "base/result.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(Error, SaysItsNodeOnce) {
  const Error once = at_node("gpu01", {ErrorKind::kTimeout, "no answer"});
  EXPECT_EQ(once.text, "gpu01: no answer");
  EXPECT_EQ(once.node, "gpu01");
  EXPECT_EQ(at_node("gpu01", once).text, "gpu01: no answer");
  const Error relayed = at_node("gpu02", once);
  EXPECT_EQ(relayed.text, "gpu02: gpu01: no answer");
  EXPECT_EQ(relayed.node, "gpu02");
}

TEST(Error, KeepsKindAndNodeWhenPassedOn) {
  const auto pass = []() -> Result<int> {
    const Result<std::string> inner = fail({ErrorKind::kCancelled, "gpu01: stopped", "gpu01"});
    return fail(inner.error(), "ask for GPUs");
  };
  const auto error = pass().error();
  EXPECT_EQ(error.kind, ErrorKind::kCancelled);
  EXPECT_EQ(error.text, "ask for GPUs: gpu01: stopped");
  EXPECT_EQ(error.node, "gpu01");
}

}  // namespace
}  // namespace railbed
