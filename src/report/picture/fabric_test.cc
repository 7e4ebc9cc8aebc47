// A subnet as text, JSON and a picture; a node's own name must never act as markup or control a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "base/json.h"
#include "fabric/judge.h"
#include "fabric/testing/tree.h"
#include "report/picture/fabric_svg.h"
#include "report/text/fabric_counters.h"
#include "report/text/fabric_text.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kGolden = RAILBED_SOURCE_DIR "/docs/images/fabric.svg";

IbFabric hostile_tree() {
  IbFabric fabric = told::live_tree({2, 2, 2});
  fabric.nodes[0].description = "<script>\x1b[2Jalert(1)</script>";
  fabric.nodes[5].description = "\"><img src=x>";
  return fabric;
}

TEST(FabricText, NamesEveryCable) {
  const std::string text = fabric_text(told::live_tree());
  EXPECT_THAT(text,
              HasSubstr("8 switches, 16 HCAs, 32 cables: a fat tree of 2 levels: 4 leaves, 4 above them"));
  EXPECT_THAT(text, HasSubstr("4xHDR     node3 mlx5_0 port 1, lid 12  ACTIVE"));
  EXPECT_THAT(text, HasSubstr("subnet manager on node0 mlx5_0"));
}

TEST(FabricText, AndJsonShowNoControlCharacter) {
  EXPECT_THAT(fabric_text(hostile_tree()), Not(HasSubstr("\x1b")));
  const auto document = json::parse(fabric_json(hostile_tree()));
  ASSERT_TRUE(document);
  EXPECT_EQ((*document)["nodes"].size(), 8U);
  EXPECT_EQ((*document)["nodes"][4]["ports"][0]["peer"]["port"], 1);
}

TEST(FabricSvg, IsMarkupOfOursOnly) {
  const std::string svg = fabric_svg(hostile_tree());
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("<img")));
  EXPECT_THAT(svg, Not(HasSubstr("\x1b")));
  EXPECT_THAT(svg, HasSubstr("spine1"));
}

TEST(FabricSvg, DrawsWhatHasNoSwitch) {
  IbFabric pair = told::fat_tree({1, 2, 0});
  pair.nodes.erase(pair.nodes.begin());
  for (IbNode& node : pair.nodes) node.ports[1] = {};
  told::plug(pair, {0, 1}, {1, 1});
  EXPECT_THAT(fabric_svg(pair), HasSubstr("node1 mlx5_0"));
  EXPECT_THAT(fabric_svg(IbFabric{}), HasSubstr("</svg>"));
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string verified_svg(const FabricEvidence& evidence) {
  return fabric_svg(FabricView(evidence), verify_fabric(evidence).findings);
}

// The plan is a tree of two leaves. There, the cable from leaf0 to spine0 runs on one lane, that from leaf1 to spine1
// is gone, and node3's is too slow.
FabricEvidence sick_tree() {
  FabricEvidence evidence;
  evidence.plan = told::live_tree({2, 2, 2});
  evidence.fabric = *evidence.plan;
  IbFabric& fabric = evidence.fabric;
  const auto set = [&](const IbEnd& end, IbLink link) {
    fabric.port(end).active = link;
    fabric.port(fabric.port(end).peer).active = link;
  };
  set({0, 3}, {1, IbSpeed::kHdr});
  set({1, 2}, {4, IbSpeed::kEdr});
  told::unplug(fabric, {1, 4});
  return evidence;
}

TEST(FabricSvg, MarksFindingsWhereTheyAre) {
  const std::string svg = verified_svg(sick_tree());
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    EXPECT_TRUE(write_file(kGolden, svg));
  }
  EXPECT_EQ(svg, read_file(kGolden).value_or("")) << "UPDATE_GOLDEN=1 writes it anew";
  // By shape, with the number of the finding, and not by color alone.
  EXPECT_THAT(svg, HasSubstr("class=\"wire bad\""));
  EXPECT_THAT(svg, HasSubstr("class=\"wire gone\""));
  EXPECT_THAT(svg, HasSubstr("class=\"hca box bad\""));
  EXPECT_THAT(svg, HasSubstr(">1xHDR</text>"));
  EXPECT_THAT(svg, HasSubstr(">4xEDR</text>"));
  EXPECT_THAT(svg, HasSubstr(">no link</text>"));
  EXPECT_THAT(svg, HasSubstr("class=\"manager\""));
  EXPECT_THAT(svg, HasSubstr("A link without a rate is 4xHDR."));
  EXPECT_THAT(svg, HasSubstr("fabric.missing-link: there is no link between"));
  // A sound subnet has none of these.
  EXPECT_THAT(fabric_svg(told::live_tree({2, 2, 2})), Not(HasSubstr("class=\"mark")));
}

