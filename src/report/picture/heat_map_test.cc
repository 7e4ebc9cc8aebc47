#include "report/picture/heat_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

HeatMap sample() {
  HeatMap map;
  map.title = "rail0: <TCP>";
  map.names = {"n1", "n2", "node3"};
  map.typical = 40e9;
  map.cells = {{0, 1, 40e9}, {1, 0, 39e9}, {0, 2, 10e9}, {2, 0, std::nullopt}};
  return map;
}

TEST(HeatMap, TextShowsRowsColumnsFailuresAndGaps) {
  const std::string text = heat_map_text(sample());
  EXPECT_THAT(text, HasSubstr("     n1  █▂\n"));
  EXPECT_THAT(text, HasSubstr("     n2 █ ·\n"));
  EXPECT_THAT(text, HasSubstr("  node3 x· \n"));
}

TEST(HeatMap, NoTextForMoreThanAScreenful) {
  HeatMap map = sample();
  map.names.assign(65, "n");
  EXPECT_EQ(heat_map_text(map), "");
  EXPECT_EQ(heat_map_text({}), "");
}

TEST(HeatMap, SvgNamesEachCellAndEscapes) {
  const std::string svg = heat_map_svg(sample());
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(svg, HasSubstr("rail0: &lt;TCP&gt;"));
  EXPECT_THAT(svg, HasSubstr("<title>n1 → node3: 25 %</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>node3 → n1: failed</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("<TCP>")));
}

}  // namespace
}  // namespace railbed
