#include "report/findings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

Finding finding(Status status, std::string_view rule, std::string node, std::string subject,
                std::string message) {
  Finding made;
  made.status = status;
  made.rule = rule;
  made.node = std::move(node);
  made.subject = std::move(subject);
  made.message = std::move(message);
  return made;
}

Finding passed(std::string_view rule, std::string node) {
  return finding(Status::kPass, rule, node, "", "fine");
}

// One interface down on vm2, and what follows from it; a warning; something that could not be read.
Verdict broken_verdict() {
  Finding down = finding(Status::kFail, "net.down", "vm2", "eth1", "eth1 is down (administratively)");
  down.expected = "up";
  down.observed = "down";
  down.evidence = "/sys/class/net/eth1/flags";
  down.remedy = {"Bring the interface up.", {"ip link set eth1 up"}};
  Finding port = finding(Status::kFail, "rdma.port-down", "vm2", "rxe0/1", "rxe0/1 is DOWN");
  port.caused_by = 0;
  Finding gid = finding(Status::kFail, "gid.missing", "vm2", "rxe0/1", "rxe0/1 has no RoCE v2 GID");
  gid.caused_by = 1;
  Finding rail = finding(Status::kFail, "measured.failed", "", "rail0", "rail0 could not be measured");
  rail.caused_by = 0;
  Finding governor = finding(Status::kWarn, "cpu.governor", "vm1", "", "the CPU governor is powersave");
  governor.remedy = {"Set it to performance.", {}};
  Finding memlock = finding(Status::kUnknown, "limits.memlock", "vm1", "slurmd",
                            "could not read the memlock limit of slurmd: Permission denied");
  memlock.evidence = "/proc/812/limits";
  return {{down, port, gid, rail, governor, memlock, passed("net.mtu", "vm1"), passed("net.mtu", "vm2"),
           finding(Status::kNotApplicable, "ib.subnet-manager", "vm1", "", "no InfiniBand port")}};
}

// A node without /sys: whatever reads it could not look.
TEST(RenderText, TellsOnceWhatKeptRulesFromLooking) {
  std::vector<Finding> list;
  for (const char* rule : {"net.interface", "net.mtu", "gpu.driver"})
    for (const char* subject : {"rail0", "rail1"}) {
      list.push_back(
          finding(Status::kUnknown, rule, "vm1", subject, "could not look: absent: none (/sys/class/net)"));
      if (list.size() > 1) list.back().caused_by = 0;
    }
  Verdict verdict;
  for (const Finding& finding : list) verdict.findings.push_back(finding);
  const std::string text = render_text(verdict, {}, {});
  EXPECT_THAT(text, HasSubstr("same reason: 3 rules could not look, 6 checks in all; --all names them"));
  EXPECT_THAT(text, Not(HasSubstr("net.mtu")));
  TextOptions all;
  all.all = true;
  EXPECT_THAT(render_text(verdict, {}, all), HasSubstr("net.mtu"));
}

const Run kPairRun{"lab", "2031-05-04T10:00:00Z", 8.25, 2};

TEST(FindingsText, SaysFirstWhatIsBrokenAndWhatToDo) {
  EXPECT_EQ(render_text(broken_verdict(), kPairRun),
            R"(FAIL  vm2: eth1 is down (administratively)                              net.down
      do: Bring the interface up.
        $ ip link set eth1 up
      explains 3 more: rdma.port-down vm2 rxe0/1 · gid.missing vm2 rxe0/1 ·
                       measured.failed rail0

WARN  vm1: the CPU governor is powersave                            cpu.governor
      do: Set it to performance.

UNKNOWN  vm1: could not read the memlock limit of slurmd: Permission denied
         limits.memlock
      looked at: /proc/812/limits

4 failures · 1 warning · 1 unknown · 3 of them explained by others · 2 passed ·
1 not applicable · 2 nodes · 8.25 s
)");
}

TEST(FindingsText, AHealthyHostTakesTwoLines) {
  const Verdict verdict{{passed("net.mtu", "gpu01"), passed("cpu.governor", "gpu01"),
                         finding(Status::kNotApplicable, "ib.subnet-manager", "gpu01", "", "no InfiniBand")}};
  EXPECT_EQ(render_text(verdict, {"", "", 0.08, 1}), R"(PASS  all 2 checks passed
2 passed · 1 not applicable · 1 node · 0.08 s
)");
}

TEST(FindingsText, AllShowsWhatPassedToo) {
  const Verdict verdict{{passed("net.mtu", "gpu01"), passed("net.mtu", "gpu02")}};
  EXPECT_THAT(render_text(verdict, kPairRun, {.all = true}), HasSubstr("PASS  gpu[01-02]: fine"));
  EXPECT_THAT(render_text(verdict, kPairRun), Not(HasSubstr("fine")));
}

