#include "hardware/rails_ceiling.h"

#include <gtest/gtest.h>

#include "facts/facts.h"

namespace railbed {
namespace {

// A network adapter below `parent`; empty: it is a root port's own.
void add_card(Facts& facts, const std::string& interface, const std::string& address,
              const std::string& parent) {
  std::vector<PciDevice> pci = items(facts.pci);
  PciDevice card;
  card.address = address;
  card.link_now = {PcieLink{32, 16}, "sysfs"};
  card.max_payload = {256, "sysfs"};
  if (!parent.empty()) card.parent = {parent, "sysfs"};
  pci.push_back(card);
  facts.pci = {std::move(pci), "sysfs"};
  std::vector<NetInterface> net = items(facts.net.interfaces);
  NetInterface& made = net.emplace_back();
  made.name = interface;
  made.pci_address = {address, "sysfs"};
  facts.net.interfaces = {std::move(net), "sysfs"};
}

void add_bridge(Facts& facts, const std::string& address, const PcieLink& link) {
  std::vector<PciDevice> pci = items(facts.pci);
  PciDevice& bridge = pci.emplace_back();
  bridge.address = address;
  bridge.link_now = {link, "sysfs"};
  facts.pci = {std::move(pci), "sysfs"};
}

RailPath rail_of(const Facts& facts, const char* interface, double gigabits) {
  RailPath rail{{"a", interface, &facts}, {"b", interface, &facts}, {}};
  rail.alone.limits = {{"wire", BitRate::gigabits(gigabits), "sysfs"}};
  return rail;
}

double gigabits(const Ceiling& ceiling) { return ceiling.limits.front().rate.bits_per_second / 1e9; }

TEST(RailsCeiling, RailsOfTheirOwnAddUp) {
  Facts facts;
  add_card(facts, "ens1", "0000:1a:00.0", "");
  add_card(facts, "ens2", "0000:3d:00.0", "");
  const Ceiling both = rails_ceiling({rail_of(facts, "ens1", 392), rail_of(facts, "ens2", 392)});
  EXPECT_EQ(gigabits(both), 784);
  EXPECT_EQ(both.limits.size(), 1u);
  EXPECT_TRUE(shared_hops(facts, "a", {"ens1", "ens2"}).empty());
}

TEST(RailsCeiling, CardsBelowOneSwitchShareItsUplink) {
  Facts facts;
  add_bridge(facts, "0000:10:00.0", {16, 16});  // Gen4 x16: 228.6 Gb/s of data
  add_card(facts, "ens1", "0000:1a:00.0", "0000:10:00.0");
  add_card(facts, "ens2", "0000:1b:00.0", "0000:10:00.0");
  add_card(facts, "ens3", "0000:3d:00.0", "");
  const Ceiling all =
      rails_ceiling({rail_of(facts, "ens1", 198), rail_of(facts, "ens2", 198), rail_of(facts, "ens3", 198)});
  EXPECT_NEAR(gigabits(all), 228.8 + 198, 1);
  EXPECT_EQ(all.limits.front().name, "rails of a, where ens1, ens2 share PCIe Gen4 x16 at 0000:10:00.0 of a");
}

TEST(RailsCeiling, ManyThatShareAreNamedByTheFirst) {
  Facts facts;
  std::vector<RailPath> rails;
  for (int i = 0; i < 4; ++i) {
    const std::string bus = std::to_string(10 + i / 2);
    if (i % 2 == 0) add_bridge(facts, "0000:" + bus + ":00.0", {16, 16});
    add_card(facts, "ens" + std::to_string(i), "0000:1" + std::to_string(i) + ":01.0",
             "0000:" + bus + ":00.0");
  }
  for (const char* name : {"ens0", "ens1", "ens2", "ens3"}) rails.push_back(rail_of(facts, name, 198));
  const Ceiling all = rails_ceiling(rails);
  EXPECT_NEAR(gigabits(all), 2 * 228.8, 1);
  EXPECT_EQ(
      all.limits.front().name,
      "rails of a, where ens0, ens1 share PCIe Gen4 x16 at 0000:10:00.0 of a, and 1 more share likewise");
}

TEST(RailsCeiling, TwoFunctionsOfOneCardShareItsSlot) {
  Facts facts;
  add_card(facts, "ens1f0", "0000:1a:00.0", "");
  add_card(facts, "ens1f1", "0000:1a:00.1", "");
  const Ceiling both = rails_ceiling({rail_of(facts, "ens1f0", 392), rail_of(facts, "ens1f1", 392)});
  EXPECT_NEAR(gigabits(both), 457.6, 1);
}

TEST(RailsCeiling, OneThatIsNotKnownLeavesNone) {
  const Facts facts;
  RailPath bare = rail_of(facts, "ens2", 1);
  bare.alone = {{}, "ens2 of a states no speed"};
  const Ceiling both = rails_ceiling({rail_of(facts, "ens1", 392), bare});
  EXPECT_TRUE(both.limits.empty());
  EXPECT_EQ(both.note, "ens2 of a states no speed");
}

TEST(RailsCeiling, OneVirtualRailMakesItNominal) {
  const Facts facts;
  RailPath veth = rail_of(facts, "veth", 10);
  veth.alone.nominal = true;
  EXPECT_TRUE(rails_ceiling({rail_of(facts, "ens1", 10), veth}).nominal);
}

}  // namespace
}  // namespace railbed
