// Findings about what railbed itself would have set: names in /etc/hosts and the MTU of IPoIB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inventory/load.h"
#include "verify/verify.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Finding finding_in(std::string_view yaml, const std::map<std::string, Facts>& nodes, std::string_view rule,
                   const std::string& node) {
  const auto cluster = parse_cluster(yaml, "cluster.yaml");
  EXPECT_TRUE(cluster) << cluster.error().text;
  Evidence evidence;
  evidence.cluster = *cluster;
  evidence.nodes = nodes;
  for (const Finding& finding : verify(evidence).findings)
    if (finding.rule == rule && finding.node == node) return finding;
  ADD_FAILURE() << rule << " says nothing";
  return {};
}

constexpr std::string_view kRails =
    "railbed: 1\ncluster: pair\nnodes: [\"gpu[1-2]\"]\n"
    "rails: [{name: rail0, subnet: 10.0.0.0/24, interface: ens6, first_address: 10.0.0.1}]\n";

Finding rail_names_of(std::vector<HostsEntry> entries) {
  Facts facts;
  facts.railbed = "0";
  facts.system.hosts = {std::move(entries), "/etc/hosts"};
  return finding_in(kRails, {{"gpu1", facts}, {"gpu2", facts}}, "host.rail-names", "gpu1");
}

// Every node has the same wrong line, so nothing differs between them.
TEST(RailNames, ALineWithAnotherAddressIsFoundInAnyOrder) {
  const HostsEntry right{*IpAddress::parse("10.0.0.2"), {"gpu2-rail0"}};
  for (const char* address : {"10.0.0.99", "192.168.7.7", "127.0.1.1"}) {
    const HostsEntry wrong{*IpAddress::parse(address), {"gpu2-rail0"}};
    for (const auto& entries : {std::vector{wrong, right}, std::vector{right, wrong}, std::vector{wrong}}) {
      const Finding finding = rail_names_of(entries);
      EXPECT_EQ(finding.status, Status::kWarn) << address;
      EXPECT_THAT(finding.message,
                  HasSubstr(std::string("gpu2-rail0 is ") + address + ", in cluster.yaml 10.0.0.2"));
    }
  }
  EXPECT_EQ(rail_names_of({right}).status, Status::kPass);
  EXPECT_EQ(rail_names_of({right, {*IpAddress::parse("2001:db8::2"), {"gpu2-rail0"}}}).status, Status::kPass);
}

Finding ipoib_mtu_of(int want, const char* mode, std::uint16_t adapter) {
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
  interface.ipoib_mode = {mode, ""};
  interface.mtu = {2044, ""};
  facts.net.interfaces = {std::vector<NetInterface>{interface}, ""};
  const std::string yaml =
      "railbed: 1\ncluster: one\nfabric: infiniband\nnodes: [n1]\n"
      "rails: [{name: ib, subnet: 10.1.0.0/24, interface: ib0, first_address: 10.1.0.1, mtu: " +
      std::to_string(want) + "}]\n";
  return finding_in(yaml, {{"n1", facts}}, "net.mtu", "n1");
}

std::vector<std::string> commands_in(const Finding& finding) {
  std::vector<std::string> texts;
  for (const ShellCommand& command : finding.remedy.commands) texts.push_back(command.text());
  return texts;
}

constexpr std::uint16_t kConnectX3 = 0x1003;
constexpr std::uint16_t kConnectX5 = 0x1017;

TEST(MtuOfIpoib, ThePartitionLimitsDatagrams) {
  const Finding finding = ipoib_mtu_of(4092, "datagram", kConnectX5);
  EXPECT_EQ(finding.status, Status::kFail);
  EXPECT_THAT(finding.remedy.text, HasSubstr("mtu=5"));
  EXPECT_FALSE(finding.remedy.by_hand_only);
}

TEST(MtuOfIpoib, NoCommandGivesADatagramAdapterConnectedMode) {
  const Finding finding = ipoib_mtu_of(65520, "datagram", kConnectX5);
  EXPECT_EQ(finding.status, Status::kFail);
  EXPECT_THAT(commands_in(finding), IsEmpty());
  EXPECT_THAT(finding.remedy.text,
              HasSubstr("Write mtu: 4092 for ib in cluster.yaml: a ConnectX-5 has no connected mode"));
  EXPECT_TRUE(finding.remedy.by_hand_only);
}

TEST(MtuOfIpoib, ConnectedModeComesBeforeItsMtu) {
  const auto commands = commands_in(ipoib_mtu_of(65520, "datagram", kConnectX3));
  ASSERT_GE(commands.size(), 2U);
  EXPECT_EQ(commands[0], "echo connected > /sys/class/net/ib0/mode");
  EXPECT_EQ(commands[1], "ip link set ib0 mtu 65520");
  EXPECT_THAT(commands_in(ipoib_mtu_of(65520, "connected", kConnectX3)).at(0), HasSubstr("ip link set"));
}

}  // namespace
}  // namespace railbed
