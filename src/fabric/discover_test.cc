// Discovery of simulated subnets: a door responds as each node would, or with false data.
#include "fabric/discover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <thread>

#include "fabric/mad.h"
#include "fabric/testing/tree.h"
#include "fabric/topology_file.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void store(Mad& mad, std::size_t at, std::size_t bytes, std::uint64_t value) {
  for (std::size_t i = 0; i < bytes; ++i)
    mad[64 + at + i] = static_cast<std::uint8_t>(value >> 8 * (bytes - 1 - i));
}

void store_node(Mad& mad, const IbNode& node, int local_port) {
  store(mad, 2, 1, static_cast<std::uint64_t>(node.type) + 1);
  store(mad, 3, 1, static_cast<std::uint64_t>(node.last_port()));
  store(mad, 4, 8, node.system_guid);
  store(mad, 12, 8, node.guid);
  store(mad, 20, 8,
        node.is_switch() ? node.port_guid : node.ports[static_cast<std::size_t>(local_port)].guid);
  store(mad, 30, 2, node.device);
  store(mad, 36, 1, static_cast<std::uint64_t>(local_port));
  store(mad, 37, 3, node.vendor);
}

void store_port(Mad& mad, const IbPort& port, bool manager) {
  store(mad, 16, 2, port.lid);
  store(mad, 20, 4, manager ? 2 : 0);
  store(mad, 30, 2, 0x0302);  // supports 1X and 4X; 4X is active
  store(mad, 32, 2, static_cast<std::uint64_t>(port.peer ? 0x74 : 0x71) << 8 | (port.peer ? 0x52 : 0x22));
  store(mad, 35, 1, 0x47);
  store(mad, 62, 1, 0x47);  // HDR of SDR to HDR
}

// Follows the path in a request and responds as the node at its end.
class ToldDoor : public MadDoor {
 public:
  explicit ToldDoor(IbFabric told, IbEnd start) : told_(std::move(told)), start_(start) {}
  std::function<bool(Mad& answer)> lie;  // false: nothing comes back
  std::size_t sent = 0, most_at_once = 0;

  bool send(const Mad& mad, const MadRoute& route, std::chrono::milliseconds) override {
    ++sent;
    if (auto answer = answer_to(mad, route)) ready_.push_back(*answer);
    most_at_once = std::max(most_at_once, ready_.size());
    return true;
  }
  std::optional<Mad> receive(std::chrono::milliseconds) override {
    if (ready_.empty()) return std::nullopt;
    const Mad mad = ready_.front();
    ready_.pop_front();
    return mad;
  }
  std::string name() const override { return "told"; }

