#include "predict/upgrades.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace railbed {
namespace {

template <class T>
Reading<T> seen(T value) {
  return Reading<T>(std::move(value), "test");
}

struct CardAt {
  std::string name = "mlx5_0";
  std::string interface = "ens1np0";
  std::uint16_t device = 0x1013;
  double gigabits = 100;
  std::string layer = "Ethernet";
  PcieLink now = {8, 16};
  PcieLink slot = {8, 16};
  PcieLink most = {8, 16};
  int bus = 0x10;
  int under = 0;  // of a PCIe switch with this number, together with a GPU; 0: of the root
};

// A node with GPUs at root ports of their own, or with adapters below PCIe switches.
class Machine {
 public:
  explicit Machine(const std::string& gpu, int gpus = 2) {
    for (int i = 0; i < gpus; ++i) {
      Gpu one;
      one.model = seen(gpu);
      one.pci_address = fmt::format("0000:{:02x}:00.0", 0x80 + i);
      gpus_.push_back(one);
    }
  }

  Machine& add_switch(int number) {
    bridge(fmt::format("0000:00:{:02x}.0", number), "", {32, 16});
    bridge(fmt::format("0000:{:02x}:00.0", number), fmt::format("0000:00:{:02x}.0", number), {32, 16});
    pci(fmt::format("0000:{:02x}:00.0", 0x7f + number), fmt::format("0000:{:02x}:00.0", number), 0x10de,
        0x2330, 0x030200);
    return *this;
  }

  Machine& add(const CardAt& card, int function = 0) {
    const std::string parent = card.under > 0 ? fmt::format("0000:{:02x}:00.0", card.under)
                                              : fmt::format("0000:00:{:02x}.1", card.bus);
    if (card.under == 0 && function == 0) bridge(parent, "", card.slot);
    const std::string address = fmt::format("0000:{:02x}:00.{}", card.bus, function);
    pci(address, parent, 0x15b3, card.device, 0x020000);
    devices_.back().link_now = seen(card.now);
    devices_.back().link_max = seen(card.most);
    RdmaDevice device;
    device.name = card.name;
    device.hca_type = seen(fmt::format("MT{}", card.device));
    device.driver = seen<std::string>(card.device < 0x1011 ? "mlx4_core" : "mlx5_core");
    device.pci_address = seen(address);
    RdmaPort port;
    port.state = seen<std::string>("ACTIVE");
    port.link_layer = seen(card.layer);
    port.rate = seen(BitRate::gigabits(card.gigabits));
    port.active_mtu = seen(card.device < 0x1011 ? 2048 : 4096);
    Gid gid;
    gid.gid = seen(*IpAddress::parse("::ffff:10.0.0.1"));
    gid.type = seen<std::string>("RoCE v2");
    gid.netdev = seen(card.interface);
    port.gids = seen(std::vector<Gid>{gid});
    device.ports = seen(std::vector<RdmaPort>{port});
    rdma_.push_back(device);
    NetInterface interface;
    interface.name = card.interface;
    interface.pci_address = seen(address);
    interfaces_.push_back(interface);
    return *this;
  }

  Machine& pci(const std::string& address, const std::string& parent, std::uint16_t vendor, std::uint16_t id,
               std::uint32_t code) {
    PciDevice device;
    device.address = address;
    if (!parent.empty()) device.parent = seen(parent);
    device.vendor = seen(vendor);
    device.device = seen(id);
    device.class_code = seen(code);
    devices_.push_back(device);
    return *this;
  }

  Facts facts() const {
    Facts facts;
    auto devices = devices_;
    std::ranges::sort(devices, {}, &PciDevice::address);
    facts.pci = seen(devices);
    facts.gpus.devices = seen(gpus_);
    facts.gpus.peer_memory = seen<std::string>("nvidia-peermem");
    facts.rdma.devices = seen(rdma_);
    facts.rdma.verbs_library = seen<std::string>("libibverbs.so.1");
    facts.net.interfaces = seen(interfaces_);
    return facts;
  }

 private:
  void bridge(const std::string& address, const std::string& parent, PcieLink link) {
    pci(address, parent, 0x8086, 0x2f04, 0x060400);
    devices_.back().link_now = seen(link);
    devices_.back().link_max = seen(link);
  }