TEST(FindingsText, NothingCheckedIsNotAPass) {
  EXPECT_THAT(render_text({}, {}), testing::StartsWith("UNKNOWN  nothing could be checked here"));
}

TEST(FindingsText, TheSameFindingOnManyNodesIsOneLine) {
  Verdict verdict;
  for (int i = 1; i <= 500; ++i) {
    verdict.findings.push_back(
        finding(Status::kFail, "net.mtu", fmt::format("gpu{:03}", i), "eth1", "eth1 has MTU 1500, not 9000"));
    verdict.findings.back().remedy = {"Raise the MTU.", {"ip link set eth1 mtu 9000"}};
    Finding slow =
        finding(Status::kWarn, "gid.mtu", fmt::format("gpu{:03}", i), "mlx5_0/1", "path MTU is 1024");
    slow.caused_by = verdict.findings.size() - 1;
    verdict.findings.push_back(slow);
  }
  EXPECT_EQ(render_text(verdict, {"", "", 0, 500}),
            R"(FAIL  gpu[001-500]: eth1 has MTU 1500, not 9000                          net.mtu
      do: Raise the MTU.
        $ ip link set eth1 mtu 9000
      explains 500 more: gid.mtu gpu[001-500] mlx5_0/1

500 failures · 500 warnings · 500 of them explained by others · 0 passed ·
500 nodes
)");
}

std::string every_other_node_fails(int count, bool all) {
  Verdict verdict;
  for (int i = 0; i < count; ++i)
    verdict.findings.push_back(
        finding(Status::kFail, "net.mtu", fmt::format("n{:05}", 2 * i), "eth1", "MTU is 1500"));
  return render_text(verdict, {}, {.all = all});
}

// Files with each node's own addresses do not keep the same fault of many nodes apart.
TEST(FindingsText, CommandsOfOneNodeStandForThoseOfOthers) {
  const auto mtu = [](std::string node, const char* address) {
    Finding made = finding(Status::kFail, "net.mtu", std::move(node), "eth1", "eth1 has MTU 1500");
    made.remedy = {"Set it.", {command("printf {} > /etc/x", std::string(200, 'x') + address)}};
    made.remedy.of_one_node = true;
    return made;
  };
  Finding gid = mtu("vm1", "10.0.0.1");
  gid.rule = "rdma.gid";
  gid.message = "eth1 has no GID";
  const std::string text = render_text({{mtu("vm1", "10.0.0.1"), mtu("vm2", "10.0.0.2"), gid}}, {});
  EXPECT_THAT(text, HasSubstr("FAIL  vm[1-2]: eth1 has MTU 1500"));
  EXPECT_THAT(text, HasSubstr("note: these files are vm1's: `railbed plan --fix` shows those of each node"));
  EXPECT_THAT(text, HasSubstr("run: the commands of net.mtu above mend this as well"));
  EXPECT_EQ(text.find("10.0.0.1"), text.rfind("10.0.0.1")) << "they are shown once";
}

TEST(FindingsText, ALongListOfNodesIsCountedAndThenNamed) {
  EXPECT_THAT(every_other_node_fails(40, false), HasSubstr("FAIL  40 nodes (n00000 first): MTU is 1500"));
  EXPECT_THAT(every_other_node_fails(40, false), HasSubstr("      on: n[00000,00002,"));
  EXPECT_THAT(every_other_node_fails(40, false), HasSubstr(",00078]"));
}

TEST(FindingsText, AnEndlessListOfNodesIsCutUnlessAllIsAsked) {
  const std::string text = every_other_node_fails(1000, false);
  EXPECT_LT(std::ranges::count(text, '\n'), 12);
  EXPECT_THAT(text, HasSubstr("--all names every one"));
  EXPECT_THAT(text, Not(HasSubstr("01998")));
  EXPECT_THAT(every_other_node_fails(1000, true), HasSubstr(",01998]"));
}

TEST(FindingsText, NodesThatSayTheSameOfThemselvesAreOneCause) {
  Verdict verdict;
  for (const char* node : {"gpu1", "gpu11", "gpu2"}) {
    verdict.findings.push_back(
        finding(Status::kFail, "node.reachable", node, node,
                fmt::format("{0} gave no facts: {0} refused the connection (\"connect to host {0} port 22\")",
                            node)));
    verdict.findings.back().remedy = {"Look there.", {command("ssh {} true", node)}};
  }
  EXPECT_THAT(render_text(verdict, {}), HasSubstr("FAIL  gpu[1-2,11]: gave no facts: gpu1 refused"));
}

