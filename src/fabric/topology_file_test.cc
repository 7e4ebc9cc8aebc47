#include "fabric/topology_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/layout.h"
#include "fabric/testing/tree.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kDump = R"(#
# Topology file: generated on Sat Nov 21 04:15:07 2026
#
# Initiated from node 0002c9030010aa10 port 0002c9030010aa11

vendid=0x2c9
devid=0xbd36
sysimgguid=0x2c902004885ab
switchguid=0x2c902004885a8(2c902004885a8)
Switch	8 "S-0002c902004885a8"		# "IS5022 "old" leaf0" base port 0 lid 1 lmc 0
[1][ext 1]	"H-0002c9030010aa00"[1](2c9030010aa01) 		# "node1 HCA-1" lid 2 4xQDR
[2]	"H-0002c9030010aa10"[1](2c9030010aa11) 		# "node2 HCA-1" lid 3 1xSDR

vendid=0x2c9
devid=0x1003
sysimgguid=0x2c9030010aa03
caguid=0x2c9030010aa00
Ca	1 "H-0002c9030010aa00"		# "node1 HCA-1"
[1](2c9030010aa01) 	"S-0002c902004885a8"[1]		# lid 2 lmc 0 "IS5022 leaf0" lid 1 4xQDR

caguid=0x2c9030010aa10
Ca	1 "H-0002c9030010aa10"		# "node2 HCA-1"
[1](2c9030010aa11) 	"S-0002c902004885a8"[2]		# lid 3 lmc 0 "IS5022 leaf0" lid 1 1xSDR
)";

TEST(Topology, IsReadAsIbnetdiscoverWritesIt) {
  const auto fabric = parse_topology(kDump, "dump");
  ASSERT_TRUE(fabric) << fabric.error().text;
  ASSERT_EQ(fabric->nodes.size(), 3U);
  const IbNode& leaf = fabric->nodes[0];
  EXPECT_EQ(leaf.description, "IS5022 \"old\" leaf0");
  EXPECT_EQ(leaf.device, 0xbd36U);
  EXPECT_EQ(leaf.ports[0].lid, 1U);
  EXPECT_EQ(leaf.ports[2].active, (IbLink{1, IbSpeed::kSdr}));
  EXPECT_EQ(leaf.ports[1].peer, (IbEnd{1, 1}));
  EXPECT_EQ(fabric->nodes[1].ports[1].guid, 0x2c9030010aa01U);
  EXPECT_EQ(fabric->nodes[1].ports[1].lid, 2U);
  EXPECT_EQ(fabric->from_node, 0x2c9030010aa10U);
  EXPECT_EQ(layout_of(*fabric).shape, IbShape::kOneSwitch);
}

// ibnetdiscover -f adds the peer's speed, width and lanes; -g groups nodes by chassis; warnings come from stderr.
TEST(Topology, OptionsAndWarningsOfTheToolAreSkipped) {
  std::string dump =
      "src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,19 Attr 0x11:0) bad status 110; Connection timed out\n"
      "ibwarn: [565044] mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0,1,20)\n\nNon-Chassis Nodes\n\n" +
      std::string(kDump);
  for (const std::string rate : {"4xQDR", "1xSDR"})
    for (std::size_t at = dump.find(rate); at != dump.npos; at = dump.find(rate, at + 1))
      dump.insert(at + rate.size(), " s=2 w=2 v=4 e=4");
  const auto fabric = parse_topology(dump, "dump");
  ASSERT_TRUE(fabric) << fabric.error().text;
  EXPECT_EQ(fabric->nodes.size(), 3U);
  EXPECT_EQ(fabric->nodes[0].ports[1].active, (IbLink{4, IbSpeed::kQdr}));
  EXPECT_EQ(fabric->nodes[0].ports[2].active, (IbLink{1, IbSpeed::kSdr}));
  EXPECT_FALSE(parse_topology(dump + "\nsomething else\n", "dump"));
}

TEST(Topology, IsTheSameAfterWritingAndReading) {
  const auto once = topology_text(told::fat_tree());
  const auto read = parse_topology(once, "once");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(topology_text(*read), once);
}

TEST(Topology, ADescriptionCannotWriteLines) {
  IbFabric fabric = told::fat_tree({1, 1, 0});
  fabric.nodes[1].description = "evil\"\n[2]\t\"S-1\"[1] # \x1b[31m";
  const std::string text = topology_text(fabric);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const auto read = parse_topology(text, "text");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->nodes.size(), 2U);
}

TEST(Topology, ComplaintsNameTheirLine) {
  const auto error = [](std::string_view text) { return parse_topology(text, "plan").error().text; };
  EXPECT_THAT(error(""), HasSubstr("no node is in it"));
  EXPECT_THAT(error("hello\n"), HasSubstr("plan:1:1: this is no line that ibnetdiscover writes"));
  EXPECT_THAT(error("Switch\t900 \"S-1\"\n"), HasSubstr("1 to 254 ports"));
  EXPECT_THAT(error("Switch\t8 \"S-1\"\n[9]\t\"S-1\"[1]\n"),
              HasSubstr("plan:2:1: its node has ports 1 to 8"));
  EXPECT_THAT(error("Switch\t8 \"S-1\"\n[1]\t\"S-2\"[1]\n"), HasSubstr("no line of its own"));
  EXPECT_THAT(error("Switch\t8 \"S-1\"\n[1]\t\"S-1\"[255]\n"), HasSubstr("no port of that number"));
  EXPECT_THAT(error("Switch\t8 \"S-1\"\n[1]\t\"S-1\"[2]\n[1]\t\"S-1\"[3]\n"),
              HasSubstr("had its line before"));
  EXPECT_THAT(error("Switch\t8 \"S-1\"\n[1]\t\"S-1\"[2]\n[2]\t\"S-1\"[3]\n"),
              HasSubstr("says something else"));
  EXPECT_THAT(error("[1]\t\"S-1\"[2]\n"), HasSubstr("below its node's"));
}

TEST(Topology, TheSameNodeTwiceIsAConflictNotAnError) {
  const auto fabric = parse_topology("Switch\t8 \"S-1\" # \"a\"\nSwitch\t8 \"S-1\" # \"b\"\n", "dump");
  ASSERT_TRUE(fabric);
  ASSERT_EQ(fabric->conflicts.size(), 1U);
  EXPECT_EQ(fabric->conflicts[0].text, "a and b");
}

TEST(Topology, PortsAreCounted) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += fmt::format("Switch\t254 \"S-{:x}\"\n", i + 1);
  EXPECT_THAT(parse_topology(text, "big").error().text, HasSubstr("more nodes or ports than a subnet has"));
}

TEST(Layout, ShapesAndRouting) {
  const auto shape = [](const IbFabric& fabric) { return layout_of(fabric).shape; };
  EXPECT_EQ(shape(told::fat_tree()), IbShape::kFatTree);
  EXPECT_EQ(shape(told::fat_tree({1, 3, 0})), IbShape::kOneSwitch);
  IbFabric ring = told::fat_tree({3, 2, 0});
  for (int i = 0; i < 3; ++i) told::plug(ring, {i, 3}, {(i + 1) % 3, 4});
  EXPECT_EQ(shape(ring), IbShape::kOther);
  EXPECT_EQ(routing_for(layout_of(ring)).engines, "updn or nue");
  EXPECT_EQ(routing_for(layout_of(told::fat_tree())).engines, "ftree or updn");
  EXPECT_EQ(describe(ring, layout_of(ring)), "3 switches, no tree");
}

}  // namespace
}  // namespace railbed
