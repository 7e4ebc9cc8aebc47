#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "configure/files.h"
#include "configure/step.h"
#include "configure/testing/sample.h"

namespace railbed {
namespace {

constexpr std::string_view kMark = kFileMark;

Cluster rails_of_guide(const std::string& name) {
  const auto cluster = load_cluster(RAILBED_SOURCE_DIR "/examples/" + name);
  EXPECT_TRUE(cluster) << (cluster ? "" : cluster.error().text);
  return cluster.value_or(Cluster{});
}

std::vector<Setting> network_of(const ConfiguredCluster& made, std::string_view node) {
  return made.render(node, Section::kNetwork);
}

// All that is not as it shall be: "WHAT: now, boot: FOUND", one a line.
std::string all_unmet(const Setting& setting) {
  std::string text;
  const auto say = [](std::optional<bool> truth) { return !truth ? "?" : *truth ? "yes" : "no"; };
  for (const Need& one : setting.needs)
    if (one.now != true || one.at_boot != true)
      text += one.what + ": " + say(one.now) + ", " + say(one.at_boot) + ": " + one.found + "\n";
  return text;
}

TEST(RenderNetwork, WritesTheRailsOfTheV100GuideForNetplan) {
  const auto settings = network_of(sample(rails_of_guide("v100-pair.yaml")), "gpuserver1");
  ASSERT_EQ(settings.size(), 1U);
  const Setting& rails = settings[0];
  EXPECT_EQ(rails.title, "ens6 10.0.1.1/24, MTU 9000; ens6d1 10.0.0.1/24, MTU 9000");
  EXPECT_EQ(rails.risk, Risk::kTraffic);
  ASSERT_EQ(rails.files.size(), 2U);
  EXPECT_EQ(rails.files[0].path, "/etc/netplan/99-zz-railbed.yaml");
  EXPECT_EQ(rails.files[0].mode, 0600);
  EXPECT_EQ(rails.files[0].content, std::string(kMark) + R"(network:
  version: 2
  ethernets:
    "ens6":
      addresses: ["10.0.1.1/24"]
      mtu: 9000
      dhcp4: false
      dhcp6: false
      accept-ra: false
      optional: true
    "ens6d1":
      addresses: ["10.0.0.1/24"]
      mtu: 9000
      dhcp4: false
      dhcp6: false
      accept-ra: false
      optional: true
)");
  EXPECT_EQ(rails.files[1].path, "/etc/cloud/cloud.cfg.d/99-railbed-network.cfg");
  EXPECT_EQ(rails.files[1].content, std::string(kMark) + "network: {config: disabled}\n");
  EXPECT_EQ(rails.steps, (std::vector<NodeStep>{{StepKind::kApplyNetplan, {}}}));
  for (const Need& one : rails.needs) EXPECT_FALSE(one.now || one.at_boot) << one.what;
}

TEST(RenderNetwork, WritesIpoibForNetworkManager) {
  const auto settings = network_of(sample(rails_of_guide("infiniband-trio.yaml")), "r730-a");
  ASSERT_EQ(settings.size(), 1U);
  ASSERT_EQ(settings[0].files.size(), 1U);
  const DesiredFile& file = settings[0].files[0];
  EXPECT_EQ(file.path, "/etc/NetworkManager/system-connections/railbed-ib0.nmconnection");
  EXPECT_EQ(file.mode, 0600);
  EXPECT_EQ(file.content, std::string(kMark) + R"([connection]
id=railbed-ib0
uuid=fdd92f87-1df2-814e-afcc-4bf043597609
type=infiniband
interface-name=ib0
autoconnect-priority=100

[infiniband]
transport-mode=datagram
mtu=4092

[ipv4]
method=manual
address1=10.10.10.2/24
never-default=true

[ipv6]
method=link-local
addr-gen-mode=eui64
)");
  EXPECT_EQ(settings[0].steps, (std::vector<NodeStep>{{StepKind::kLoadConnections, {file.path}}}));
}

// One of every kind, for each of the three that keep networks.
constexpr std::string_view kAll = R"(
railbed: 1
cluster: all
expect: {os: ubuntu 24.04}
nodes: [{name: gpu1, ssh: ops@192.168.1.71}, {name: gpu2, ssh: 192.168.1.72}]
configure:
  network: KEEPER
  management_interface: eno1
  management_address: 192.168.1.71/24
  management_gateway: 192.168.1.1
  management_dns: [192.168.1.1, "2001:db8::53"]
  unused_interfaces: [eno3, eno4]
rails:
  - {name: a, subnet: 10.0.1.0/24, vlan: 100, interface: "on.100", first_address: 10.0.1.1}
  - {name: b, subnet: "fd00:2::/64", interface: "null", first_address: "fd00:2::1"}
)";

ConfiguredCluster all_for(std::string_view keeper, std::map<std::string, Facts> facts = {}) {
  std::string yaml(kAll);
  yaml.replace(yaml.find("KEEPER"), 6, keeper);
  return sample(yaml, std::move(facts));
}

std::string all_files(const std::vector<Setting>& settings) {
  std::string text;
  for (const Setting& setting : settings)
    for (const DesiredFile& one : setting.files)
      text += "## " + one.path + "\n" +
              (one.content.starts_with(kMark) ? one.content.substr(kMark.size()) : one.content);
  return text;
}

TEST(RenderNetwork, QuotesNamesThatYamlTakesForSomethingElse) {
  const auto settings = network_of(all_for("netplan"), "gpu1");
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(settings[0].risk, Risk::kAccess);
  EXPECT_EQ(all_files(settings), R"(## /etc/netplan/99-zz-railbed-management.yaml
network:
  version: 2
  ethernets:
    "eno1":
      addresses: ["192.168.1.71/24"]
      dhcp4: false
      routes: [{to: "0.0.0.0/0", via: "192.168.1.1"}]
      nameservers: {addresses: ["192.168.1.1", "2001:db8::53"]}
## /etc/netplan/99-zz-railbed.yaml
network:
  version: 2
  ethernets:
    "null":
      addresses: ["fd00:2::1/64"]
      mtu: 9000
      dhcp4: false
      dhcp6: false
      accept-ra: false
      optional: true
    "on":
      mtu: 9000
      dhcp4: false
      dhcp6: false
      accept-ra: false
      optional: true
  vlans:
    "on.100":
      id: 100
      link: "on"
      addresses: ["10.0.1.1/24"]
      mtu: 9000
      dhcp4: false
      dhcp6: false
      accept-ra: false
      optional: true
## /etc/cloud/cloud.cfg.d/99-railbed-network.cfg
network: {config: disabled}
## /etc/netplan/99-zz-railbed-unused.yaml
network:
  version: 2
  ethernets:
    "eno3":
      renderer: networkd
      activation-mode: "off"
      optional: true
    "eno4":
      renderer: networkd
      activation-mode: "off"
      optional: true
)");
}

TEST(RenderNetwork, WritesKeyfilesEachAlone) {
  const auto settings = network_of(all_for("networkmanager"), "gpu1");
  ASSERT_EQ(settings.size(), 4U);  // management, null, on with its VLAN, unused
  const std::string text = all_files(settings);
  EXPECT_NE(text.find("[ipv4]\nmethod=manual\naddress1=192.168.1.71/24,192.168.1.1\ndns=192.168.1.1;\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("[ipv6]\nmethod=auto\ndns=2001:db8::53;\n"), std::string::npos) << text;
  EXPECT_NE(text.find("[vlan]\nid=100\nparent=on\n\n[ethernet]\nmtu=9000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("[ipv4]\nmethod=disabled\n\n[ipv6]\nmethod=manual\naddress1=fd00:2::1/64\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("match-device=interface-name:=eno3,interface-name:=eno4\nmanaged=0\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(settings[2].files.size(), 2U);
  EXPECT_EQ(settings[3].steps, (std::vector<NodeStep>{{StepKind::kSetLinkDown, {"eno3", "eno4"}}}));
  EXPECT_EQ(text, all_files(network_of(all_for("networkmanager"), "gpu1")));
}

TEST(RenderNetwork, WritesNetworkd) {
  const auto settings = network_of(all_for("networkd"), "gpu1");
  EXPECT_EQ(all_files(settings), R"(## /etc/systemd/network/05-railbed-eno1.network
[Match]
Name=eno1

[Network]
Address=192.168.1.71/24
DHCP=no
Gateway=192.168.1.1
DNS=192.168.1.1
DNS=2001:db8::53
## /etc/systemd/network/05-railbed-null.network
[Match]
Name=null

[Link]
MTUBytes=9000
RequiredForOnline=no

[Network]
Address=fd00:2::1/64
DHCP=no
IPv6AcceptRA=no
## /etc/systemd/network/05-railbed-on.network
[Match]
Name=on

[Link]
MTUBytes=9000
RequiredForOnline=no

[Network]
DHCP=no
IPv6AcceptRA=no
VLAN=on.100
## /etc/systemd/network/05-railbed-on.100.netdev
[NetDev]
Name=on.100
Kind=vlan

[VLAN]
Id=100
## /etc/systemd/network/05-railbed-on.100.network
[Match]
Name=on.100

[Link]
MTUBytes=9000
RequiredForOnline=no

[Network]
Address=10.0.1.1/24
DHCP=no
IPv6AcceptRA=no
## /etc/systemd/network/04-railbed-unused.network
[Match]
Name=eno3 eno4

[Link]
ActivationPolicy=always-down
RequiredForOnline=no

[Network]
LinkLocalAddressing=no
)");
  ASSERT_EQ(settings.size(), 4U);
  EXPECT_EQ(settings[2].steps, (std::vector<NodeStep>{{StepKind::kReloadNetworkd, {"on"}}}));
  for (const Setting& one : settings)
    for (const NodeStep& step : one.steps) EXPECT_TRUE(check_step(step));
}

ConfiguredCluster network_of_machine(const std::string& folder) {
  const auto cluster = load_cluster(RAILBED_SOURCE_DIR "/tests/machines/" + folder + "/cluster.yaml");
  EXPECT_TRUE(cluster) << (cluster ? "" : cluster.error().text);
  return sample(cluster.value_or(Cluster{}), facts_of_machine(folder));
}

TEST(RenderNetwork, SeesAnMtuThatTheNextBootForgets) {
  const auto settings = network_of(network_of_machine("spark-mtu-by-hand"), "spark-01");
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(all_unmet(settings[0]),
            "enP2p1s0f0np0 has MTU 9000: yes, no: /etc/netplan/50-rails.yaml does not set it\n");
  EXPECT_TRUE(settings[0].contradictions.empty());  // netplan merges the two
  ASSERT_FALSE(settings[0].files.empty());
  EXPECT_NE(settings[0].files[0].content.find("\"enP2p1s0f0np0\":\n      renderer: NetworkManager\n"),
            std::string::npos)
      << settings[0].files[0].content;
}

TEST(RenderNetwork, AProfileInRunIsNeitherKeptNorInTheWay) {
  const auto settings = network_of(network_of_machine("spark-rails-in-run"), "spark-01");
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

TEST(RenderNetwork, ProposesNothingWhereAnotherFileDoesIt) {
  auto facts = facts_of_machine("spark-rails-in-run");
  for (BootProfile& one : std::vector<BootProfile>(*facts.at("spark-01").net.at_boot)) {
    one.file = "/etc/netplan/50-rails.yaml";
    one.kept = true;
    facts.at("spark-01").net.at_boot = {{one}, ""};
  }
  const auto cluster = load_cluster(RAILBED_SOURCE_DIR "/tests/machines/spark-rails-in-run/cluster.yaml");
  const auto settings = network_of(sample(*cluster, facts), "spark-01");
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(all_unmet(settings[0]), "");
  EXPECT_TRUE(settings[0].contradictions.empty());
}

// Its cluster.yaml does not say "vlan", and its tree does not either.
TEST(RenderNetwork, TakesNoVlanForAnEthernet) {
  const auto settings = network_of(network_of_machine("v100-vlan-rail"), "gpuserver1");
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_TRUE(settings[0].files.empty());
  EXPECT_EQ(settings[0].notes.at(0),
            "ens6.100 is named as VLANs are; say which one in cluster.yaml, as in \"vlan: 100\"");
}

TEST(RenderNetwork, MakesWhatCarriesAVlanFirst) {
  auto facts = facts_of_machine("v100-vlan-rail");
  facts.at("gpuserver1").net.vlans = {std::vector<Vlan>{{"ens6.100", "ens6", 100}}, ""};
  const auto cluster = load_cluster(RAILBED_SOURCE_DIR "/tests/machines/v100-vlan-rail/cluster.yaml");
  const auto settings = network_of(sample(*cluster, facts), "gpuserver1");
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(settings[0].title,
            "ens6d1 10.0.0.1/24, MTU 9000; ens6 MTU 9000; ens6.100 10.0.1.1/24, MTU 9000, VLAN 100");
  const std::string& text = settings[0].files.at(0).content;
  EXPECT_NE(text.find("    \"ens6.100\":\n      id: 100\n      link: \"ens6\"\n"), std::string::npos) << text;
}

TEST(RenderNetwork, LeavesBondsAlone) {
  const auto settings = network_of(network_of_machine("v100-bond"), "gpuserver1");
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_TRUE(settings[0].files.empty());
  EXPECT_EQ(settings[0].notes, std::vector<std::string>{"ens6 belongs to bond0, which has its address"});
  EXPECT_EQ(settings[1].files.size(), 1U);  // ens6d1
}

TEST(RenderNetwork, FindsIpoibAsAPersonMadeIt) {
  const auto settings = network_of(network_of_machine("r730-address-by-hand"), "r730-a");
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
  for (NetInterface& one : interfaces) {
    one.mtu = {1500, ""};
    one.pci_address = {"0000:01:00.0", ""};
    one.administratively_up = {true, ""};
    one.driver = {"mlx5_core", ""};
    one.addresses = {std::vector<InterfaceAddress>{}, ""};
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
  return network_of(sample(yaml, {{"gpu1", facts}}), "gpu1");
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

TEST(RenderNetwork, NamesAnotherProfileOfTheInterface) {
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

TEST(RenderNetwork, WritesUnderTheNameThatNetplanKnows) {
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

TEST(RenderNetwork, MovesNoFileThatHoldsOtherInterfaces) {
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

TEST(RenderNetwork, WritesNothingForIfupdown) {
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

TEST(RenderNetwork, LeavesTheWayInAlone) {
  const auto settings = one_rail("ubuntu 24.04", node_with({}, "systemd-networkd"), "eno1");
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_TRUE(settings[0].files.empty());
  EXPECT_EQ(settings[0].risk, Risk::kNone);
  EXPECT_NE(settings[0].notes.at(0).find("carries the default route"), std::string::npos);
}

TEST(RenderNetwork, SaysWhichInterfacesThereAre) {
  const auto settings = one_rail("ubuntu 24.04", node_with({}, "systemd-networkd"), "ens7");
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(settings[0].needs[0].now, false);
  EXPECT_EQ(settings[0].notes.at(0),
            "ens7 is not on gpu1; on PCI there are: ens6; eno1. railbed renames none: say the right name in "
            "cluster.yaml");
}

TEST(RenderNetwork, WritesNoNameThatMeansMore) {
  const auto settings = one_rail("rhel 9.4", node_with({}, "NetworkManager"), "\"ens*\"");
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_TRUE(settings[0].files.empty());
}

TEST(RenderNetwork, KnowsWhatStaysDown) {
  constexpr std::string_view kUnused = R"(
railbed: 1
cluster: one
expect: {os: ubuntu 24.04}
nodes: [{name: gpu1, configure: {unused_interfaces: [ens6, eno1]}}]
)";
  Facts facts = node_with({}, "systemd-networkd");
  auto settings = network_of(sample(kUnused, {{"gpu1", facts}}), "gpu1");
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[0].notes.at(0), "eno1 carries the default route");
  EXPECT_TRUE(settings[0].files.empty());
  EXPECT_EQ(all_unmet(settings[1]), "ens6 is down: no, yes: it is up\n");
  std::vector<NetInterface> interfaces = *facts.net.interfaces;
  interfaces[0].administratively_up = {false, ""};
  facts.net.interfaces = {interfaces, ""};
  settings = network_of(sample(kUnused, {{"gpu1", facts}}), "gpu1");
  EXPECT_EQ(all_unmet(settings[1]), "");
}

// For tests/network_files_test.py, which has real programs read them: a folder a case.
TEST(RenderNetwork, FilesForRealPrograms) {
  const char* folder = std::getenv("RAILBED_RENDERED_FILES");
  if (folder == nullptr) GTEST_SKIP() << "RAILBED_RENDERED_FILES names no folder";
  const auto write = [&](const std::string& name, const std::vector<Setting>& settings) {
    for (const Setting& setting : settings)
      for (const DesiredFile& one : setting.files) {
        const std::filesystem::path path = std::filesystem::path(folder) / name / one.path.substr(1);
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << one.content;
        std::filesystem::permissions(path, static_cast<std::filesystem::perms>(one.mode));
      }
  };
  for (const char* name : {"v100-pair", "dgx-spark-pair", "infiniband-trio"}) {
    const Cluster cluster = rails_of_guide(std::string(name) + ".yaml");
    write(name, network_of(sample(cluster), cluster.nodes.at(0).name));
  }
  for (const char* keeper : {"netplan", "networkmanager", "networkd"})
    write(keeper, network_of(all_for(keeper), "gpu1"));
  write("dgx", network_of(network_of_machine("spark-rails-in-run"), "spark-01"));
}

}  // namespace
}  // namespace railbed