TEST(FindingsText, WhatOnlyCountsIsCounted) {
  Verdict verdict{Findings({}, {}, StatusCounts{.pass = 7, .not_applicable = 2})};
  EXPECT_THAT(render_text(verdict, {}), HasSubstr("all 7 checks passed"));
  EXPECT_THAT(render_text(verdict, {}), HasSubstr("7 passed · 2 not applicable"));
}

TEST(FindingsText, ManyVariantsOfOneRuleAreSummedUp) {
  Verdict verdict;
  for (int i = 1; i <= 9; ++i)
    verdict.findings.push_back(finding(Status::kWarn, "net.errors", fmt::format("n{}", i), "eth1",
                                       fmt::format("{} receive errors", i)));
  const std::string text = render_text(verdict, {});
  EXPECT_THAT(text, HasSubstr("n3: 3 receive errors"));
  EXPECT_THAT(text, Not(HasSubstr("n4: ")));
  EXPECT_THAT(text, HasSubstr("6 more of net.errors on n[4-9]; --all shows them"));
  EXPECT_THAT(render_text(verdict, {}, {.all = true}), HasSubstr("n9: 9 receive errors"));
}

TEST(FindingsText, ColoursOnlyWhenAskedAndNeverAlone) {
  EXPECT_THAT(render_text(broken_verdict(), kPairRun), Not(HasSubstr("\033")));
  EXPECT_THAT(render_text(broken_verdict(), kPairRun, {.colour = true}), HasSubstr("\033[1;31mFAIL\033[0m"));
}

