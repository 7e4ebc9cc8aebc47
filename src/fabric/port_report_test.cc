#include "fabric/port_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/judge.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

// The forms of infiniband-diags 1.4 to rdma-core 5x; LIDs and values are composed.
constexpr std::string_view kCounters =
    "ibwarn: [4242] dump_perfcounters: PerfMgt ClassPortInfo CapMask 0x00\n"
    "# Port counters: Lid 6 port 1 (CapMask: 0x5A00)\n"
    "PortSelect:......................1\n"
    "CounterSelect:...................0x0000\n"
    "SymbolErrorCounter:..............65535\n"
    "LinkErrorRecoveryCounter:........0\n"
    "LinkDownedCounter:...............8\n"
    "PortRcvErrors:...................0\n"
    "VL15Dropped:.....................9000\n"
    "PortXmitData:....................4294967295\n"
    "PortXmitWait:....................22730501\n"
    "# Port extended counters: Lid 1719 port 2 (CapMask: 0x5300 CapMask2: 0x0000002)\n"
    "PortSelect:......................2\n"
    "PortXmitData:....................26006570014026\n"
    "CounterSelect2:..................0x00000000\n"
    "SymbolErrorCounter:..............0\n"
    "LinkDownedCounter:...............3\n"
    "QP1Dropped:......................0\n";

constexpr std::string_view kOldCounters =
    "# Port counters: Lid 936 port 1\n"
    "PortSelect:......................1\n"
    "SymbolErrors:....................0\n"
    "LinkRecovers:....................77\n"
    "RcvErrors:.......................0\n"
    "XmtData:.........................905972985\n";

std::string block(std::string_view head, std::string_view state, std::string_view physical,
                  std::string_view width = "4X", std::string_view enabled = "1X or 4X",
                  std::string_view extended = "25.78125 Gbps") {
  return std::string(head) + "\nLinkState:......................." + std::string(state) +
         "\nPhysLinkState:..................." + std::string(physical) +
         "\nLid:.............................0\nLinkWidthSupported:..............1X or 4X\nLinkWidthEnabled:................" +
         std::string(enabled) + "\nLinkWidthActive:................." + std::string(width) +
         "\nLinkSpeedSupported:..............2.5 Gbps or 5.0 Gbps or 10.0 Gbps\n"
         "LinkSpeedEnabled:................2.5 Gbps or 5.0 Gbps or 10.0 Gbps\n"
         "LinkSpeedActive:.................Extended speed\n"
         "LinkSpeedExtSupported:...........14.0625 Gbps or 25.78125 Gbps\n"
         "LinkSpeedExtEnabled:.............14.0625 Gbps or 25.78125 Gbps\n"
         "LinkSpeedExtActive:.............." +
         std::string(extended) + "\n";
}

// ibportstate prints a switch's port, and then its peer.
std::string two_ends(std::string_view width, std::string_view enabled) {
  return block("Switch PortInfo:\n# Port info: Lid 7 port 18", "Active", "LinkUp", width, enabled) +
         block("Peer PortInfo:\n# Port info: Lid 7 DR path slid 4; dlid 65535; 0,18 port 1", "Active",
               "LinkUp", width);
}

Verdict judged(std::string_view text) {
  const auto report = parse_port_report(text, "ports.txt");
  EXPECT_TRUE(report);
  FabricEvidence evidence;
  evidence.fabric = report->fabric;
  evidence.from = "ports.txt";
  evidence.counters = report->look;
  return verify_ports(evidence);
}

const Finding* red_of(const Verdict& verdict, std::string_view rule) {
  for (const Finding& finding : verdict.findings)
    if (finding.rule == rule && is_red(finding)) return &finding;
  return nullptr;
}

bool has_red(const Verdict& verdict) {
  for (const Finding& finding : verdict.findings)
    if (is_red(finding)) return true;
  return false;
}

TEST(PortReport, ReadsCountersOfOnePortAfterAnother) {
  ASSERT_TRUE(is_port_report(kCounters));
  const auto report = parse_port_report(kCounters, "p");
  ASSERT_TRUE(report) << report.error().text;
  ASSERT_EQ(report->look.ports.size(), 2U);
  EXPECT_EQ(place_of(report->fabric, report->look.ports[0].end), "port 1 of LID 6");
  EXPECT_EQ(report->look.ports[0].first[IbCounter::kSymbolErrors], 65535U);
  EXPECT_EQ(report->look.ports[1].first[IbCounter::kXmitData], 26006570014026U);
  const Verdict verdict = judged(kCounters);
  const Finding* sick = red_of(verdict, "fabric.counters");
  ASSERT_NE(sick, nullptr);
  EXPECT_THAT(sick->message, HasSubstr("port 1 of LID 6"));
  EXPECT_THAT(sick->observed, Not(HasSubstr("LinkDowned"))) << "eight are below the threshold";
  EXPECT_FALSE(has_red(judged(kCounters.substr(kCounters.find("# Port extended")))))
      << "three times down is no finding";
}

