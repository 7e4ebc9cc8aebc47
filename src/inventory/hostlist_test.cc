#include "inventory/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using testing::ElementsAre;

std::vector<std::string> names(std::string_view pattern) {
  const auto expanded = expand_hostlist(pattern, 1000);
  EXPECT_TRUE(expanded) << expanded.error().text;
  return expanded.value_or(std::vector<std::string>{});
}

// "message @offset+length"
std::string complaint(std::string_view pattern) {
  const auto expanded = expand_hostlist(pattern, 1000);
  if (expanded) return "fine";
  const HostlistError& error = expanded.error();
  return error.text + " @" + std::to_string(error.offset) + "+" + std::to_string(error.length);
}

TEST(Hostlist, ExpandsRanges) {
  EXPECT_THAT(names("gpu7"), ElementsAre("gpu7"));
  EXPECT_THAT(names("gpu[08-11]"), ElementsAre("gpu08", "gpu09", "gpu10", "gpu11"));
  EXPECT_THAT(names("gpu[8-10]"), ElementsAre("gpu8", "gpu9", "gpu10"));
  EXPECT_THAT(names("gpu[1-3,7].lab"), ElementsAre("gpu1.lab", "gpu2.lab", "gpu3.lab", "gpu7.lab"));
  EXPECT_THAT(names("r[1-2]n[01-02]"), ElementsAre("r1n01", "r1n02", "r2n01", "r2n02"));
  EXPECT_THAT(names("[1-2]"), ElementsAre("1", "2"));
}

TEST(Hostlist, SaysWhichPartIsWrong) {
  EXPECT_EQ(complaint("gpu[64-01]"), "the range 64-01 runs backwards @4+5");
  EXPECT_EQ(complaint("gpu[1-4,x]"), "\"x\" is neither a number nor a range like 01-64 @8+1");
  EXPECT_EQ(complaint("gpu[1-4,]"), "\"\" is neither a number nor a range like 01-64 @8+1");
  EXPECT_EQ(complaint("gpu[1-2-3]"), "\"1-2-3\" is neither a number nor a range like 01-64 @4+5");
  EXPECT_EQ(complaint("gpu[1-4"), "\"[\" without its \"]\" @3+1");
  EXPECT_EQ(complaint("gpu1-4]"), "\"]\" without a \"[\" before it @6+1");
  EXPECT_EQ(complaint("gpu[1-[2]]"), "\"[\" without its \"]\" @3+1");
  EXPECT_EQ(complaint("gpu[1-1001]"), "more than 1000 names @4+6");
  EXPECT_EQ(complaint("r[1-40]n[1-40]"), "more than 1000 names @8+6");
  EXPECT_EQ(complaint("gpu[1-99999999999999999999]"), "the number is too long @4+22");
}

std::vector<std::string> listed(std::string_view list) {
  const auto expanded = expand_hostlists(list, 1000);
  EXPECT_TRUE(expanded) << expanded.error().text;
  return expanded.value_or(std::vector<std::string>{});
}

std::string complaint_of_list(std::string_view list, std::size_t limit = 1000) {
  const auto expanded = expand_hostlists(list, limit);
  if (expanded) return "fine";
  const HostlistError& error = expanded.error();
  return error.text + " @" + std::to_string(error.offset) + "+" + std::to_string(error.length);
}

TEST(Hostlists, ExpandEachPatternInOrder) {
  EXPECT_THAT(listed("g1,g2"), ElementsAre("g1", "g2"));
  EXPECT_THAT(listed("g[01-03,7],nas"), ElementsAre("g01", "g02", "g03", "g7", "nas"));
  EXPECT_THAT(listed("b,a[2-3], r[1-2]n[1,3]"), ElementsAre("b", "a2", "a3", "r1n1", "r1n3", "r2n1", "r2n3"));
  EXPECT_THAT(listed(fold_hosts({"gpu1", "gpu2", "nas"})), ElementsAre("gpu1", "gpu2", "nas"));
}

TEST(Hostlists, NameThePartThatIsWrong) {
  EXPECT_EQ(complaint_of_list("g1,g[3-1]"), "the range 3-1 runs backwards @5+3");
  EXPECT_EQ(complaint_of_list("g1, g[3-1]"), "the range 3-1 runs backwards @6+3");
  EXPECT_EQ(complaint_of_list("g1,g[2,x]"), "\"x\" is neither a number nor a range like 01-64 @7+1");
  EXPECT_EQ(complaint_of_list("g1,g[2,3"), "\"[\" without its \"]\" @4+1");
  EXPECT_EQ(complaint_of_list(""), "a name is missing @0+1");
  EXPECT_EQ(complaint_of_list("g1,"), "a name is missing @3+1");
  EXPECT_EQ(complaint_of_list(",g1"), "a name is missing @0+1");
  EXPECT_EQ(complaint_of_list("g1,  ,g2"), "a name is missing @3+2");
}

TEST(Hostlists, HaveALimitForAllTheirPatterns) {
  EXPECT_EQ(complaint_of_list("g[1-2],h[1-2]", 4), "fine");
  EXPECT_EQ(complaint_of_list("g[1-2],h[1-3]", 4), "more than 4 names @7+6");
  EXPECT_EQ(complaint_of_list("g[1-4],h", 4), "more than 4 names @7+1");
  EXPECT_EQ(complaint_of_list("g," + std::string(300, 'a')), "a name of more than 255 characters @2+300");
}

