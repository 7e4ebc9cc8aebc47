#include "settings/network/ipoib.h"

#include "settings/testing/sample.h"

namespace railbed {
namespace {

// An InfiniBand rail on an adapter with this PCI device id; 0: no facts.
ConfiguredCluster ipoib_sample(std::uint16_t adapter, int mtu) {
  const std::string yaml =
      "railbed: 1\ncluster: one\nfabric: infiniband\nexpect: {os: rhel 9}\nnodes: [n1]\n"
      "rails: [{name: ib, subnet: 10.1.0.0/24, interface: ib0, first_address: 10.1.0.1, mtu: " +
      std::to_string(mtu) + "}]\n";
  if (adapter == 0) return sample(yaml);
  Facts facts;
  facts.railbed = "0";
  PciDevice device;
  device.address = "0000:04:00.0";
  device.vendor = {kVendorMellanox, ""};
  device.device = {adapter, ""};
  facts.pci = {std::vector<PciDevice>{device}, ""};
  NetInterface interface;
  interface.name = "ib0";
  interface.pci_address = {"0000:04:00.0", ""};
  interface.ipoib_mode = {"datagram", ""};
  interface.mtu = {2044, ""};
  facts.net.interfaces = {std::vector<NetInterface>{interface}, ""};
  return sample(yaml, {{"n1", facts}});
}

IpoibWish wish_for(std::uint16_t adapter, int mtu) {
  const ConfiguredCluster all = ipoib_sample(adapter, mtu);
  const auto wish = ipoib_of(all.target("n1").view.ends.at(0), all.evidence->cluster);
  EXPECT_TRUE(wish);
  return wish.value_or(IpoibWish{});
}

TEST(RenderIpoib, ConnectsOnlyWhereTheAdapterCan) {
  constexpr std::uint16_t kConnectX3 = 0x1003;
  constexpr std::uint16_t kConnectX5 = 0x1017;
  EXPECT_EQ(wish_for(kConnectX3, 65520).mode, "connected");
  EXPECT_EQ(wish_for(kConnectX3, 65520).mtu, 65520);
  EXPECT_EQ(wish_for(kConnectX3, 4092).mode, "datagram");
  EXPECT_EQ(wish_for(kConnectX5, 65520).mode, "datagram");
  EXPECT_EQ(wish_for(kConnectX5, 65520).mtu, 4092);
  EXPECT_EQ(wish_for(0, 65520).mode, "connected");  // as in cluster.yaml, without facts
}

// Without facts, the parts of cluster.yaml show the adapter.
TEST(RenderIpoib, TakesTheAdapterFromClusterYaml) {
  const auto of = [](const std::string& parts) {
    return sample(
               "railbed: 1\ncluster: one\nfabric: infiniband\nexpect: {os: rhel 9}\nnodes: [n1]\n"
               "rails: [{name: ib, subnet: 10.1.0.0/24, interface: ib0, first_address: 10.1.0.1, mtu: 65520}]\n" +
               parts)
        .render("n1", Section::kIpoib)
        .at(0);
  };
  const Setting datagram = of("parts: {adapters: [{model: MCX455A-ECAT}]}\n");
  EXPECT_EQ(datagram.needs.at(0).what, "ib0 is in datagram mode");
  const Setting connected = of("parts: {adapters: [{model: ConnectX-3}]}\n");
  EXPECT_EQ(connected.needs.at(0).what, "ib0 is in connected mode");
  EXPECT_EQ(connected.reason, "an MTU above 4092 needs connected mode, which ends with ConnectX-3");
  EXPECT_EQ(connected.notes.size(), 1U);
  EXPECT_NE(of("").notes.back().find("write mtu: 4092 for them"), std::string::npos);
}

TEST(RenderIpoib, SaysWhatIsNotYetSoAndWhatItTakes) {
  const auto settings = ipoib_sample(0x1017, 65520).render("n1", Section::kIpoib);
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_TRUE(settings[0].files.empty());
  EXPECT_EQ(settings[0].needs[0].now, true);
  EXPECT_EQ(settings[0].needs[1].found, "MTU 2044");
  ASSERT_EQ(settings[0].notes.size(), 2U);
  EXPECT_EQ(settings[0].notes[0],
            "cluster.yaml asks for MTU 65520. ConnectX-5 has no connected mode: 4092 is the most that its "
            "datagrams carry.");
}

}  // namespace
}  // namespace railbed