 private:
  std::optional<Mad> answer_to(const Mad& mad, const MadRoute& route) {
    Mad answer = mad;
    answer[3] = 0x81;
    const auto modifier = static_cast<int>(mad[23]);
    const int attribute = mad[16] << 8 | mad[17];
    if (route.performance) {
      if (attribute == 0x12) answer[64 + 5] = 7;           // symbol errors
      if (attribute == 0x01) store(answer, 2, 2, 1 << 9);  // has the extended ones, of data
      if (attribute == 0x1D) answer[64 + 79] = 99;         // so this is no count of errors
      if (attribute == 0x1D) answer[64 + 11] = 1;          // XmitData, 2^32
      return answer;
    }
    IbEnd at = start_;
    for (int hop = 1; hop <= mad[7]; ++hop) {
      const int out = mad[128 + static_cast<std::size_t>(hop)];
      if (out > told_.at(at).last_port()) return std::nullopt;
      const IbEnd next = told_.port(IbEnd{at.node, out}).peer;
      if (!next) return std::nullopt;
      at = next;
    }
    if (attribute == 0x15 && modifier > told_.at(at).last_port()) return std::nullopt;
    if (attribute == 0x11) store_node(answer, told_.at(at), at.port);
    if (attribute == 0x15) store_port(answer, told_.port(IbEnd{at.node, modifier}), at == start_);
    if (attribute == 0x20) store(answer, 16, 5, 0x00000009'53);
    if (attribute == 0x10) {
      const std::string& text = told_.at(at).description;
      for (std::size_t i = 0; i < 64; ++i)
        answer[64 + i] = i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0;
    }
    return lie && !lie(answer) ? std::nullopt : std::optional(answer);
  }

  IbFabric told_;
  IbEnd start_;
  std::deque<Mad> ready_;
};

DiscoveryLimits quick() {
  DiscoveryLimits limits;
  limits.patience = std::chrono::milliseconds(1);
  return limits;
}

IbEnd first_hca() { return {8, 1}; }

TEST(Discover, FindsWhatIsThere) {
  ToldDoor door(told::fat_tree(), first_hca());
  const auto found = discover_fabric(door);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_THAT(found->nodes, SizeIs(24));
  EXPECT_THAT(found->silent, SizeIs(0));
  EXPECT_THAT(found->conflicts, SizeIs(0));
  std::size_t cables = 0;
  each_cable(*found, [&](const IbEnd& end, const IbEnd& other) {
    ++cables;
    EXPECT_EQ(found->port(end).active, (IbLink{4, IbSpeed::kHdr}));
    EXPECT_EQ(found->port(other).state, IbState::kActive);
  });
  EXPECT_EQ(cables, 32U);
  EXPECT_EQ(name_of(found->nodes[0]), "node0 mlx5_0");
  ASSERT_THAT(found->managers, SizeIs(1));
  EXPECT_EQ(found->managers[0].state, IbManagerState::kMaster);
  EXPECT_EQ(found->managers[0].priority, 5);
  EXPECT_EQ(found->managers[0].activity, 9U);
  EXPECT_LE(door.most_at_once, DiscoveryLimits{}.in_flight);
  EXPECT_TRUE(parse_topology(topology_text(*found), "dump"));
}

// PortInfo of a port that runs at QDR, and can no more.
void store_qdr(Mad& answer) {
  store(answer, 35, 1, 0x44);
  store(answer, 62, 1, 0);
}

TEST(Discover, AsksForFdr10WherePortInfoSaysQdr) {
  ToldDoor door(told::fat_tree(), first_hca());
  std::size_t asked = 0;
  door.lie = [&](Mad& answer) {
    if (answer[17] == 0x15) store_qdr(answer);
    if (answer[16] != 0xff || answer[17] != 0x90) return true;
    ++asked;
    EXPECT_EQ(answer[1], 0x81);  // by a directed route
    for (const std::size_t at : {7U, 11U, 15U}) store(answer, at, 1, 1);
    return true;
  };
  const auto found = discover_fabric(door);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(asked, 64U);  // each end of each cable, and no port without a cable
  EXPECT_EQ(found->nodes[0].ports[1].active, (IbLink{4, IbSpeed::kFdr10}));
  EXPECT_EQ(found->nodes[0].ports[1].supported, (IbLink{4, IbSpeed::kFdr10}));
}

TEST(Discover, Fdr10ThatIsSwitchedOffIsNotExpected) {
  for (const bool switched_on : {false, true}) {
    ToldDoor door(told::fat_tree({1, 2, 0}), {1, 1});
    door.lie = [&](Mad& answer) {
      if (answer[17] == 0x15) store_qdr(answer);
      if (answer[17] == 0x90) store(answer, 7, 1, 1);
      if (answer[17] == 0x90) store(answer, 11, 1, switched_on ? 1 : 0);
      return true;
    };
    const auto found = discover_fabric(door);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->nodes[0].ports[1].active.speed, IbSpeed::kQdr);
    EXPECT_EQ(found->nodes[0].ports[1].supported.speed, switched_on ? IbSpeed::kFdr10 : IbSpeed::kQdr);
  }
}

TEST(Discover, WhatDoesNotKnowTheVendorsAttributeIsQdr) {
  IbFabric told = told::fat_tree({1, 2, 0});
  for (IbNode& node : told.nodes) node.device = 0xbd36;  // InfiniScale IV: it would not answer
  ToldDoor door(told, {1, 1});
  door.lie = [&](Mad& answer) {
    if (answer[17] == 0x15) store_qdr(answer);
    EXPECT_NE(answer[17], 0x90);
    return true;
  };
  const auto found = discover_fabric(door);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->nodes[0].ports[1].active, (IbLink{4, IbSpeed::kQdr}));
}

TEST(Discover, AVendorsAttributeThatNobodyAnswersCostsNothingElse) {
  ToldDoor door(told::fat_tree({1, 2, 0}), {1, 1});
  door.lie = [&](Mad& answer) {
    if (answer[17] == 0x15) store_qdr(answer);
    return answer[17] != 0x90;
  };
  const auto found = discover_fabric(door, quick());
  ASSERT_TRUE(found);
  EXPECT_THAT(found->nodes, SizeIs(3));
  EXPECT_EQ(found->nodes[0].ports[1].active, (IbLink{4, IbSpeed::kQdr}));
}