TEST(FabricSvg, HostileNamesInFindingsAreText) {
  FabricEvidence evidence = sick_tree();
  for (IbFabric* fabric : {&evidence.fabric, &*evidence.plan}) {
    fabric->nodes[0].description = "</text><script>alert(1)</script>\x1b[2J port 3 of leaf1";
    fabric->nodes[2].description = "port 1 of port 2 of \"><img src=x>";
    fabric->nodes[7].description = "port 99999999999999999999 of x";
  }
  const std::string svg = verified_svg(evidence);
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("<img")));
  EXPECT_THAT(svg, Not(HasSubstr("\x1b")));
  EXPECT_THAT(svg, HasSubstr("class=\"wire bad\"")) << "and they are found all the same";
}

TEST(FabricSvg, LinksOfADragonflyAreArcsBetweenItsGroups) {
  const std::string svg = fabric_svg(told::dragonfly(5, 4, 2));
  EXPECT_THAT(svg, HasSubstr("<title>20 switches in 5 groups, no tree</title>"));
  EXPECT_EQ(count_of(svg, "class=\"frame\""), 5U);
  EXPECT_EQ(count_of(svg, "Q"), 5U * 6 + 10) << "each link between switches";
  EXPECT_THAT(svg, HasSubstr(">group 5</text>"));
}