TEST(PortReport, ReadsTheNamesOfOldReleases) {
  const Verdict verdict = judged(kOldCounters);
  const Finding* sick = red_of(verdict, "fabric.counters");
  ASSERT_NE(sick, nullptr);
  EXPECT_THAT(sick->observed, HasSubstr("LinkErrorRecoveryCounter 77"));
}

TEST(PortReport, JudgesNeitherSumsNorPortsWithoutErrorCounters) {
  const std::string sum =
      "# Port counters: Lid 6 port 255 (CapMask: 0x5A00)\nPortSelect:......................255\n"
      "SymbolErrorCounter:..............4000\n";
  const std::string traffic =
      "# Port extended counters: Lid 274 port 1 (CapMask: 0x200)\nPortSelect:......................1\n"
      "PortXmitData:....................4372366170488\nPortMulticastRcvPkts:............1890846\n";
  const auto report = parse_port_report(sum + traffic, "p");
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->look.ports.empty()) << "a port whose errors are not printed has not none";
  EXPECT_EQ(report->sums.size(), 1U);
  EXPECT_THAT(report->summary(), HasSubstr("`perfquery` without -x"));
  const auto all =
      parse_port_report("# Port counters: Lid 6 all ports\nSymbolErrorCounter:..............4000\n", "p");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->sums.size(), 1U);
}

TEST(PortReport, JoinsAPortToItsPeer) {
  const auto report = parse_port_report(two_ends("4X", "1X or 4X"), "p");
  ASSERT_TRUE(report);
  ASSERT_EQ(report->fabric.nodes.size(), 2U);
  EXPECT_TRUE(report->fabric.nodes[0].is_switch());
  EXPECT_EQ(name_of(report->fabric.nodes[1]), "the peer of port 18 of LID 7");
  EXPECT_EQ(report->fabric.port({0, 18}).peer, (IbEnd{1, 1}));
  EXPECT_EQ(report->fabric.port({0, 18}).active.to_text(), "4xEDR");
  EXPECT_FALSE(has_red(judged(two_ends("4X", "1X or 4X"))));
  const Verdict verdict = judged(two_ends("1X", "1X or 4X"));
  const Finding* narrow = red_of(verdict, "fabric.width");
  ASSERT_NE(narrow, nullptr);
  EXPECT_THAT(narrow->remedy.text, HasSubstr("A lane"));
}

TEST(PortReport, NamesTheSettingThatNarrowsALink) {
  const Verdict verdict = judged(two_ends("1X", "1X"));
  const Finding* set = red_of(verdict, "fabric.width");
  ASSERT_NE(set, nullptr);
  EXPECT_THAT(set->remedy.text, HasSubstr("port 18 of LID 7 is set to 1xEDR at most"));
  EXPECT_THAT(parse_port_report(two_ends("1X", "1X"), "p")->summary(),
              HasSubstr("port 18 of LID 7 is set to 1xEDR of 4xEDR"));
  EXPECT_THAT(parse_port_report(two_ends("4X", "1X or 4X"), "p")->summary(), Not(HasSubstr("is set to")));
}

TEST(PortReport, FindsAPortThatWaitsForAManager) {
  const Verdict verdict = judged(block("CA/RT PortInfo:\n# Port info: Lid 3 port 1", "Initialize", "LinkUp"));
  const Finding* waits = red_of(verdict, "fabric.port-state");
  ASSERT_NE(waits, nullptr);
  EXPECT_EQ(waits->observed, "INIT");
  EXPECT_FALSE(has_red(judged(block("CA/RT PortInfo:\n# Port info: Lid 3 port 1", "Active", "LinkUp"))));
}