TEST(FindingsText, ANodeCannotSteerTheTerminal) {
  const Verdict verdict{{finding(Status::kFail, "x\033]0;y", "n\r1", "",
                                 "\033[2J\xC2\x9B"
                                 "31m gone\xff\n")}};
  const std::string text = render_text(verdict, {});
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(text, Not(HasSubstr("\xC2\x9B")));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST(FindingsText, ACircleOfCausesLosesNoFinding) {
  Verdict verdict{{finding(Status::kFail, "a.one", "n1", "", "first"),
                   finding(Status::kFail, "a.two", "n1", "", "second"),
                   finding(Status::kFail, "a.three", "n1", "", "third")}};
  verdict.findings[0].caused_by = 1;
  verdict.findings[1].caused_by = 0;
  verdict.findings[2].caused_by = 77;
  const std::string text = render_text(verdict, {});
  for (const char* message : {"first", "second", "third"}) EXPECT_THAT(text, HasSubstr(message));
}

TEST(FindingsJson, CarriesEveryFieldOfAFinding) {
  const auto document = json::parse(render_json(broken_verdict(), kPairRun));
  ASSERT_TRUE(document) << document.error().text;
  EXPECT_EQ((*document)["format"], "railbed-findings");
  EXPECT_EQ((*document)["version"], 1);
  EXPECT_EQ(json::dump((*document)["counts"]), R"({"fail":4,"warn":1,"unknown":1,"pass":2,"n/a":1})");
  EXPECT_EQ(
      json::dump((*document)["findings"][0]),
      R"js({"rule":"net.down","node":"vm2","subject":"eth1","status":"fail",)js"
      R"js("message":"eth1 is down (administratively)","expected":"up","observed":"down",)js"
      R"js("evidence":"/sys/class/net/eth1/flags","remedy":{"text":"Bring the interface up.",)js"
      R"js("commands":["ip link set eth1 up"],"needs_reboot":false,"reversible":true,"of_one_node":false},)js"
      R"js("touches":[],"caused_by":null})js");
  EXPECT_EQ((*document)["findings"][2]["caused_by"], 1);
}

TEST(FindingsJunit, AFailureFailsAnUnknownErrsAWarningOnlySpeaks) {
  EXPECT_EQ(render_junit(broken_verdict(), kPairRun), R"xml(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="railbed" tests="9" failures="4" errors="1" skipped="1" time="8.250">
  <testsuite name="(cluster)" tests="1" failures="1" errors="0" skipped="0" time="0" timestamp="2031-05-04T10:00:00Z">
    <testcase classname="(cluster)" name="measured.failed rail0" time="0"><failure type="fail" message="rail0 could not be measured">rail0 could not be measured
caused by: net.down vm2 eth1
</failure></testcase>
  </testsuite>
  <testsuite name="vm1" tests="4" failures="0" errors="1" skipped="1" time="0" timestamp="2031-05-04T10:00:00Z">
    <testcase classname="vm1" name="cpu.governor" time="0"><system-out>warning: the CPU governor is powersave
remedy: Set it to performance.
</system-out></testcase>
    <testcase classname="vm1" name="limits.memlock slurmd" time="0"><error type="unknown" message="could not read the memlock limit of slurmd: Permission denied">could not read the memlock limit of slurmd: Permission denied
evidence: /proc/812/limits
</error></testcase>
    <testcase classname="vm1" name="net.mtu" time="0"/>
    <testcase classname="vm1" name="ib.subnet-manager" time="0"><skipped message="no InfiniBand port"/></testcase>
  </testsuite>
  <testsuite name="vm2" tests="4" failures="3" errors="0" skipped="0" time="0" timestamp="2031-05-04T10:00:00Z">
    <testcase classname="vm2" name="net.down eth1" time="0"><failure type="fail" message="eth1 is down (administratively)">eth1 is down (administratively)
expected: up
observed: down
evidence: /sys/class/net/eth1/flags
remedy: Bring the interface up.
run: ip link set eth1 up
</failure></testcase>
    <testcase classname="vm2" name="rdma.port-down rxe0/1" time="0"><failure type="fail" message="rxe0/1 is DOWN">rxe0/1 is DOWN
caused by: net.down vm2 eth1
</failure></testcase>
    <testcase classname="vm2" name="gid.missing rxe0/1" time="0"><failure type="fail" message="rxe0/1 has no RoCE v2 GID">rxe0/1 has no RoCE v2 GID
caused by: rdma.port-down vm2 rxe0/1
</failure></testcase>
    <testcase classname="vm2" name="net.mtu" time="0"/>
  </testsuite>
</testsuites>
)xml");
}

TEST(FindingsJunit, EscapesWhatXmlForbids) {
  const Verdict verdict{
      {finding(Status::kFail, "a.b", "<n>&\"'", "\x01", std::string("]]><x/>\xff\0", 9) + "\xEF\xBF\xBE")}};
  const std::string xml = render_junit(verdict, {});
  EXPECT_THAT(xml, HasSubstr("name=\"&lt;n&gt;&amp;&quot;&#39;\""));
  EXPECT_THAT(xml, Not(HasSubstr("<x/>")));
  EXPECT_THAT(xml, Not(HasSubstr("]]>")));
  EXPECT_THAT(xml, Not(HasSubstr("\x01")));
  EXPECT_THAT(xml, Not(HasSubstr("\xff")));
  EXPECT_THAT(xml, Not(HasSubstr("\xEF\xBF\xBE")));
}

TEST(FindingsPrometheus, GivesOneGaugeARuleAndSubject) {
  const Verdict verdict{{finding(Status::kFail, "net.down", "vm2", "eth1", ""),
                         finding(Status::kWarn, "cpu.governor", "vm1", "", ""),
                         finding(Status::kUnknown, "limits.memlock", "vm1", "", ""), passed("net.mtu", "vm1"),
                         finding(Status::kNotApplicable, "ib.subnet-manager", "vm1", "", "")}};
  EXPECT_EQ(
      render_prometheus(verdict, {"lab", "", 8.25, 2}),
      R"(# HELP railbed_rule_status What the rule says of the subject: 0 pass, 1 warning, 2 failure, 3 could not look.
# TYPE railbed_rule_status gauge
railbed_rule_status{cluster="lab",node="vm1",rule="cpu.governor",subject=""} 1
railbed_rule_status{cluster="lab",node="vm1",rule="limits.memlock",subject=""} 3
railbed_rule_status{cluster="lab",node="vm1",rule="net.mtu",subject=""} 0
railbed_rule_status{cluster="lab",node="vm2",rule="net.down",subject="eth1"} 2
# HELP railbed_findings Findings by status.
# TYPE railbed_findings gauge
railbed_findings{cluster="lab",status="fail"} 1
railbed_findings{cluster="lab",status="warn"} 1
railbed_findings{cluster="lab",status="unknown"} 1
railbed_findings{cluster="lab",status="pass"} 1
railbed_findings{cluster="lab",status="n/a"} 1
# HELP railbed_nodes Nodes looked at or tried.
# TYPE railbed_nodes gauge
railbed_nodes{cluster="lab"} 2
# HELP railbed_verify_duration_seconds Wall time of the verification.
# TYPE railbed_verify_duration_seconds gauge
railbed_verify_duration_seconds{cluster="lab"} 8.25
)");
}

TEST(FindingsPrometheus, EscapesLabelsAndKeepsOneOfEqualSeries) {
  const Verdict verdict{{finding(Status::kWarn, "a.b", "n", "q\"\\\n\xff", ""),
                         finding(Status::kFail, "a.b", "n", "q\"\\\n\xff", "")}};
  const std::string text = render_prometheus(verdict, {});
  EXPECT_THAT(text, HasSubstr("subject=\"q\\\"\\\\ \xEF\xBF\xBD\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("\xEF\xBF\xBD\"} 1\n")));
}

}  // namespace
}  // namespace railbed
