#include <gmock/gmock.h>

#include "settings/files.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

using testing::HasSubstr;

constexpr std::string_view kSwitched = R"(
railbed: 1
cluster: one
expect: {os: ubuntu 24.04, traffic_class: 104}
nodes: [gpu1]
rails:
  - {name: rail0, subnet: 10.0.0.0/24, interface: enp1-0, first_address: 10.0.0.1}
  - {name: rail1, subnet: 10.1.0.0/24, interface: eth1, rdma_driver: rxe, first_address: 10.1.0.1}
)";

TEST(RenderQos, RestoresTheClassWheneverTheInterfaceAppears) {
  const auto settings = sample(kSwitched).render("gpu1", Section::kQos);
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(settings[0].risk, Risk::kTraffic);
  EXPECT_EQ(settings[0].files[0].path, "/etc/systemd/system/railbed-qos@.service");
  EXPECT_EQ(settings[0].files[0].content, std::string(kFileMark) + R"([Unit]
Description=Lossless priority of RoCE on %I
BindsTo=sys-subsystem-net-devices-%i.device
After=sys-subsystem-net-devices-%i.device

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=-ethtool -A %I rx off tx off
ExecStart=dcb app replace dev %I dscp-prio 26:3
ExecStart=dcb pfc set dev %I prio-pfc all:off 3:on

[Install]
WantedBy=sys-subsystem-net-devices-%i.device
)");
  // systemd's own form of the name; software RDMA has no such thing.
  EXPECT_EQ(settings[0].steps.back().arguments, std::vector<std::string>{"railbed-qos@enp1\\x2d0.service"});
  EXPECT_EQ(settings[0].needs.size(), 2U);
}

TEST(RenderQos, TakesThePriorityThatIsSaidAndTheToolThatIsThere) {
  constexpr std::string_view kCable = R"(
railbed: 1
cluster: one
topology: back-to-back
configure: {pfc_priority: 5}
nodes: [gpu1]
rails: [{name: rail0, subnet: 10.0.0.0/24, interface: ens6, first_address: 10.0.0.1}]
)";
  Facts facts;
  facts.railbed = "0";
  facts.system.os.id = {"ubuntu", ""};
  facts.rdma.driver_version = {"24.10-0.7.0", ""};
  const auto settings = sample(kCable, {{"gpu1", facts}}).render("gpu1", Section::kQos);
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_THAT(settings[0].files[0].content,
              HasSubstr("ExecStart=mlnx_qos -i %I --trust dscp\n"
                        "ExecStart=mlnx_qos -i %I --pfc 0,0,0,0,0,1,0,0\n"
                        "ExecStart=mlnx_qos -i %I --dscp2prio set,26,5\n"
                        "ExecStart=/bin/sh -c 'cd /sys/class/net/%I/ecn && echo 1 >roce_np/enable/5 && "
                        "echo 1 >roce_rp/enable/5 && echo 48 >roce_np/cnp_dscp'\n"));
}

TEST(RenderQos, AsksForNothingOnACableByItself) {
  const std::string cable = std::string(kSwitched) + "topology: back-to-back\n";
  EXPECT_TRUE(sample(cable).render("gpu1", Section::kQos).empty());
}

TEST(RenderQos, SaysWhatASystemLacks) {
  Facts facts;
  facts.railbed = "0";
  facts.system.os.id = {"ubuntu", ""};
  facts.system.os.version = {"20.04", ""};
  const auto settings = sample(kSwitched, {{"gpu1", facts}}).render("gpu1", Section::kQos);
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_TRUE(settings[0].files.empty());
  EXPECT_THAT(settings[0].notes[0], HasSubstr("no dcb"));
}

// Needs of both nodes that are known not to be met, with the present state.
std::vector<std::string> unmet_of_machine(const std::string& machine) {
  const ConfiguredCluster all = captured(machine);
  std::vector<std::string> unmet;
  for (const char* node : {"gpu01", "gpu02"})
    for (const Setting& setting : all.render(node, Section::kQos))
      for (const Need& need : setting.needs)
        if (need.now == false) unmet.push_back(need.what + ": " + need.found);
  return unmet;
}

TEST(RenderQos, FindsWhatMachinesLack) {
  EXPECT_THAT(unmet_of_machine("h100-trust-pcp"), testing::ElementsAre(HasSubstr("it trusts the VLAN tag")));
  EXPECT_THAT(unmet_of_machine("h100-pfc-off"),
              testing::ElementsAre(HasSubstr("PFC on priority 3 alone: none")));
  EXPECT_THAT(unmet_of_machine("h100-global-pause"), testing::Contains(HasSubstr("receive on")));
  EXPECT_THAT(unmet_of_machine("h100-ecn-off"), testing::ElementsAre(HasSubstr("takes part")));
  EXPECT_THAT(unmet_of_machine("h100-traffic-class"), testing::IsEmpty());
}

}  // namespace
}  // namespace railbed
