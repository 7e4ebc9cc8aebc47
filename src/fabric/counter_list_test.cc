#include "fabric/counter_list.h"

#include <gtest/gtest.h>

#include "fabric/judge.h"

namespace railbed {
namespace {

// The form of infiniband-diags 1.6 to rdma-core 5x; names, GUIDs and values are composed.
constexpr std::string_view kErrors =
    "Errors for \"node01 mlx5_0\"\n"
    "   GUID 0x506b4b0300c3a1b2 port 1: [VL15Dropped == 14] [PortXmitWait == 4294967295]\n"
    "Errors for 0x2c903006e29b0 \"MF0;leaf1:SX6036/U1\"\n"
    "   GUID 0x2c903006e29b0 port ALL: [LinkDownedCounter == 48] [PortRcvSwitchRelayErrors == 2461]\n"
    "   GUID 0x2c903006e29b0 port 5: [SymbolErrorCounter == 65535] [LinkDownedCounter == 40] [PortXmitData == 52 "
    "(208.000B)]\n"
    "         Link info:      7   5[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>  0x506b4b0300c3a1b2      3    1[  "
    "] \"node01 mlx5_0\" ( )\n"
    "   GUID 0x2c903006e29b0 port 6: [LinkDownedCounter == 8]\n\n"
    "## Summary: 26 nodes checked, 2 bad nodes found\n"
    "##          104 ports checked, 3 ports have errors beyond threshold\n";

const Finding* finding_of(const Verdict& verdict, std::string_view words) {
  for (const Finding& finding : verdict.findings)
    if (finding.message.find(words) != std::string::npos) return &finding;
  return nullptr;
}

TEST(CounterList, ReadsNodesPortsAndCounters) {
  ASSERT_TRUE(is_counter_list(kErrors));
  const auto list = parse_counter_list(kErrors, "errors.txt");
  ASSERT_TRUE(list) << list.error().text;
  ASSERT_EQ(list->fabric.nodes.size(), 2U);
  EXPECT_EQ(list->fabric.nodes[0].description, "node01 mlx5_0");
  EXPECT_FALSE(list->fabric.nodes[0].is_switch());
  EXPECT_TRUE(list->fabric.nodes[1].is_switch());
  ASSERT_EQ(list->look.ports.size(), 3U) << "the sum of all ports is no port";
  EXPECT_EQ(list->look.ports[1].end, (IbEnd{1, 5}));
  EXPECT_EQ(list->look.ports[1].first[IbCounter::kSymbolErrors], 65535U);
  EXPECT_EQ(list->look.ports[1].first[IbCounter::kXmitData], 52U);
  EXPECT_EQ(list->look.ports[0].first[IbCounter::kXmitWait], 4294967295U);
}

TEST(CounterList, IsJudgedByItselfForItsCountersAlone) {
  const auto list = parse_counter_list(kErrors, "errors.txt");
  ASSERT_TRUE(list);
  FabricEvidence evidence;
  evidence.fabric = list->fabric;
  evidence.counters = list->look;
  const Verdict verdict = verify_counters(evidence);
  const Finding* const sick = finding_of(verdict, "SymbolErrorCounter 65535");
  ASSERT_NE(sick, nullptr);
  EXPECT_EQ(sick->status, Status::kWarn);
  EXPECT_NE(sick->message.find("port 5"), std::string::npos) << sick->message;
  EXPECT_EQ(finding_of(verdict, "port 6"), nullptr) << "eight links that went down are below the threshold";
  EXPECT_EQ(finding_of(verdict, "port 1"), nullptr) << "waiting and dropped VL15 are no errors";
}

TEST(CounterList, IsJoinedToASubnetByGuid) {
  const auto list = parse_counter_list(kErrors, "errors.txt");
  ASSERT_TRUE(list);
  IbFabric fabric;
  IbNode leaf;
  leaf.type = IbNodeType::kSwitch;
  leaf.guid = 0x2c903006e29b0;
  for (int port = 0; port <= 36; ++port) leaf.ports.emplace_back().number = port;
  fabric.nodes.push_back(leaf);
  std::size_t unknown = 0;
  const IbCounterLook look = counters_in(fabric, *list, unknown);
  ASSERT_EQ(look.ports.size(), 2U);
  EXPECT_EQ(look.ports[0].end, (IbEnd{0, 5}));
  EXPECT_EQ(unknown, 1U) << "the adapter is not in that subnet";
}

// infiniband-diags before 1.6 printed each node's GUID, and no sum.
TEST(CounterList, ReadsTheOlderForm) {
  const auto list = parse_counter_list(
      "Errors for 0x800380001389e62 \"c015 HCA-1\"\n   GUID 0x800380001389e63 port 1: [PortRcvErrors == 52]\n",
      "e");
  ASSERT_TRUE(list) << list.error().text;
  EXPECT_EQ(list->look.ports[0].first[IbCounter::kRcvErrors], 52U);
  EXPECT_EQ(list->fabric.nodes[0].description, "c015 HCA-1");
}

TEST(CounterList, RefusesOtherTexts) {
  EXPECT_FALSE(is_counter_list("Errors for the test\nnone\n"));
  EXPECT_FALSE(parse_counter_list("", "e"));
  EXPECT_FALSE(parse_counter_list("Errors for \"a\"\n   GUID 0x1 port 999: [PortRcvErrors == 5]\n", "e"));
}

}  // namespace
}  // namespace railbed
