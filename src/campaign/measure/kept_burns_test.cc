#include "campaign/measure/kept_burns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class KeptBurnsTest : public testing::Test {
 protected:
  void SetUp() override { setenv("XDG_STATE_HOME", folder_.c_str(), 1); }
  void TearDown() override {
    unsetenv("XDG_STATE_HOME");
    std::filesystem::remove_all(folder_);
  }
  static KeptBurn burn() {
    KeptBurn burn;
    burn.id = "0123abcd";
    burn.started = 1'790'000'000;
    burn.plan.seconds = 3600;
    burn.plan.keep = BurnKeep{burn.id, 600};
    burn.nodes = {{"gpu01", "gpu01", {0, 1}, true, ""},
                  {"gpu02", "localhost", {}, false, "no route to host"}};
    burn.command = "burn cluster.yaml --hours 1";
    return burn;
  }
  std::filesystem::path folder_ = testing::TempDir() + "kept-burns";
};

TEST_F(KeptBurnsTest, KeepsOneUntilItIsRemoved) {
  const auto files = KeptBurns::open();
  ASSERT_TRUE(files) << files.error().text;
  EXPECT_THAT(files->ids(), IsEmpty());
  ASSERT_TRUE(files->write(burn()));
  EXPECT_THAT(files->ids(), ElementsAre("0123abcd"));
  const auto read = files->read("0123abcd");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->plan.keep->unseen, 600);
  EXPECT_EQ(read->nodes[1].trouble, "no route to host");
  EXPECT_THAT(read->nodes[0].gpus, ElementsAre(0, 1));
  // A controller that is killed while it writes leaves this.
  const auto folder = folder_ / "railbed/burns";
  std::ofstream(folder / "0123abcd.json.5f00ba") << "{";
  std::ofstream(folder / "4567cdef.json") << "{}";
  files->remove("0123abcd");
  EXPECT_THAT(files->ids(), ElementsAre("4567cdef"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_FALSE(files->read("0123abcd"));
}

TEST_F(KeptBurnsTest, OneProcessFollows) {
  const auto files = KeptBurns::open();
  ASSERT_TRUE(files);
  {
    const Fd mine = files->lock("0123abcd");
    EXPECT_TRUE(mine);
    EXPECT_FALSE(files->lock("0123abcd"));
  }
  EXPECT_TRUE(files->lock("0123abcd"));
}

TEST_F(KeptBurnsTest, AnIdIsNeverAPath) {
  const auto files = KeptBurns::open();
  ASSERT_TRUE(files);
  for (const char* id : {"../run", "", "0123ABCD", "0123abcd0", "0123abc/"})
    EXPECT_THAT(files->read(id).error().text, HasSubstr("not the ID of a burn-in"));
}

TEST_F(KeptBurnsTest, ANewerFileIsRefusedAndStays) {
  const auto files = KeptBurns::open();
  ASSERT_TRUE(files);
  KeptBurn newer = burn();
  newer.version = 2;
  ASSERT_TRUE(files->write(newer));
  EXPECT_THAT(files->read("0123abcd").error().text, HasSubstr("a burn-in that goes on of version 2"));
  EXPECT_THAT(files->ids(), ElementsAre("0123abcd"));
}

TEST(HeldName, IsDifferentForEachNode) {
  EXPECT_EQ(held_name("0123abcd", 0), "0123abcd-0");
  EXPECT_NE(held_name("0123abcd", 1), held_name("0123abcd", 11));
}

}  // namespace
}  // namespace railbed
