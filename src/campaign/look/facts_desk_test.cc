#include "campaign/look/facts_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using ::testing::HasSubstr;

TEST(FactsDesk, GivesEachNodesFactsOrWhyThereAreNone) {
  Facts facts;
  facts.system.os.hostname = {std::string("gpu2"), "/proc/sys/kernel/hostname"};
  FactsDesk desk(4);
  desk.read(1, facts_to_json(facts));
  desk.read(0, fail(ErrorKind::kTimeout, "gpu1: no answer"));
  desk.read(2, std::string("[1, 2"));
  const auto all = desk.take();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].error().text, "gpu1: no answer");
  EXPECT_EQ(*all[1]->system.os.hostname, "gpu2");
  EXPECT_THAT(all[2].error().text, HasSubstr("its facts make no sense"));
  EXPECT_EQ(all[3].error().kind, ErrorKind::kInternal);
}

TEST(FactsDesk, TakesMoreThanMayWait) {
  const std::string facts = facts_to_json(Facts());
  FactsDesk desk(200);
  std::vector<std::jthread> bringers;
  for (std::size_t from = 0; from < 200; from += 50)
    bringers.emplace_back([&, from] {
      for (std::size_t i = from; i < from + 50; ++i) desk.read(i, facts);
    });
  bringers.clear();
  for (const auto& one : desk.take()) EXPECT_TRUE(one);
}

}  // namespace
}  // namespace railbed