TEST(NamedHosts, TakeEachWordOfACommandLine) {
  const auto names = named_hosts(std::vector<std::string>{"g[1-2],nas", "g7"});
  ASSERT_TRUE(names);
  EXPECT_THAT(*names, ElementsAre("g1", "g2", "nas", "g7"));
  EXPECT_THAT(*named_hosts(std::vector<std::string>{}), testing::IsEmpty());
}

TEST(NamedHosts, TellWhereAListIsWrong) {
  const auto told = [](const char* list) { return named_hosts(list).error().text; };
  EXPECT_EQ(told("gpu1,gpu[64-01]"), "gpu1,gpu[64-01], character 10: the range 64-01 runs backwards");
  EXPECT_EQ(told("gpu1,,gpu2"), "gpu1,,gpu2, character 6: a name is missing");
  EXPECT_EQ(told("g[1-9999999]"), "g[1-9999999], character 3: more than 100000 names");
  EXPECT_EQ(told(""), "\"\", character 1: a name is missing");
}

std::string folded(const std::vector<std::string>& names) {
  HostlistFold fold;
  for (const std::string& name : names)
    if (!fold.add(name)) return fold.pattern() + " then " + name;
  return fold.pattern();
}

TEST(Hostlist, FoldsBack) {
  EXPECT_EQ(folded({"gpu1"}), "gpu1");
  EXPECT_EQ(folded({"gpu08", "gpu09", "gpu10"}), "gpu[08-10]");
  EXPECT_EQ(folded({"gpu8", "gpu9", "gpu10", "gpu12"}), "gpu[8-10,12]");
  EXPECT_EQ(folded({"r1n1.lab", "r1n2.lab"}), "r1n[1-2].lab");
  EXPECT_EQ(folded({"r1n1.lab", "r2n1.lab"}), "r[1-2]n1.lab");
  EXPECT_EQ(folded({"192.168.1.73", "192.168.1.74"}), "192.168.1.[73-74]");
  EXPECT_EQ(folded({"vm10", "vm11"}), "vm[10-11]");
}

TEST(Hostlist, DoesNotFoldWhatItCouldNotExpand) {
  EXPECT_EQ(folded({"gpu9", "gpu010"}), "gpu9 then gpu010");
  EXPECT_EQ(folded({"gpu2", "gpu1"}), "gpu2 then gpu1");
  EXPECT_EQ(folded({"r720", "spark-01"}), "r720 then spark-01");
  EXPECT_EQ(folded({"gpu1", "gpu"}), "gpu1 then gpu");
  EXPECT_EQ(folded({"gpu1", "gpu1"}), "gpu1 then gpu1");
  EXPECT_EQ(folded({"gpu01", "gpu02", "gpu3"}), "gpu[01-02] then gpu3");
}

TEST(Hostlist, ListsForPeople) {
  EXPECT_EQ(fold_hostlist({"gpu1", "gpu2", "nas", "r720", "r730"}), "gpu[1-2], nas, r[720,730]");
  EXPECT_EQ(fold_hostlist({}), "");
}

TEST(Hostlist, FoldAndExpandAreInverse) {
  for (const auto* pattern : {"n[0-120]", "n[000-120]", "a[1,3,5-9]b2", "7[098-101]", "x[9-11]9"}) {
    HostlistFold fold;
    for (const std::string& name : names(pattern)) ASSERT_TRUE(fold.add(name)) << pattern << " " << name;
    EXPECT_EQ(names(fold.pattern()), names(pattern));
  }
}

TEST(FoldHosts, FoldsRunsOfNumbers) {
  EXPECT_EQ(fold_hosts({"gpu003", "gpu001", "gpu002", "gpu007"}), "gpu[001-003,007]");
  EXPECT_EQ(fold_hosts({"vm1"}), "vm1");
  EXPECT_EQ(fold_hosts({"vm1", "vm1"}), "vm1");
  EXPECT_EQ(fold_hosts({}), "");
}

TEST(FoldHosts, FoldsByTheLastNumberWhereSeveralDiffer) {
  EXPECT_EQ(fold_hosts({"rack1-n01.ib", "rack2-n01.ib", "rack1-n02.ib"}), "rack1-n[01-02].ib, rack2-n01.ib");
  EXPECT_EQ(fold_hosts({"rack2-n01", "rack1-n01"}), "rack2-n01, rack1-n01");
  EXPECT_EQ(fold_hosts({"rack1-n01", "rack2-n01"}), "rack[1-2]-n01");
}

TEST(FoldHosts, NumbersNeedNoZeros) {
  EXPECT_EQ(fold_hosts({"gpu10", "gpu9", "gpu8", "gpu11", "nas"}), "gpu[8-11], nas");
}

TEST(FoldHosts, KeepsNamesThatHaveNoNumberOrOneTooLong) {
  EXPECT_EQ(fold_hosts({"login", "head", "n9999999999999999999999"}), "login, head, n9999999999999999999999");
}

TEST(FoldHosts, KeepsLeadingZeros) { EXPECT_EQ(fold_hosts({"n9", "n09", "n10"}), "n09, n[9-10]"); }

}  // namespace
}  // namespace railbed
