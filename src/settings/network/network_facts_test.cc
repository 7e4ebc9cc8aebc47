// Nodes that already have network files: needs that are met stay met, and files in the way are named.
#include <gtest/gtest.h>

#include "settings/testing/sample.h"

namespace railbed {
namespace {

// Returns all unmet needs: "WHAT: now, boot: FOUND", one per line.
std::string all_unmet(const Setting& setting) {
  std::string text;
  const auto say = [](std::optional<bool> truth) { return !truth ? "?" : *truth ? "yes" : "no"; };
  for (const Need& need : setting.needs)
    if (need.now != true || need.at_boot != true)
      text += need.what + ": " + say(need.now) + ", " + say(need.at_boot) + ": " + need.found + "\n";
  return text;
}

TEST(RenderNetworkFacts, SeesAnMtuThatTheNextBootForgets) {
  const auto settings = captured("spark-mtu-by-hand").render("spark-01", Section::kNetwork);
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(all_unmet(settings[0]),
            "enP2p1s0f0np0 has MTU 9000: yes, no: /etc/netplan/50-rails.yaml does not set it\n");
  EXPECT_TRUE(settings[0].contradictions.empty());  // netplan merges the two
  ASSERT_FALSE(settings[0].files.empty());
  EXPECT_NE(settings[0].files[0].content.find("\"enP2p1s0f0np0\":\n      renderer: NetworkManager\n"),
            std::string::npos)
      << settings[0].files[0].content;
}

TEST(RenderNetworkFacts, AProfileInRunIsNeitherKeptNorInTheWay) {
  const auto settings = captured("spark-rails-in-run").render("spark-01", Section::kNetwork);
  ASSERT_EQ(settings.size(), 1U);
  const std::string gone =
      "only /run/NetworkManager/system-connections/mesh.nmconnection sets it, and a reboot empties /run\n";
  EXPECT_EQ(all_unmet(settings[0]),
            "enP2p1s0f0np0 is up with 192.168.100.1/24: yes, no: " + gone +
                "enP2p1s0f0np0 has MTU 9000: yes, ?: no file outside of /run sets it; "
                "rdma-optimize.service may, and what it does was not read\n");
  EXPECT_TRUE(settings[0].contradictions.empty());
  EXPECT_EQ(settings[0].files.at(0).path, "/etc/netplan/99-zz-railbed.yaml");
}

TEST(RenderNetworkFacts, ProposesNothingWhereAnotherFileDoesIt) {
  auto facts = facts_of_machine("spark-rails-in-run");
  for (BootProfile& profile : std::vector<BootProfile>(*facts.at("spark-01").net.at_boot)) {
    profile.file = "/etc/netplan/50-rails.yaml";
    profile.kept = true;
    facts.at("spark-01").net.at_boot = {{profile}, ""};
  }
  const auto settings =
      sample(cluster_of_machine("spark-rails-in-run"), facts).render("spark-01", Section::kNetwork);
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(all_unmet(settings[0]), "");
  EXPECT_TRUE(settings[0].contradictions.empty());
}

// systemd may not respond for a while after a boot.
TEST(RenderNetworkFacts, DoesNotKnowWhoReadsAFileWhereSystemdDidNotAnswer) {
  auto facts = facts_of_machine("spark-rails-in-run");
  for (BootProfile& profile : std::vector<BootProfile>(*facts.at("spark-01").net.at_boot)) {
    profile.file = "/etc/netplan/50-rails.yaml";
    profile.kept = true;
    facts.at("spark-01").net.at_boot = {{profile}, ""};
  }
  facts.at("spark-01").system.services = {Miss{Missing::kTimeout, "no answer within 5 s"}, "systemctl show"};
  const auto settings =
      sample(cluster_of_machine("spark-rails-in-run"), facts).render("spark-01", Section::kNetwork);
  ASSERT_EQ(settings.size(), 1U);
  for (const Need& need : settings[0].needs) EXPECT_EQ(need.at_boot, std::nullopt) << need.what;
}

// Neither its cluster.yaml nor its tree has "vlan".
TEST(RenderNetworkFacts, TakesNoVlanForAnEthernet) {
  const auto settings = captured("v100-vlan-rail").render("gpuserver1", Section::kNetwork);
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_TRUE(settings[0].files.empty());
  EXPECT_EQ(settings[0].notes.at(0),
            "ens6.100 is named as VLANs are; say which one in cluster.yaml, as in \"vlan: 100\"");
}

TEST(RenderNetworkFacts, MakesWhatCarriesAVlanFirst) {
  auto facts = facts_of_machine("v100-vlan-rail");
  facts.at("gpuserver1").net.vlans = {std::vector<Vlan>{{"ens6.100", "ens6", 100}}, ""};
  const auto settings =
      sample(cluster_of_machine("v100-vlan-rail"), facts).render("gpuserver1", Section::kNetwork);
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(settings[0].title,
            "ens6d1 10.0.0.1/24, MTU 9000; ens6 MTU 9000; ens6.100 10.0.1.1/24, MTU 9000, VLAN 100");
  const std::string& text = settings[0].files.at(0).content;
  EXPECT_NE(text.find("    \"ens6.100\":\n      id: 100\n      link: \"ens6\"\n"), std::string::npos) << text;
}

TEST(RenderNetworkFacts, LeavesBondsAlone) {
  const auto settings = captured("v100-bond").render("gpuserver1", Section::kNetwork);
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_TRUE(settings[0].files.empty());
  EXPECT_EQ(settings[0].notes, std::vector<std::string>{"ens6 belongs to bond0, which has its address"});
  EXPECT_EQ(settings[1].files.size(), 1U);  // ens6d1
}

TEST(RenderNetworkFacts, FindsIpoibAsAPersonMadeIt) {
  const auto settings = captured("r730-address-by-hand").render("r730-a", Section::kNetwork);
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(all_unmet(settings[0]), "");
  EXPECT_TRUE(settings[0].contradictions.empty());
}

// A node with ens6 and eno1, whose services are as given.
Facts node_with(std::vector<BootProfile> profiles, const std::string& unit) {
  Facts facts;
  facts.railbed = "0";
  std::vector<NetInterface> interfaces(2);
  interfaces[0].name = "ens6";
  interfaces[1].name = "eno1";
  for (NetInterface& interface : interfaces) {
    interface.mtu = {1500, ""};
    interface.pci_address = {"0000:01:00.0", ""};
    interface.administratively_up = {true, ""};
    interface.driver = {"mlx5_core", ""};
    interface.addresses = {std::vector<InterfaceAddress>{}, ""};
  }
  interfaces[1].addresses = {{*InterfaceAddress::parse("192.168.1.71/24")}, ""};
  facts.net.interfaces = {interfaces, ""};
  facts.net.default_routes = {std::vector<std::string>{"eno1"}, ""};
  facts.net.at_boot = {std::move(profiles), ""};
  facts.system.services = {std::vector<Service>{{unit, "loaded", "active", "enabled", 1}}, ""};
  return facts;
}

constexpr std::string_view kOne = R"(
railbed: 1
cluster: one
expect: {os: OS}
nodes: [{name: gpu1, ssh: 192.168.1.71}, gpu2]
rails: [{name: a, subnet: 10.0.1.0/24, interface: ens6, first_address: 10.0.1.1}]
)";

std::vector<Setting> one_rail(const std::string& os, const Facts& facts, std::string_view instead = "ens6") {
  std::string yaml(kOne);
  yaml.replace(yaml.find("OS}"), 2, os);
  yaml.replace(yaml.find("ens6"), 4, instead);
  return sample(yaml, {{"gpu1", facts}}).render("gpu1", Section::kNetwork);
}

BootProfile profile_of(const std::string& interface, const std::string& manager, const std::string& file,
                       const std::string& id, int mtu, const std::string& address) {
  BootProfile profile;
  profile.interface = interface;
  profile.manager = manager;
  profile.file = file;
  profile.id = id;
  profile.mtu = mtu;
  profile.addresses = {*InterfaceAddress::parse(address)};
  return profile;
}

TEST(RenderNetworkFacts, NamesAnotherProfileOfTheInterface) {
  const auto settings = one_rail(
      "rhel 9.4",
      node_with({profile_of("ens6", "NetworkManager", "/etc/NetworkManager/system-connections/x.nmconnection",
                            "1-2", 1500, "10.0.9.1/24")},
                "NetworkManager"));
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(settings[0].contradictions,
            (std::vector<Contradiction>{
                {"/etc/NetworkManager/system-connections/x.nmconnection", "it gives ens6 10.0.9.1/24"}}));
}

TEST(RenderNetworkFacts, WritesUnderTheNameThatNetplanKnows) {
  const std::string file = "/etc/netplan/50-cloud-init.yaml";
  const auto settings = one_rail(
      "ubuntu 24.04", node_with({profile_of("ens6", "systemd-networkd", file, "rail0", 1500, "10.0.9.1/24"),
                                 profile_of("eno1", "systemd-networkd", file, "mgmt", 0, "192.168.1.71/24")},
                                "systemd-networkd"));
  ASSERT_EQ(settings.size(), 1U);
  ASSERT_EQ(settings[0].files.size(), 2U);  // cloud-init wrote one
  EXPECT_NE(settings[0].files[0].content.find("    \"rail0\":\n      match: {name: \"ens6\"}\n"),
            std::string::npos)
      << settings[0].files[0].content;
  EXPECT_TRUE(settings[0].contradictions.empty());
  ASSERT_FALSE(settings[0].notes.empty());
  EXPECT_NE(settings[0].notes.back().find("cloud-init"), std::string::npos);
}

TEST(RenderNetworkFacts, MovesNoFileThatHoldsOtherInterfaces) {
  const std::string file = "/etc/netplan/zzz.yaml";
  const auto settings = one_rail(
      "ubuntu 24.04", node_with({profile_of("ens6", "systemd-networkd", file, "ens6", 1500, "10.0.1.1/24"),
                                 profile_of("eno1", "systemd-networkd", file, "eno1", 0, "192.168.1.71/24")},
                                "systemd-networkd"));
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_TRUE(settings[0].files.empty());
  EXPECT_TRUE(settings[0].steps.empty());
  EXPECT_TRUE(settings[0].contradictions.empty());
  ASSERT_EQ(settings[0].notes.size(), 1U);
  EXPECT_NE(settings[0].notes[0].find("it sets MTU 1500 on ens6"), std::string::npos) << settings[0].notes[0];
}

TEST(RenderNetworkFacts, WritesNothingForIfupdown) {
  const auto settings = one_rail(
      "debian 12",
      node_with({profile_of("ens6", "ifupdown", "/etc/network/interfaces", "", 1500, "10.0.9.1/24")}, "ssh"));
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_TRUE(settings[0].files.empty());
  EXPECT_EQ(settings[0].needs[0].now, false);
  EXPECT_EQ(settings[0].needs[0].at_boot, false);
  ASSERT_EQ(settings[0].notes.size(), 1U);
  EXPECT_NE(settings[0].notes[0].find("railbed does not write for ifupdown"), std::string::npos);
}

TEST(RenderNetworkFacts, LeavesTheWayInAlone) {
  const auto settings = one_rail("ubuntu 24.04", node_with({}, "systemd-networkd"), "eno1");
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_TRUE(settings[0].files.empty());
  EXPECT_EQ(settings[0].risk, Risk::kNone);
  EXPECT_NE(settings[0].notes.at(0).find("carries the default route"), std::string::npos);
}

TEST(RenderNetworkFacts, SaysWhichInterfacesThereAre) {
  const auto settings = one_rail("ubuntu 24.04", node_with({}, "systemd-networkd"), "ens7");
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(settings[0].needs[0].now, false);
  EXPECT_EQ(settings[0].notes.at(0),
            "ens7 is not on gpu1; on PCI there are: ens6; eno1. railbed renames none: say the right name in "
            "cluster.yaml");
}

TEST(RenderNetworkFacts, WritesNoNameThatMeansMore) {
  const auto settings = one_rail("rhel 9.4", node_with({}, "NetworkManager"), "\"ens*\"");
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_TRUE(settings[0].files.empty());
}

TEST(RenderNetworkFacts, KnowsWhatStaysDown) {
  constexpr std::string_view kUnused = R"(
railbed: 1
cluster: one
expect: {os: ubuntu 24.04}
nodes: [{name: gpu1, configure: {unused_interfaces: [ens6, eno1]}}]
)";
  Facts facts = node_with({}, "systemd-networkd");
  auto settings = sample(kUnused, {{"gpu1", facts}}).render("gpu1", Section::kNetwork);
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[0].notes.at(0), "eno1 carries the default route");
  EXPECT_TRUE(settings[0].files.empty());
  EXPECT_EQ(all_unmet(settings[1]), "ens6 is down: no, yes: it is up\n");
  std::vector<NetInterface> interfaces = *facts.net.interfaces;
  interfaces[0].administratively_up = {false, ""};
  facts.net.interfaces = {interfaces, ""};
  settings = sample(kUnused, {{"gpu1", facts}}).render("gpu1", Section::kNetwork);
  EXPECT_EQ(all_unmet(settings[1]), "");
}