TEST(Mads, XdrIsBesideTheOlderSpeeds) {
  Mad mad = {};
  store(mad, 30, 2, 0x0302);
  store(mad, 32, 2, 0x7452);
  store(mad, 35, 1, 0x47);
  store(mad, 56, 1, 1 << 5 | 1 << 3 | 1);
  store(mad, 62, 1, 0x8f);  // NDR of FDR to NDR: what it would say without
  IbPort port;
  port_info(mad, port);
  EXPECT_EQ(port.active, (IbLink{4, IbSpeed::kXdr}));
  EXPECT_EQ(port.supported, (IbLink{4, IbSpeed::kXdr}));
  store(mad, 56, 1, 1 << 3 | 1);  // it can, and trained at less
  port_info(mad, port);
  EXPECT_EQ(port.active, (IbLink{4, IbSpeed::kNdr}));
  EXPECT_EQ(port.supported, (IbLink{4, IbSpeed::kXdr}));
}

TEST(Discover, LostPacketsAreAskedForAgain) {
  ToldDoor door(told::fat_tree(), first_hca());
  int count = 0;
  door.lie = [&](Mad&) { return ++count % 3 != 0; };
  DiscoveryLimits limits = quick();
  limits.tries = 20;
  const auto found = discover_fabric(door, limits);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->nodes, SizeIs(24));
}

TEST(Discover, ASilentNodeIsSaid) {
  IbFabric told = told::fat_tree();
  ToldDoor door(told, first_hca());
  door.lie = [&](Mad& answer) {
    return !(answer[17] == 0x11 && answer[64 + 19] == 0x0a && answer[64 + 18] == 0x30);
  };
  const auto found = discover_fabric(door, quick());
  ASSERT_TRUE(found);
  EXPECT_THAT(found->nodes, SizeIs(23));
  ASSERT_THAT(found->silent, SizeIs(1));
  EXPECT_EQ(place_of(*found, found->silent[0].end), "port 2 of leaf1");
}

TEST(Discover, NothingAnswers) {
  ToldDoor door(told::fat_tree(), first_hca());
  door.lie = [](Mad&) { return false; };
  const auto found = discover_fabric(door, quick());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kUnavailable);
}

TEST(Discover, ALyingSwitchCostsNoMoreThanItsCap) {
  ToldDoor door(told::fat_tree({2, 1, 1}), {3, 1});
  std::uint64_t next = 0x900000;
  // Every node claims to be a new switch with 254 ports, and every path leads to one.
  door.lie = [&](Mad& answer) {
    if (answer[17] != 0x11) return true;
    store(answer, 2, 1, 2);
    store(answer, 3, 1, 254);
    store(answer, 12, 8, ++next);
    return true;
  };
  DiscoveryLimits limits = quick();
  limits.nodes = 50;
  const auto found = discover_fabric(door, limits);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_LE(found->nodes.size(), 50U);
}

TEST(Discover, TwoNodesWithOneGuid) {
  IbFabric told = told::fat_tree();
  told.nodes[9].guid = told.nodes[10].guid;
  ToldDoor door(told, first_hca());
  const auto found = discover_fabric(door, quick());
  ASSERT_TRUE(found);
  ASSERT_FALSE(found->conflicts.empty());
  EXPECT_EQ(found->conflicts[0].guid, told.nodes[10].guid);
}

// The process does not run for longer than the timeout of a request; the responses arrive in that time.
TEST(Discover, AnswersThatLieHereAreNotLate) {
  ToldDoor door(told::fat_tree(), first_hca());
  door.lie = [](Mad&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return true;
  };
  DiscoveryLimits limits = quick();
  limits.tries = 1;
  const auto found = discover_fabric(door, limits);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_THAT(found->nodes, SizeIs(24));
  EXPECT_THAT(found->silent, IsEmpty());
}

TEST(Discover, OddAnswersAreSilence) {
  for (const auto& [at, value] :
       std::vector<std::pair<std::size_t, std::uint8_t>>{{3, 255}, {3, 0}, {2, 9}, {36, 255}, {36, 200}}) {
    ToldDoor door(told::fat_tree(), first_hca());
    bool first = true;
    door.lie = [&, at = at, value = value](Mad& answer) {
      if (answer[17] == 0x11 && !std::exchange(first, false)) answer[64 + at] = value;
      return true;
    };
    const auto found = discover_fabric(door, quick());
    ASSERT_TRUE(found) << found.error().text;
    EXPECT_THAT(found->nodes, SizeIs(1));
    ASSERT_THAT(found->silent, SizeIs(1));
    EXPECT_THAT(found->silent[0].text, HasSubstr("makes no sense"));
  }
}

