// A subnet as text, JSON and a picture; what nodes call themselves is never markup, nor a terminal's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "fabric/testing/tree.h"
#include "report/fabric_svg.h"
#include "report/fabric_text.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

}  // namespace
}  // namespace railbed