  std::vector<PciDevice> devices_;
  std::vector<Gpu> gpus_;
  std::vector<RdmaDevice> rdma_;
  std::vector<NetInterface> interfaces_;
};

Cluster cluster_of(const std::vector<std::string>& nodes, const std::vector<std::string>& interfaces,
                   Topology topology, Fabric fabric = Fabric::kRoce) {
  Cluster cluster;
  for (const std::string& interface : interfaces) {
    Rail rail;
    rail.name = "rail-" + interface;
    rail.fabric = fabric;
    rail.topology = topology;
    for (const std::string& node : nodes) rail.ports.push_back({node, interface, std::nullopt});
    cluster.rails.push_back(rail);
  }
  for (const std::string& name : nodes) {
    Node node;
    node.name = name;
    cluster.nodes.push_back(node);
  }
  return cluster;
}

ClusterPart part_of(PartKind kind, std::string model) {
  ClusterPart part;
  part.kind = kind;
  part.model = std::move(model);
  return part;
}

NodeUpgrades advise(const Facts& facts, const Cluster& cluster = {}, const PriceList& prices = {}) {
  std::map<std::string, Facts> nodes;
  for (const Node& node : cluster.nodes) nodes[node.name] = facts;
  if (nodes.empty()) nodes["a"] = facts;
  const auto all = advise_upgrades(cluster, nodes, prices);
  EXPECT_EQ(all.size(), 1u);
  return all.front();
}

const Upgrade* find(const NodeUpgrades& node, std::string_view name) {
  const auto it = std::ranges::find(node.upgrades, name, &Upgrade::name);
  return it == node.upgrades.end() ? nullptr : &*it;
}
std::string why_useless(const NodeUpgrades& node, std::string_view name) {
  const auto it = std::ranges::find(node.useless, name, &UselessUpgrade::name);
  return it == node.useless.end() ? "" : it->why;
}

const std::vector<std::string> kPair = {"a", "b"};

Machine v100_pair() {
  CardAt card;
  card.name = "mlx4_0";
  card.interface = "ens6";
  card.device = 0x1007;
  card.gigabits = 40;
  card.now = card.slot = card.most = {8, 8};
  Machine machine("Tesla V100-PCIE-16GB");
  machine.add(card);
  return machine;
}

TEST(Upgrades, TheV100PairGetsTheGuidesAdapters) {
  const NodeUpgrades node = advise(v100_pair().facts(), cluster_of(kPair, {"ens6"}, Topology::kBackToBack));
  EXPECT_EQ(node.limits.front().name, "staging through host memory");
  EXPECT_NEAR(node.limits.front().rate.gigabytes(), 2.0, 1e-9);  // the guide's measurement
  const Upgrade* adapter = find(node, "adapter with GPUDirect RDMA");
  ASSERT_NE(adapter, nullptr);
  ASSERT_EQ(adapter->parts.size(), 1u);
  const auto& numbers = adapter->parts[0].numbers;
  EXPECT_EQ(numbers[0], "MCX415A-CCAT");
  EXPECT_EQ(numbers[1], "MCX515A-CCAT");
  EXPECT_EQ(adapter->parts[0].quantity, 1);
  EXPECT_EQ(adapter->parts[0].total, 2);
  EXPECT_EQ(adapter->binds, "the network port");
}

TEST(Upgrades, TwoPortsNeedAnAdapterWithTwo) {
  CardAt second;
  second.name = "mlx4_1";
  second.interface = "ens6d1";
  second.device = 0x1007;
  second.gigabits = 40;
  second.now = second.slot = second.most = {8, 8};
  Machine machine = v100_pair();
  machine.add(second, 1);
  const NodeUpgrades node =
      advise(machine.facts(), cluster_of(kPair, {"ens6", "ens6d1"}, Topology::kBackToBack));
  const Upgrade* adapter = find(node, "adapter with GPUDirect RDMA");
  ASSERT_NE(adapter, nullptr);
  EXPECT_EQ(adapter->parts[0].numbers[0], "MCX416A-CCAT");
  EXPECT_EQ(adapter->parts[0].numbers[1], "MCX516A-CCAT");
  EXPECT_EQ(adapter->binds, "PCIe slots of the adapters");
}

// The guide's share is one machine's: on another it is an end of a range.
TEST(Limits, StagingOfAnotherMachineIsARange) {
  Facts facts = v100_pair().facts();
  std::vector<Gpu> gpus = items(facts.gpus.devices);
  for (Gpu& gpu : gpus) gpu.model = seen<std::string>("Tesla T4");
  facts.gpus.devices = seen(gpus);
  const NodeUpgrades node = advise(facts, cluster_of(kPair, {"ens6"}, Topology::kBackToBack));
  EXPECT_EQ(node.limits[0].name, "staging through host memory");
  EXPECT_LT(node.limits[0].rate, node.limits[0].most);
  EXPECT_EQ(node.limits[0].most, node.limits[1].rate);
}

Machine spark() {
  Machine machine("NVIDIA GB10", 1);
  machine.pci("000f:01:00.0", "", 0x10de, 0x2e12, 0x030200);
  CardAt card;
  card.device = 0x1021;
  card.gigabits = 200;
  card.now = card.slot = card.most = {32, 4};
  card.name = "rocep1s0f0";
  card.interface = "enp1s0f0np0";
  machine.add(card);
  card.bus = 0x11;
  card.name = "roceP2p1s0f0";
  card.interface = "enP2p1s0f0np0";
  machine.add(card);
  return machine;
}

void expect_nothing_to_buy(const NodeUpgrades& node) {
  EXPECT_NE(node.fixed, "");
  for (const Upgrade& upgrade : node.upgrades) EXPECT_TRUE(upgrade.parts.empty()) << upgrade.name;
}

TEST(Upgrades, ASparkGetsItsSecondHalfAndNoCard) {
  const Facts facts = spark().facts();
  const NodeUpgrades node = advise(facts, cluster_of(kPair, {"enP2p1s0f0np0"}, Topology::kBackToBack));
  EXPECT_EQ(node.limits.front().name, "PCIe slots of the adapters");  // no staging: one memory
  EXPECT_NEAR(node.limits.front().rate.gigabytes(), 15, 0.5);
  expect_nothing_to_buy(node);
  const Upgrade* half = find(node, "second half of the cable");
  ASSERT_NE(half, nullptr);
  EXPECT_NEAR(half->after / node.limits.front().rate, 1.63, 0.05);  // the cable binds then
  EXPECT_EQ(find(node, "second adapter"), nullptr);
}

TEST(Upgrades, ASparkWithBothHalvesIsAtItsEnd) {
  const NodeUpgrades node =
      advise(spark().facts(), cluster_of(kPair, {"enp1s0f0np0", "enP2p1s0f0np0"}, Topology::kBackToBack));
  EXPECT_TRUE(node.upgrades.empty());
  EXPECT_NE(node.note.find("physical"), std::string::npos);
}

// Two GPUs and two rails, each pair below a PCIe switch, and a storage adapter at the root.
Machine board_node(double storage_gigabits) {
  Machine machine("NVIDIA H100 80GB HBM3");
  for (int i = 1; i <= 2; ++i) {
    machine.add_switch(i);
    CardAt rail;
    rail.name = fmt::format("mlx5_{}", i - 1);
    rail.interface = fmt::format("rail{}", i - 1);
    rail.device = 0x1021;
    rail.gigabits = 400;
    rail.now = rail.slot = rail.most = {32, 16};
    rail.bus = 0x20 + i;
    rail.under = i;
    machine.add(rail);
  }
  CardAt storage;
  storage.name = "mlx5_8";
  storage.interface = "storage0";
  storage.device = 0x1021;
  storage.gigabits = storage_gigabits;
  storage.now = storage.slot = storage.most = {32, 16};
  storage.bus = 0x30;
  machine.add(storage);
  return machine;
}

TEST(Rails, AStorageAdapterIsNone) {
  for (const double gigabits : {100.0, 400.0}) {
    const NodeUpgrades node = advise(board_node(gigabits).facts());
    EXPECT_EQ(node.rails.size(), 2u) << gigabits;
    ASSERT_EQ(node.left_out.size(), 1u) << gigabits;
    EXPECT_EQ(node.left_out[0].port, "mlx5_8/1");
    EXPECT_NE(node.left_out[0].why, "");
    EXPECT_NEAR(node.limits.front().rate.gigabytes(), 98, 1.5);
  }
}

TEST(Rails, AreThoseOfClusterYaml) {
  const NodeUpgrades node = advise(board_node(400).facts(), cluster_of(kPair, {"rail0"}, Topology::kSwitch));
  EXPECT_EQ(node.rails.size(), 1u);
  ASSERT_EQ(node.left_out.size(), 2u);
  EXPECT_EQ(node.left_out[0].why, "no rail of cluster.yaml");
}

TEST(Upgrades, ABoardOfGpusHasNoSlotForAnotherRail) {
  const NodeUpgrades node = advise(board_node(100).facts());
  EXPECT_EQ(find(node, "second adapter"), nullptr);
  EXPECT_EQ(find(node, "as many adapters again"), nullptr);
  EXPECT_NE(node.fixed, "");
}

Machine trio() {
  CardAt card;
  card.interface = "ib0";
  card.gigabits = 40;
  card.layer = "InfiniBand";
  Machine machine("Tesla T4", 1);
  machine.add(card);
  return machine;
}

Cluster trio_with(const char* switch_model) {
  Cluster cluster = cluster_of({"a", "b", "c"}, {"ib0"}, Topology::kSwitch, Fabric::kInfiniband);
  if (switch_model != nullptr) cluster.parts.push_back(part_of(PartKind::kSwitch, switch_model));
  return cluster;
}

TEST(Upgrades, ACableGainsNothingBehindAQdrSwitch) {
  const NodeUpgrades node = advise(trio().facts(), trio_with("Mellanox IS5022"));
  EXPECT_NEAR(node.limits.front().rate.gigabytes(), 3.97, 0.01);  // 8b/10b
  EXPECT_EQ(find(node, "faster cables"), nullptr);
  EXPECT_NE(why_useless(node, "faster cables").find("IS5022"), std::string::npos);
  const Upgrade* both = find(node, "faster switch and cables");
  ASSERT_NE(both, nullptr);
  EXPECT_EQ(both->parts[0].total, 1);
  EXPECT_EQ(both->parts[1].total, 3);
}

TEST(Upgrades, ACableGainsBehindAnEdrSwitch) {
  const NodeUpgrades node = advise(trio().facts(), trio_with("SB7800"));
  const Upgrade* cables = find(node, "faster cables");
  ASSERT_NE(cables, nullptr);
  EXPECT_EQ(cables->parts[0].numbers, std::vector<std::string>{"MCP1600-E…"});
  EXPECT_EQ(cables->parts[0].total, 3);
  EXPECT_EQ(cables->conditions.size(), 1u);  // the adapter's variant
}

TEST(Upgrades, ACableBehindAnUnknownSwitchIsConditional) {
  const NodeUpgrades node = advise(trio().facts(), trio_with(nullptr));
  const Upgrade* cables = find(node, "faster cables");
  ASSERT_NE(cables, nullptr);
  ASSERT_EQ(cables->conditions.size(), 2u);
  EXPECT_NE(cables->conditions[0].find("only if what is at the other end"), std::string::npos);
}

TEST(Upgrades, AnAdapterThatIsAtItsVariantsEndGetsNoCable) {
  Cluster cluster = trio_with("SB7800");
  cluster.parts.push_back(part_of(PartKind::kAdapter, "MCX455A-FCAT"));  // FDR at most
  const NodeUpgrades node = advise(trio().facts(), cluster);
  const Upgrade* cables = find(node, "faster cables");
  ASSERT_NE(cables, nullptr);
  EXPECT_NEAR(cables->after.gigabytes(), 6.8, 0.1);  // FDR's, not EDR's
}

// A GeForce board whose second slot has four lanes.
Machine consumer(int slot_lanes) {
  CardAt card;
  card.slot = {16, slot_lanes};
  card.now = {8, slot_lanes};
  Machine machine("NVIDIA GeForce RTX 4090", 1);
  machine.add(card);
  return machine;
}

TEST(Upgrades, AWiderSlotIsConditional) {
  const NodeUpgrades node =
      advise(consumer(4).facts(), cluster_of(kPair, {"ens1np0"}, Topology::kBackToBack));
  const Upgrade* slot = find(node, "wider PCIe slot");
  ASSERT_NE(slot, nullptr);
  EXPECT_NE(slot->conditions.at(0).find("free slot"), std::string::npos);
  const NodeUpgrades wide =
      advise(consumer(16).facts(), cluster_of(kPair, {"ens1np0"}, Topology::kBackToBack));
  EXPECT_EQ(find(wide, "wider PCIe slot"), nullptr);
  EXPECT_EQ(why_useless(wide, "wider PCIe slot"), "");
}

TEST(Upgrades, AVirtualMachineBuysNothing) {
  Facts facts = consumer(4).facts();
  facts.system.firmware.maker = seen<std::string>("Amazon EC2");
  const NodeUpgrades node = advise(facts);
  expect_nothing_to_buy(node);
  EXPECT_NE(node.note, "");
}

TEST(Upgrades, ANodeWithoutPortsIsNotAdvised) {
  const auto all = advise_upgrades({}, {{"a", Facts{}}, {"b", Facts{}}}, {});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(all[0].upgrades.empty());
  EXPECT_NE(all[0].note, "");
}

TEST(Upgrades, EveryOneGains) {
  for (const Facts& facts : {v100_pair().facts(), spark().facts(), board_node(100).facts(), trio().facts(),
                             consumer(4).facts(), consumer(16).facts()}) {
    const NodeUpgrades node = advise(facts);
    for (const Upgrade& upgrade : node.upgrades)
      EXPECT_GT(upgrade.after_most.bits_per_second, node.limits.front().rate.bits_per_second) << upgrade.name;
  }
}

TEST(Upgrades, APartNumbersPriceCountsForAllNodes) {
  const auto prices = parse_prices("{currency: EUR, mcx415a-ccat: 75, adapter: 400}", "prices.yaml");
  ASSERT_TRUE(prices);
  const NodeUpgrades node =
      advise(v100_pair().facts(), cluster_of(kPair, {"ens6"}, Topology::kBackToBack), *prices);
  ASSERT_FALSE(node.upgrades.empty());
  EXPECT_DOUBLE_EQ(*node.upgrades[0].price, 150);
  const double gained = node.upgrades[0].after.gigabytes() - node.limits[0].rate.gigabytes();
  EXPECT_NEAR(*node.upgrades[0].per_gained, 75 / gained, 1e-9);
}

TEST(Upgrades, WithPricesTheCheapestGainIsFirst) {
  const auto first = [](const char* text) {
    const auto prices = parse_prices(text, "prices.yaml");
    return advise(trio().facts(), trio_with("SB7800"), *prices).upgrades.at(0).name;
  };
  EXPECT_EQ(first("{adapter: 400, cable: 20}"), "faster cables");
  EXPECT_EQ(first("{adapter: 1, QSFP-PC02: 1, MCP1600-E002: 900}"), "second adapter");
}

// How far a second adapter would raise staging is not known.
TEST(Upgrades, WhileDataIsStagedNoLineIsSold) {
  const NodeUpgrades node = advise(v100_pair().facts(), cluster_of(kPair, {"ens6"}, Topology::kBackToBack));
  EXPECT_EQ(node.upgrades.size(), 1u);
  EXPECT_NE(why_useless(node, "second adapter").find("staging"), std::string::npos);
}

TEST(Prices, AreTheUsersOrNone) {
  const auto list = parse_prices(
      "{currency: EUR, adapter: 75, cable: 20.5, MCX516A-CCAT: 60, MCP1600-E001: 30}", "prices.yaml");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->currency, "EUR");
  EXPECT_DOUBLE_EQ(*list->price_of(UpgradePartKind::kCable), 20.5);
  EXPECT_DOUBLE_EQ(*list->price_of(UpgradePartKind::kAdapter, {"MCX416A-CCAT", "MCX516A-CCAT"}), 60);
  EXPECT_DOUBLE_EQ(*list->price_of(UpgradePartKind::kAdapter, {"MCX416A-CCAT"}), 75);
  EXPECT_DOUBLE_EQ(*list->price_of(UpgradePartKind::kCable, {"MCP1600-E…"}), 30);
  EXPECT_FALSE(list->price_of(UpgradePartKind::kSwitch));
}

TEST(Prices, OfNonsenseAreRefused) {
  for (const char* text : {"adapter: -1", "adapter: nan", "adapter: 1e300", "adapter: cheap", "tape: 3",
                           "[1, 2]", "7", "currency: \"E U\"", "adapter: {a: 1}", "{adapter: 1, adapter: 2}",
                           "{MCX416A-CCAT: 1, mcx416a-ccat: 2}", "{"})
    EXPECT_FALSE(parse_prices(text, "prices.yaml")) << text;
}

}  // namespace
}  // namespace railbed