TEST(Discover, DescriptionsCannotSpeakToATerminal) {
  IbFabric told = told::fat_tree();
  told.nodes[8].description = "a\x1b[2J\nb";
  ToldDoor door(told, first_hca());
  const auto found = discover_fabric(door, quick());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->nodes[0].description.find('\x1b'), std::string::npos);
  EXPECT_EQ(found->nodes[0].description.find('\n'), std::string::npos);
}

TEST(Discover, EndsWhenStoppedAndInTime) {
  ToldDoor door(told::fat_tree(), first_hca());
  std::stop_source source;
  source.request_stop();
  DiscoveryLimits limits = quick();
  limits.stop = source.get_token();
  EXPECT_EQ(discover_fabric(door, limits).error().kind, ErrorKind::kCancelled);
  limits = quick();
  limits.whole = std::chrono::seconds(0);
  EXPECT_EQ(discover_fabric(door, limits).error().kind, ErrorKind::kTimeout);
}

TEST(Counters, AreReadOfEveryCabledPort) {
  ToldDoor door(told::fat_tree(), first_hca());
  const auto fabric = discover_fabric(door);
  ASSERT_TRUE(fabric);
  double slept = 0;
  const auto look = read_ib_counters(door, *fabric, 3, [&](std::chrono::duration<double> span) {
    slept = span.count();
    return true;
  });
  ASSERT_TRUE(look);
  EXPECT_THAT(look->ports, SizeIs(64));
  EXPECT_EQ(look->unanswered, 0U);
  EXPECT_EQ(slept, 3);
  EXPECT_EQ(look->ports[0].first[IbCounter::kSymbolErrors], 7U);
  EXPECT_EQ(look->ports[0].second.value()[IbCounter::kSymbolErrors], 7U);
  EXPECT_EQ(look->ports[0].second.value()[IbCounter::kXmitData], std::uint64_t{1} << 32);
}

TEST(Counters, TotalsAreOfSwitchesDarkPortsToo) {
  IbFabric told = told::fat_tree();
  for (std::size_t n = 0; n < told.nodes.size(); ++n)
    if (told.nodes[n].is_switch()) told.nodes[n].ports[0].lid = static_cast<unsigned>(n) + 1;
  ToldDoor door(told, first_hca());
  const auto fabric = discover_fabric(door);
  ASSERT_TRUE(fabric);
  const auto look = read_ib_totals(door, *fabric);
  ASSERT_TRUE(look);
  EXPECT_THAT(look->ports, SizeIs(64 + 8 * 3));  // three of each switch have no cable
  EXPECT_EQ(look->ports[0].first[IbCounter::kSymbolErrors], 7U);
  EXPECT_EQ(look->ports[0].first[IbCounter::kXmitData], std::uint64_t{1} << 32);
  EXPECT_FALSE(look->ports[0].second);
}

TEST(Mads, CountersLieWhereTheSpecificationSays) {
  Mad mad = {};
  mad[65] = 3;
  mad[64 + 5] = 1;
  mad[64 + 7] = 2;
  mad[64 + 19] = 0x34;
  mad[64 + 43] = 9;
  mad[64 + 31] = 5;
  mad[64 + 35] = 6;
  mad[64 + 39] = 8;
  const auto counts = port_counters(mad, 3);
  ASSERT_TRUE(counts);
  EXPECT_EQ((*counts)[IbCounter::kSymbolErrors], 1U);
  EXPECT_EQ((*counts)[IbCounter::kLinkDowned], 2U);
  EXPECT_EQ((*counts)[IbCounter::kLocalLinkIntegrity], 3U);
  EXPECT_EQ((*counts)[IbCounter::kExcessiveBufferOverrun], 4U);
  EXPECT_EQ((*counts)[IbCounter::kXmitWait], 9U);
  EXPECT_EQ((*counts)[IbCounter::kRcvData], 5U);
  EXPECT_EQ((*counts)[IbCounter::kXmitPackets], 6U);
  EXPECT_EQ((*counts)[IbCounter::kRcvPackets], 8U);
  EXPECT_FALSE(port_counters(mad, 4));
}

TEST(Mads, AQuestionIsNoAnswer) { EXPECT_FALSE(answer_of(ask_by_lid(MadAttribute::kNodeInfo, 0, 1))); }

}  // namespace
}  // namespace railbed
