#include "campaign/measure/storage_visits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(StorageVisits, GoToAllNodesOfAList) {
  const auto visits = find_storage_visits({"gpu[1-2]:/scratch", "gpu2,gpu7:/data"}, "");
  ASSERT_TRUE(visits);
  ASSERT_EQ(visits->nodes.size(), 3U);
  EXPECT_EQ(visits->nodes[1].target.name, "gpu2");
  EXPECT_THAT(visits->nodes[1].folders, ElementsAre("/scratch", "/data"));
  EXPECT_THAT(visits->nodes[2].folders, ElementsAre("/data"));
}

TEST(StorageVisits, TellWhichPartOfAListIsWrong) {
  EXPECT_THAT(find_storage_visits({"gpu[2-1]:/scratch"}, "").error().text,
              HasSubstr("gpu[2-1], character 5: the range 2-1 runs backwards"));
  EXPECT_THAT(find_storage_visits({"gpu1:scratch"}, "").error().text, HasSubstr("NODE:/absolute/DIR"));
}

}  // namespace
}  // namespace railbed