TEST(FabricSvg, ManySwitchesAreFoldedAndASickOneIsNot) {
  FabricEvidence evidence;
  evidence.fabric = told::live_tree({100, 6, 20});
  const IbEnd sick{17, 3};
  for (const IbEnd& end : {sick, evidence.fabric.port(sick).peer})
    evidence.fabric.port(end).active = {1, IbSpeed::kHdr};
  const std::string svg = verified_svg(evidence);
  EXPECT_LT(svg.size(), 40'000U);
  EXPECT_THAT(svg, HasSubstr(">leaf17</text>"));
  EXPECT_THAT(svg, HasSubstr(">leaf0</text>")) << "below it is the subnet manager";
  EXPECT_THAT(svg, HasSubstr("98 switches · 588 HCAs"));
  EXPECT_THAT(svg, HasSubstr(">20 switches</text>"));
  EXPECT_EQ(count_of(svg, "class=\"hca box bad\""), 1U);
  // A dragonfly of 17 groups: one box each, and a line between each two.
  const std::string groups = fabric_svg(told::dragonfly(17, 8, 1));
  EXPECT_EQ(count_of(groups, "class=\"frame\""), 17U);
  EXPECT_EQ(count_of(groups, "class=\"wire\""), 17U * 16 / 2);
  EXPECT_LT(groups.size(), 100'000U);
}

TEST(FabricSvg, EveryFindingOfALargeSubnetIsNamedOrCounted) {
  FabricEvidence evidence;
  evidence.fabric = told::live_tree({60, 4, 4});
  for (int leaf = 0; leaf < 60; ++leaf)
    for (const IbEnd& end : {IbEnd{leaf, 1}, evidence.fabric.port({leaf, 1}).peer})
      evidence.fabric.port(end).active = {1, IbSpeed::kHdr};
  const std::string svg = verified_svg(evidence);
  EXPECT_THAT(svg, HasSubstr("and 20 more"));
  EXPECT_EQ(count_of(svg, "class=\"hca box bad\""), 24U) << "of those that are unfolded";
  EXPECT_EQ(count_of(svg, "class=\"switch box bad\""), 1U) << "the fold has the others";
}

// Each cabled port has counted a number of symbol errors that equals its own number. Port 9 of the first leaf
// has lost its cable and remembers two losses.
IbCounterLook told_counters(const IbFabric& fabric) {
  IbCounterLook look;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    for (const IbPort& port : fabric.nodes[n].ports) {
      if (port.number == 0 || (!port.peer && !fabric.nodes[n].is_switch())) continue;
      IbCounterReading reading{{static_cast<int>(n), port.number}, {}, std::nullopt};
      if (port.peer) reading.first.value[0] = static_cast<std::uint64_t>(port.number);
      reading.first.value[static_cast<std::size_t>(IbCounter::kXmitData)] = 10;
      if (n == 0 && port.number == 9)
        reading.first.value[static_cast<std::size_t>(IbCounter::kLinkDowned)] = 255;
      look.ports.push_back(reading);
    }
  return look;
}

TEST(FabricCounters, AreTotalsForPrometheus) {
  const IbFabric fabric = told::live_tree();
  const std::string text = counters_prometheus(fabric, told_counters(fabric));
  EXPECT_THAT(text, HasSubstr("# TYPE infiniband_switch_port_symbol_error_total counter\n"));
  EXPECT_THAT(
      text,
      HasSubstr("\ninfiniband_switch_port_symbol_error_total{guid=\"0x0000000000001000\",port=\"3\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("\ninfiniband_hca_port_transmit_data_bytes_total{guid=\"0x0000000000003000\","
                              "port=\"1\"} 40\n"));  // words of four bytes
  EXPECT_THAT(text, HasSubstr("\ninfiniband_switch_uplink_info{guid=\"0x0000000000001000\",port=\"1\","
                              "switch=\"leaf0\",uplink=\"node0 mlx5_0\",uplink_guid=\"0x0000000000003000\","
                              "uplink_type=\"CA\",uplink_port=\"1\",uplink_lid=\"9\"} 1\n"));
  // The port that lost its link is reported; dark ports that never had one are not.
  EXPECT_THAT(
      text,
      HasSubstr("\ninfiniband_switch_port_link_downed_total{guid=\"0x0000000000001000\",port=\"9\"} 255"));
  EXPECT_THAT(text, HasSubstr("\nrailbed_fabric_counters_full{guid=\"0x0000000000001000\",port=\"9\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("guid=\"0x0000000000001001\",port=\"9\"")));
  EXPECT_THAT(text, HasSubstr("\nrailbed_fabric_ports 65\n"));
}

TEST(FabricCounters, HaveABound) {
  const IbFabric fabric = told::live_tree();
  const std::string text = counters_prometheus(fabric, told_counters(fabric), 10);
  EXPECT_THAT(text, HasSubstr("\nrailbed_fabric_ports 10\n"));
  EXPECT_THAT(text, HasSubstr("\nrailbed_fabric_ports_left_out 55\n"));
  EXPECT_THAT(text, Not(HasSubstr("infiniband_hca_port_symbol_error_total{")));  // switches go first
}

TEST(FabricCounters, HostileNamesStayInTheirLabel) {
  IbFabric fabric = hostile_tree();
  fabric.nodes[6].description = "a\"} 1\nevil_total 9\n\\";
  const IbCounterLook look = told_counters(fabric);
  const std::string text = counters_prometheus(fabric, look);
  EXPECT_THAT(text, Not(HasSubstr("\nevil_total")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("hca=\"a\\\"} 1"));
  EXPECT_THAT(counters_text(fabric, look), Not(HasSubstr("\x1b")));
  const auto document = json::parse(counters_json(fabric, look));
  ASSERT_TRUE(document);
  EXPECT_EQ((*document)["ports"].size(), 16U);
}

TEST(FabricCounters, TextNamesPortsWithErrors) {
  const IbFabric fabric = told::live_tree();
  const std::string text = counters_text(fabric, told_counters(fabric));
  EXPECT_THAT(text, HasSubstr("port 3 of leaf0, cabled to port 1 of node2 mlx5_0\n  SymbolErrorCounter"));
  EXPECT_THAT(text, HasSubstr("port 9 of leaf0, without a link\n  LinkDownedCounter             255\n"));
  EXPECT_THAT(text, HasSubstr("65 of 65 ports have counted errors"));
}

}  // namespace
}  // namespace railbed
