#include <gmock/gmock.h>

#include "settings/files.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

constexpr std::string_view kMarked = R"(
railbed: 1
cluster: one
expect: {os: ubuntu 24.04, traffic_class: 104}
nodes: [gpu1]
rails:
  - {name: rail0, subnet: 10.0.0.0/24, interface: ens6, first_address: 10.0.0.1}
  - {name: rail1, subnet: 10.1.0.0/24, interface: ens7.100, vlan: 100, first_address: 10.1.0.1}
  - {name: rail2, subnet: 10.2.0.0/24, interface: eth1, rdma_driver: rxe, first_address: 10.2.0.1}
)";

TEST(RenderRdma, MarksConnectionsOfRdmaCmAtEveryBoot) {
  const auto settings = sample(kMarked).render("gpu1", Section::kRdma);
  ASSERT_EQ(settings.size(), 1U);  // no adapter is known to be fast
  EXPECT_EQ(settings[0].files[0].path, "/etc/systemd/system/rdma-cm-tos.service");
  EXPECT_EQ(settings[0].files[0].content, std::string(kFileMark) + R"([Unit]
Description=RoCE traffic class of connections that RDMA-CM makes
Wants=sys-kernel-config.mount
After=sys-kernel-config.mount

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStartPre=modprobe rdma_cm
ExecStart=/bin/sh -c 'n=0; f=0; for i in ens6 ens7; do \
  until [ -d /sys/class/net/$$i/device/infiniband ] || [ $$n -ge 60 ]; do sleep 1; n=$$((n+1)); done; \
  p=$$(($$(cat /sys/class/net/$$i/dev_port)+1)); \
  for d in /sys/class/net/$$i/device/infiniband/*; do c=/sys/kernel/config/rdma_cm/$${d##*/}; \
  mkdir -p $$c && echo 104 >$$c/ports/$$p/default_roce_tos || f=1; done; done; exit $$f'

[Install]
WantedBy=multi-user.target
)");
}

TEST(RenderRdma, WritesNoNameIntoAUnitThatAShellWouldObey) {
  constexpr std::string_view kHostile = R"(
railbed: 1
cluster: one
expect: {os: ubuntu 24.04, traffic_class: 104}
nodes: [gpu1]
rails: [{name: rail0, subnet: 10.0.0.0/24, interface: "e;reboot", first_address: 10.0.0.1}]
)";
  EXPECT_TRUE(sample(kHostile).render("gpu1", Section::kRdma).empty());
}

std::vector<Setting> rdma_settings_of(const std::string& machine, const std::string& node) {
  return captured(machine).render(node, Section::kRdma);
}

int unmet_now(const Setting& setting) {
  return static_cast<int>(
      std::ranges::count_if(setting.needs, [](const Need& need) { return need.now == false; }));
}

TEST(RenderRdma, SeesTheMarkAndWhoKeepsIt) {
  const auto sound = rdma_settings_of("h100-trust-pcp", "gpu01");
  ASSERT_EQ(sound.size(), 2U);
  EXPECT_EQ(sound[0].needs.size(), 8U);
  for (const Need& need : sound[0].needs) {
    EXPECT_EQ(need.now, true);
    EXPECT_EQ(need.at_boot, true);
  }
  EXPECT_EQ(unmet_now(rdma_settings_of("h100-traffic-class", "gpu01")[0]) +
                unmet_now(rdma_settings_of("h100-traffic-class", "gpu02")[0]),
            1);
}

TEST(RenderRdma, EnlargesReadRequestsOfFastPorts) {
  int unmet = 0;
  for (const char* node : {"gpu01", "gpu02"}) {
    const auto settings = rdma_settings_of("h100-read-request-512", node);
    ASSERT_EQ(settings.size(), 2U);
    EXPECT_THAT(settings[1].files[0].content, testing::HasSubstr("CAP_EXP+8.w=5000:7000"));
    unmet += unmet_now(settings[1]);
  }
  EXPECT_EQ(unmet, 1);
  EXPECT_EQ(rdma_settings_of("h100-secure-boot", "gpu01").size(), 1U);  // the kernel would refuse setpci
}

}  // namespace
}  // namespace railbed
