#include "report/hostlist.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(Hostlist, FoldsRunsOfNumbers) {
  EXPECT_EQ(fold_hosts({"gpu003", "gpu001", "gpu002", "gpu007"}), "gpu[001-003,007]");
  EXPECT_EQ(fold_hosts({"vm1"}), "vm1");
  EXPECT_EQ(fold_hosts({"vm1", "vm1"}), "vm1");
  EXPECT_EQ(fold_hosts({}), "");
}

TEST(Hostlist, FoldsByTheLastNumberOnly) {
  EXPECT_EQ(fold_hosts({"rack1-n01.ib", "rack1-n02.ib", "rack2-n01.ib"}), "rack1-n[01-02].ib, rack2-n01.ib");
}

TEST(Hostlist, KeepsNamesThatHaveNoNumberOrOneTooLong) {
  EXPECT_EQ(fold_hosts({"login", "head", "n9999999999999999999999"}), "login, head, n9999999999999999999999");
}

TEST(Hostlist, KeepsLeadingZeros) { EXPECT_EQ(fold_hosts({"n9", "n09", "n10"}), "n9, n[09-10]"); }

}  // namespace
}  // namespace railbed