TEST(PortReport, NamesDisabledAndPollingPortsWithoutJudgingThem) {
  const std::string text =
      "root@n1:~# ibportstate 2 24\n" + block("PortInfo:\n# Port info: Lid 2 port 24", "Down", "Disabled") +
      "root@n1:~# ibportstate 2 25\n" + block("PortInfo:\n# Port info: Lid 2 port 25", "Down", "Polling");
  const auto report = parse_port_report(text, "p");
  ASSERT_TRUE(report);
  EXPECT_THAT(report->summary(), HasSubstr("disabled: port 24 of LID 2"));
  EXPECT_THAT(report->summary(), HasSubstr("nothing alive at its other end: port 25 of LID 2"));
  EXPECT_EQ(report->fabric.port({0, 24}).active.width, 0)
      << "a port without a link has none, whatever it states";
  EXPECT_FALSE(has_red(judged(text)));
}

TEST(PortReport, TakesTheStateAfterAChange) {
  const std::string text = block("Initial CA/RT PortInfo:\n# Port info: Lid 38 port 1", "Active", "LinkUp") +
                           block("\nAfter PortInfo set:\n# Port info: Lid 38 port 1", "Down", "Disabled");
  const auto report = parse_port_report(text, "p");
  ASSERT_TRUE(report);
  ASSERT_EQ(report->fabric.nodes.size(), 1U);
  EXPECT_EQ(report->fabric.port({0, 1}).state, IbState::kDown);
}

// perfquery -C mlx5_0 and -C mlx5_1: two subnets, in each of which a port has LID 6.
TEST(PortReport, KeepsBothOfTwoPortsWithOneLid) {
  const auto counters = [](int symbols, int sent) {
    return "# Port counters: Lid 6 port 1 (CapMask: 0x5A00)\nPortSelect:......................1\n"
           "SymbolErrorCounter:.............." +
           std::to_string(symbols) + "\nPortXmitData:...................." + std::to_string(sent) + "\n";
  };
  for (const std::string& text : {counters(4000, 1) + counters(0, 2), counters(0, 1) + counters(4000, 2)}) {
    EXPECT_TRUE(has_red(judged(text))) << text;
    EXPECT_THAT(parse_port_report(text, "p")->summary(), HasSubstr("different values"));
  }
  const auto twice = parse_port_report(counters(3, 1) + counters(3, 2), "p");
  EXPECT_EQ(twice->look.ports.size(), 1U) << "only traffic grew";
  EXPECT_THAT(twice->summary(), Not(HasSubstr("different values")));
  std::string watched = counters(4000, 1);
  for (int i = 0; i < 100; ++i) watched += counters(i % 7 == 0 ? 50 + i : i, i);
  const auto many = parse_port_report(watched + counters(0, 1), "p");
  ASSERT_TRUE(many);
  EXPECT_LE(many->look.ports.size(), 16U);
  EXPECT_TRUE(has_red(judged(watched)));
}

TEST(PortReport, KeepsBothStatesOfAPlaceUnlessItWasSet) {
  const std::string head = "CA/RT PortInfo:\n# Port info: DR path slid 0; dlid 0; 0 port 1";
  const std::string waits = block(head, "Initialize", "LinkUp"), sound = block(head, "Active", "LinkUp");
  EXPECT_TRUE(has_red(judged(waits + sound)));
  EXPECT_TRUE(has_red(judged(sound + waits)));
  EXPECT_FALSE(has_red(judged(sound + sound)));
  EXPECT_EQ(parse_port_report(sound + sound, "p")->fabric.nodes.size(), 1U);
  const std::string set =
      block("After PortInfo set:\n# Port info: DR path slid 0; dlid 0; 0 port 1", "Active", "LinkUp");
  EXPECT_FALSE(has_red(judged(waits + set))) << "it was Initialize before somebody set it";
  EXPECT_TRUE(has_red(judged(sound + waits + sound)));
}

TEST(PortReport, DoesNotJudgeAPortThatWasReset) {
  constexpr std::string_view kPlace = "\n# Port info: Lid 3 port 7",
                             kSet = "After PortInfo set:\n# Port info: Lid 3 port 7";
  const std::string active = block("Initial Switch PortInfo:" + std::string(kPlace), "Active", "LinkUp");
  const std::string disabled = block(kSet, "Down", "Disabled");
  for (const std::string& last : {block(kSet, "Down", "Polling"), block(kSet, "Initialize", "LinkUp")}) {
    const auto report = parse_port_report(active + disabled + last, "p");
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->fabric.states) << "no state is known";
    EXPECT_TRUE(report->polling.empty());
    EXPECT_THAT(report->summary(), HasSubstr("its state is not known: port 7 of LID 3"));
    EXPECT_FALSE(has_red(judged(active + disabled + last)));
  }
  const std::string waited = block("Initial Switch PortInfo:" + std::string(kPlace), "Initialize", "LinkUp");
  EXPECT_TRUE(has_red(judged(waited + block(kSet, "Initialize", "LinkUp")))) << "it was never active";
  EXPECT_TRUE(parse_port_report(active + disabled, "p")->fabric.states);
}

