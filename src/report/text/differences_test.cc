// Many nodes in few lines: their differences, and the same finding on many of them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "report/causes.h"
#include "report/findings.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> names(int first, int last) {
  std::vector<std::string> all;
  for (int i = first; i <= last; ++i) all.push_back(fmt::format("gpu{:04}", i));
  return all;
}

Finding down(const std::string& node) {
  Finding made;
  made.status = Status::kFail;
  made.rule = "rdma.port-state";
  made.node = node;
  made.subject = "mlx5_0/1";
  made.message = fmt::format("mlx5_0/1 of {} is DOWN: no cable", node);
  made.remedy = {"Look at the cable.", {"rdma link show"}};
  return made;
}

TEST(Folding, TheSameOnManyNodesIsOneLineThoughEachNamesItsNode) {
  Verdict verdict;
  for (const char* node : {"gpu03", "gpu17", "gpu18", "gpu19"}) verdict.findings.push_back(down(node));
  const std::string text = render_text(verdict, {"pod", "", 0, 32});
  EXPECT_THAT(text, HasSubstr("FAIL  gpu[03,17-19]: mlx5_0/1 is DOWN: no cable"));
  EXPECT_THAT(text, Not(HasSubstr("more of")));
}

TEST(Folding, NamesOfNodesGoOnlyWhereTheyAreWholeWords) {
  EXPECT_EQ(without_node("eth1 of vm2 is down", "vm2"), "eth1 is down");
  EXPECT_EQ(without_node("eth1 is down on vm2", "vm2"), "eth1 is down");
  EXPECT_EQ(without_node("vm2 has no GPU", "vm2"), "has no GPU");
  EXPECT_EQ(without_node("eth1 of vm20 is down", "vm2"), "eth1 of vm20 is down");
  EXPECT_EQ(without_node("eth1 of vm2.lab is down", "vm2"), "eth1 of vm2.lab is down");
  EXPECT_EQ(without_node("vm2's clock", "vm2"), "vm2's clock");
  EXPECT_EQ(without_node("eth1 of vm2 is down", ""), "eth1 of vm2 is down");
}

const Verdict kOneDown{{down("gpu0001")}};

Run thousand_nodes() {
  Run run{"pod", "", 0, 1000};
  run.differences = {
      {"driver", {{"580.95.05", names(1, 998)}, {"570.86.10", names(999, 1000)}}},
      {"firmware of MT_0000000838", {{"28.39.1002", names(1, 600)}, {"28.40.1000", names(601, 1000)}}}};
  return run;
}

TEST(Differences, AreALineAPropertyOfAThousandNodes) {
  const std::string text = render_text(kOneDown, thousand_nodes());
  EXPECT_THAT(text, HasSubstr("nodes differ\n  driver "));
  EXPECT_THAT(text, HasSubstr("580.95.05 on 998 nodes ·"));
  EXPECT_THAT(text, HasSubstr("570.86.10 on gpu[0999-1000]"));
  EXPECT_THAT(text, HasSubstr("28.39.1002 on 600 nodes"));
  EXPECT_LT(std::ranges::count(text, '\n'), 20);
  EXPECT_THAT(render_text(kOneDown, {"pod", "", 0, 1000}), Not(HasSubstr("nodes differ")));
}

TEST(Differences, ManyValuesAreSummedUp) {
  railbed::Run run{"pod", "", 0, 1000};
  Difference every{"kernel", {}};
  for (const std::string& node : names(1, 1000)) every.values.push_back({"6.8-" + node, {node}});
  run.differences = {every};
  EXPECT_LT(render_text(kOneDown, run).size(), 1000u);
}

TEST(Differences, StandInTheDocument) {
  const auto document = json::parse(render_json(kOneDown, thousand_nodes()));
  ASSERT_TRUE(document);
  EXPECT_EQ(document->at("differences")[0].at("property"), "driver");
  EXPECT_EQ(document->at("differences")[0].at("values")[1].at("nodes"), (json::Value{"gpu0999", "gpu1000"}));
}

}  // namespace
}  // namespace railbed
