// The site's own checks: what exit codes of programs become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inventory/load.h"
#include "verify/verify.h"

namespace railbed {
namespace {

using testing::HasSubstr;

Cluster cluster_with(const std::string& check) {
  auto cluster = parse_cluster(
      "railbed: 1\ncluster: c\nnodes: [n1]\nchecks:\n  - {name: fans, " + check + "}\n", "c.yaml");
  EXPECT_TRUE(cluster) << cluster.error().text;
  return cluster.value_or(Cluster{});
}

SiteCheckRun ran(int code, std::vector<std::string> output = {}) {
  return {
      "fans", {{"check", "-v"}, "", 10}, {ConfinedOutput{code, std::move(output), false, "ops"}, "check -v"}};
}

Finding judged(const std::string& check, std::vector<SiteCheckRun> runs) {
  Evidence evidence;
  evidence.cluster = cluster_with(check);
  evidence.nodes["n1"].site_checks = std::move(runs);
  for (const Finding& finding : verify(evidence).findings)
    if (finding.rule == "site.check") return finding;
  ADD_FAILURE() << "nothing is said of the check";
  return {};
}

TEST(SiteCheck, JudgesByTheExitCode) {
  EXPECT_EQ(judged("run: [check, -v]", {ran(0, {"OK"})}).status, Status::kPass);
  EXPECT_EQ(judged("run: [check, -v]", {ran(1)}).status, Status::kWarn);
  EXPECT_EQ(judged("run: [check, -v]", {ran(3)}).status, Status::kUnknown);
  EXPECT_EQ(judged("run: [check, -v]", {ran(139)}).status, Status::kUnknown);
  EXPECT_EQ(judged("run: [check, -v], exit: {139: fail}", {ran(139)}).observed, "exit 139 (signal 11)");
  EXPECT_EQ(judged("run: [check, -v], exit: {3: n/a}", {ran(3)}).status, Status::kNotApplicable);
  const Finding failed = judged("run: [check, -v], exit: {1: pass}, remedy: Call Bob",
                                {ran(2, {"", "fan 3 \033[31mstopped", "rpm 0"})});
  EXPECT_EQ(failed.status, Status::kFail);
  EXPECT_EQ(failed.subject, "fans");
  EXPECT_THAT(failed.message, HasSubstr("fans on n1: fan 3 "));
  EXPECT_EQ(failed.message.find('\033'), std::string::npos);
  EXPECT_EQ(failed.expected, "exit 0 or 1");
  EXPECT_THAT(failed.observed, HasSubstr("exit 2: fan 3 "));
  EXPECT_THAT(failed.observed, HasSubstr("; rpm 0"));
  EXPECT_EQ(failed.remedy.text, "Call Bob. By hand: check -v");
  EXPECT_TRUE(failed.remedy.commands.empty());
  EXPECT_EQ(failed.evidence, "check -v");
}

TEST(SiteCheck, KnowsNothingOfWhatDidNotRun) {
  EXPECT_EQ(judged("run: [check, -v]", {}).status, Status::kNotApplicable);
  EXPECT_EQ(judged("run: [check, -x]", {ran(0)}).status, Status::kUnknown);
  EXPECT_EQ(judged("run: [check, -v], user: root", {ran(0)}).status, Status::kUnknown);
  SiteCheckRun late = ran(0);
  late.result = {Miss{Missing::kTimeout, "it was ended after 10 s"}, "check -v"};
  EXPECT_THAT(judged("run: [check, -v]", {late}).message, HasSubstr("it was ended after 10 s"));
  late.result = {Miss{Missing::kAbsent, "no such program"}, "check -v"};
  EXPECT_EQ(judged("run: [check, -v]", {late}).status, Status::kUnknown);
}

}  // namespace
}  // namespace railbed