TEST(PortReport, AsksForNoErrorsThatAreThere) {
  const std::string errors =
      "# Port counters: Lid 1 port 1 (CapMask: 0x5A00)\nSymbolErrorCounter:..............0\n";
  const std::string traffic =
      "# Port extended counters: Lid 1 port 1 (CapMask: 0x5A00)\nPortXmitData:....................7\n";
  for (const std::string& text : {errors + traffic, traffic + errors})
    EXPECT_THAT(parse_port_report(text, "p")->summary(), Not(HasSubstr("without -x")));
  EXPECT_THAT(parse_port_report(traffic, "p")->summary(), HasSubstr("without -x"));
}

TEST(PortReport, NodesOfTwoFilesStayTwo) {
  const auto one = parse_port_report(two_ends("1X", "1X"), "a.txt"),
             two = parse_port_report(two_ends("4X", "1X or 4X"), "b.txt");
  ASSERT_TRUE(one && two);
  for (const auto& files : {std::vector{*one, *two}, std::vector{*two, *one}}) {
    FabricEvidence evidence;
    evidence.fabric = joined(files).fabric;
    ASSERT_EQ(evidence.fabric.nodes.size(), 4U);
    EXPECT_EQ(evidence.fabric.port({2, 18}).peer, (IbEnd{3, 1}));
    const Verdict verdict = verify_ports(evidence);
    const Finding* narrow = red_of(verdict, "fabric.width");
    ASSERT_NE(narrow, nullptr);
    EXPECT_THAT(narrow->message, HasSubstr("LID 7 (a.txt)"));
  }
}

TEST(PortReport, ReadsFdr10OfTheVendorsBlock) {
  const std::string text =
      block("PortInfo:\n# Port info: Lid 5 port 1", "Active", "LinkUp", "4X", "4X", "No Extended Speed");
  std::string fdr10 = text;
  fdr10.replace(fdr10.find("Extended speed"), 14, "10.0 Gbps");
  EXPECT_EQ(parse_port_report(fdr10, "p")->fabric.port({0, 1}).active.to_text(), "4xQDR");
  fdr10 +=
      "# MLNX ext Port info: Lid 5 port 1\nStateChangeEnable:...............0x00\nLinkSpeedActive:.................0x01\n";
  EXPECT_EQ(parse_port_report(fdr10, "p")->fabric.port({0, 1}).active.to_text(), "4xFDR10");
}

TEST(PortReport, IsJoinedToASubnetByLid) {
  IbFabric fabric;
  IbNode leaf, host;
  leaf.type = IbNodeType::kSwitch;
  for (int port = 0; port <= 36; ++port) leaf.ports.emplace_back().number = port;
  leaf.ports[0].lid = 1719;
  for (int port = 0; port <= 2; ++port) host.ports.emplace_back().number = port;
  host.ports[2].lid = 6;
  fabric.nodes = {leaf, host};
  const auto report = parse_port_report(kCounters, "p");
  ASSERT_TRUE(report);
  std::size_t unknown = 0;
  const IbCounterLook look = counters_in(fabric, *report, unknown);
  ASSERT_EQ(look.ports.size(), 1U);
  EXPECT_EQ(look.ports[0].end, (IbEnd{0, 2}));
  EXPECT_EQ(unknown, 1U) << "port 1 of LID 6 is another one than the adapter's port 2";
}

TEST(PortReport, RefusesMorePortsThanAnybodyAsksFor) {
  std::string text;
  for (int lid = 1; lid <= 33000; ++lid)
    text += "# Port counters: Lid " + std::to_string(lid) + " port 1\nSymbolErrors:..99\n";
  const auto report = parse_port_report(text, "p");
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().text, HasSubstr("ibqueryerrors"));
}

TEST(PortReport, RefusesOtherTexts) {
  for (const std::string_view other :
       {"", "# Port counters: the sum of all\nPortSelect:....1\n",
        "# Port counters: Lid 6 port 999\nSymbolErrors:...1\n", "# Port counters: Lid 6 port 1\nnothing\n",
        "LinkState:.......................Active\n"}) {
    EXPECT_FALSE(is_port_report(other)) << other;
    EXPECT_TRUE(!parse_port_report(other, "p") || parse_port_report(other, "p")->look.ports.empty()) << other;
  }
}

}  // namespace
}  // namespace railbed
