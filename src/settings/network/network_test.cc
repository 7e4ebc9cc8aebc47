// Files rendered from cluster.yaml for each network manager.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "settings/files.h"
#include "settings/step.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

constexpr std::string_view kMark = kFileMark;

TEST(RenderNetwork, WritesTheRailsOfTheV100GuideForNetplan) {
  const auto settings = sample(example("v100-pair")).render("gpuserver1", Section::kNetwork);
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
  for (const Need& need : rails.needs) EXPECT_FALSE(need.now || need.at_boot) << need.what;
}

TEST(RenderNetwork, WritesIpoibForNetworkManager) {
  const auto settings = sample(example("infiniband-trio")).render("r730-a", Section::kNetwork);
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

// One interface of every kind, for each of the three network managers.
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
    for (const DesiredFile& file : setting.files)
      text += "## " + file.path + "\n" +
              (file.content.starts_with(kMark) ? file.content.substr(kMark.size()) : file.content);
  return text;
}

TEST(RenderNetwork, QuotesNamesThatYamlTakesForSomethingElse) {
  const auto settings = all_for("netplan").render("gpu1", Section::kNetwork);
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
  const auto settings = all_for("networkmanager").render("gpu1", Section::kNetwork);
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
  EXPECT_EQ(text, all_files(all_for("networkmanager").render("gpu1", Section::kNetwork)));
}

// The file of a rail, or of the carrier of one.
std::string networkd_rail(std::string_view name, std::string_view address, std::string_view vlan) {
  return fmt::format(R"(## /etc/systemd/network/05-railbed-{0}.network
[Match]
Name={0}

[Link]
MTUBytes=9000
RequiredForOnline=no

[Network]
{1}DHCP=no
IPv6AcceptRA=no
{2})",
                     name, address, vlan);
}

TEST(RenderNetwork, WritesNetworkd) {
  const auto settings = all_for("networkd").render("gpu1", Section::kNetwork);
  EXPECT_EQ(all_files(settings),
            R"(## /etc/systemd/network/05-railbed-eno1.network
[Match]
Name=eno1

[Network]
Address=192.168.1.71/24
DHCP=no
Gateway=192.168.1.1
DNS=192.168.1.1
DNS=2001:db8::53
)" + networkd_rail("null", "Address=fd00:2::1/64\n", "") +
                networkd_rail("on", "", "VLAN=on.100\n") +
                R"(## /etc/systemd/network/05-railbed-on.100.netdev
[NetDev]
Name=on.100
Kind=vlan

[VLAN]
Id=100
)" + networkd_rail("on.100", "Address=10.0.1.1/24\n", "") +
                R"(## /etc/systemd/network/04-railbed-unused.network
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
  for (const Setting& setting : settings)
    for (const NodeStep& step : setting.steps) EXPECT_TRUE(check_step(step));
}

// Input for tests/network_files_test.py, which has real programs read them: one folder per case.
TEST(RenderNetwork, FilesForRealPrograms) {
  const char* folder = std::getenv("RAILBED_RENDERED_FILES");
  if (folder == nullptr) GTEST_SKIP() << "RAILBED_RENDERED_FILES names no folder";
  const auto write = [&](const std::string& name, const std::vector<Setting>& settings) {
    for (const Setting& setting : settings)
      for (const DesiredFile& file : setting.files) {
        const std::filesystem::path path = std::filesystem::path(folder) / name / file.path.substr(1);
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << file.content;
        std::filesystem::permissions(path, static_cast<std::filesystem::perms>(file.mode));
      }
  };
  for (const char* name : {"v100-pair", "dgx-spark-pair", "infiniband-trio"}) {
    const Cluster cluster = example(name);
    write(name, sample(cluster).render(cluster.nodes.at(0).name, Section::kNetwork));
  }
  for (const char* keeper : {"netplan", "networkmanager", "networkd"})
    write(keeper, all_for(keeper).render("gpu1", Section::kNetwork));
  write("dgx", captured("spark-rails-in-run").render("spark-01", Section::kNetwork));
}

}  // namespace
}  // namespace railbed