// Both halves of a DGX Spark's port reach its one cable.
TEST(RenderNetworkFacts, LeavesTheSecondHalfOfASparksPortUp) {
  constexpr std::string_view kPair = R"(
railbed: 1
cluster: pair
topology: back-to-back
configure: {unused_interfaces: [enp1s0f0np0, enp1s0f1np1]}
nodes: [spark-01, spark-02]
rails:
  - {name: mesh, subnet: 192.168.100.0/24, interface: enP2p1s0f0np0, first_address: 192.168.100.1}
)";
  const auto settings = sample(kPair, facts_of_machine("spark-cx7")).render("spark-01", Section::kNetwork);
  std::vector<const Setting*> unused;
  for (const Setting& setting : settings)
    if (setting.name == "network/unused") unused.push_back(&setting);
  ASSERT_EQ(unused.size(), 2U);
  EXPECT_EQ(unused[0]->subjects, std::vector<std::string>{"enp1s0f0np0"});
  EXPECT_TRUE(unused[0]->files.empty() && unused[0]->steps.empty());
  EXPECT_NE(unused[0]->notes.at(0).find("second way to that of enP2p1s0f0np0"), std::string::npos);
  EXPECT_EQ(unused[1]->subjects, std::vector<std::string>{"enp1s0f1np1"});
  EXPECT_FALSE(unused[1]->files.empty());
}

}  // namespace
}  // namespace railbed
