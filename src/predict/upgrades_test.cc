#include "predict/upgrades.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

// A node whose GPUs are behind an adapter that cannot reach them: 4.55 GB/s on the wire, 7 in the slot.
NodePath staged() {
  NodePath path;
  path.ports = 1;
  path.port = path.port_most = BitRate::gigabytes(4.55);
  path.slots = path.slots_most = BitRate::gigabytes(7);
  path.gpus = true;
  path.staged = "mlx4 cannot";
  return path;
}

TEST(Limits, TheLeastBinds) {
  NodePath path = staged();
  EXPECT_EQ(limits_of(path).front().name, "staging through host memory");
  EXPECT_NEAR(limits_of(path).front().rate.gigabytes(), 2.0, 1e-9);  // the guide's
  path.staged.clear();
  EXPECT_EQ(limits_of(path).front().name, "the network port");
  path.port = BitRate::gigabytes(12);
  path.ports = 2;
  EXPECT_EQ(limits_of(path).front().name, "PCIe slots of the adapters");
  path.slots.reset();
  EXPECT_EQ(limits_of(path).front().name, "2 network ports");
  path.ports = 0;
  EXPECT_TRUE(limits_of(path).empty());
}

TEST(Upgrades, ANodeWithoutPortsIsNotAdvised) {
  const auto all = advise_upgrades({{"a", Facts{}}, {"b", Facts{}}}, {});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(all[0].upgrades.empty());
  EXPECT_NE(all[0].note, "");
}

TEST(Prices, AreTheUsersOrNone) {
  const auto list = parse_prices("{currency: EUR, adapter: 75, cable: 20.5}", "prices.yaml");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->currency, "EUR");
  EXPECT_DOUBLE_EQ(*list->price_of(UpgradePartKind::kCable), 20.5);
  EXPECT_FALSE(list->price_of(UpgradePartKind::kSwitch));
}

TEST(Prices, OfNonsenseAreRefused) {
  for (const char* text :
       {"adapter: -1", "adapter: nan", "adapter: 1e300", "adapter: cheap", "tape: 3", "[1, 2]", "7",
        "currency: \"E U\"", "adapter: {a: 1}", "{adapter: 1, adapter: 2}", "{"})
    EXPECT_FALSE(parse_prices(text, "prices.yaml")) << text;
}

}  // namespace
}  // namespace railbed
