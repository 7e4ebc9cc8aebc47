// rdma link, ibdev2netdev and show_gids, composed by the sources in tests/SOURCES.md.
#include <gtest/gtest.h>

#include "host/support/support.h"
#include "host/support/texts.h"
#include "host/testing/report_host.h"

namespace railbed {
namespace {

const std::string kDevices = "/sys/class/infiniband";

// The text of a file whose name states nothing.
std::unique_ptr<Host> host_of_text(const std::string& text, const std::string& path = "note") {
  Sent sent;
  sent.files[path] = {text, 0};
  sent.files["readme"] = {"nothing\n", 0};
  auto reports = reports_of(std::move(sent), "x");
  return reports ? host_of(std::move(reports->nodes.front().tree)) : nullptr;
}

TEST(RdmaLink, GivesTheStatesOfPorts) {
  const auto host = host_of_text(
      "link mlx5_0/1 state DOWN physical_state DISABLED netdev ens7f0np0 \n"
      "link mlx5_1/1 state ACTIVE physical_state LINK_UP netdev ens7f1np1 \n"
      "link mlx5_2/1 subnet_prefix fe80:0000:0000:0000 lid 13399 sm_lid 49151 lmc 0 state INIT physical_state "
      "LINK_ERROR_RECOVER \n");
  ASSERT_TRUE(host);
  EXPECT_EQ(line_of(*host, kDevices + "/mlx5_0/ports/1/state"), "1: DOWN");
  EXPECT_EQ(line_of(*host, kDevices + "/mlx5_0/ports/1/phys_state"), "3: Disabled");
  EXPECT_EQ(line_of(*host, kDevices + "/mlx5_1/ports/1/state"), "4: ACTIVE");
  EXPECT_TRUE(host->read(kDevices + "/mlx5_1/ports/1/link_layer").unknown());
  EXPECT_EQ(line_of(*host, kDevices + "/mlx5_2/ports/1/phys_state"), "6: LinkErrorRecovery");
  EXPECT_EQ(line_of(*host, kDevices + "/mlx5_2/ports/1/link_layer"), "InfiniBand");
  EXPECT_EQ(line_of(*host, kDevices + "/mlx5_2/ports/1/lid"), "0x3457");
  EXPECT_EQ(line_of(*host, kDevices + "/mlx5_2/ports/1/sm_lid"), "0xbfff");
}

TEST(RdmaLink, FormsOfOtherVersions) {
  const auto old = host_of_text("8/1: mlx5_bond_0/1: state ACTIVE physical_state LINK_UP netdev reth0 \n");
  ASSERT_TRUE(old);
  EXPECT_EQ(line_of(*old, kDevices + "/mlx5_bond_0/ports/1/state"), "4: ACTIVE");
  const auto json = host_of_text(
      R"([{"ifindex":0,"ifname":"mlx5_0","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"ens1","netdev_index":4},)"
      R"({"ifindex":1,"ifname":"mlx5_1","port":1,"state":"DOWN","physical_state":"DISABLED"}])");
  ASSERT_TRUE(json);
  EXPECT_EQ(line_of(*json, kDevices + "/mlx5_0/ports/1/state"), "4: ACTIVE");
  EXPECT_EQ(line_of(*json, kDevices + "/mlx5_1/ports/1/phys_state"), "3: Disabled");
}

TEST(RdmaLink, AnInterfaceOfAKnownFunctionTellsThatOfTheDevice) {
  ReportTree report;
  report.link("/sys/class/net/ens1/device", "/sys/bus/pci/devices/0000:17:00.0");
  add_rdma_link("link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens1\n", report);
  EXPECT_EQ(report.resolved(kDevices + "/mlx5_0/device"), "/sys/bus/pci/devices/0000:17:00.0");
}

TEST(RdmaLink, RefusesWhatIsNone) {
  for (
      const char* text :
      {"link ../1 state ACTIVE physical_state LINK_UP\n",
       "link mlx5_0/0 state ACTIVE physical_state LINK_UP\n",
       "link mlx5_0/x state ACTIVE physical_state LINK_UP\n", "[{\"ifindex\":0,\"physical_state\":",
       "[{\"ifindex\":0,\"ifname\":\"a/b\",\"port\":1,\"state\":\"ACTIVE\",\"physical_state\":\"LINK_UP\"}]"}) {
    ReportTree report;
    add_rdma_link(text, report);
    EXPECT_TRUE(report.empty()) << text;
  }
}

TEST(Ibdev2netdev, GivesFunctionsFirmwareAndStates) {
  const auto host = host_of_text(
      "0000:b8:00.1 mlx5_13 (MT4123 - MCX653106A-ECAT) ConnectX-6 VPI adapter card, 100Gb/s, dual-port QSFP56 fw "
      "20.26.4012 port 1 (ACTIVE) ==> ib4 (Up)\n"
      "0000:31:00.0 mlx5_0 (MT4117 - MT2138K10121) CX4121A - ConnectX-4 LX SFP28 fw 14.27.1016 port 1 (DOWN  ) ==> "
      "ens4f0 (Down)\n");
  ASSERT_TRUE(host);
  EXPECT_EQ(host->resolve(kDevices + "/mlx5_13/device").value_or(""), "/sys/bus/pci/devices/0000:b8:00.1");
  EXPECT_EQ(line_of(*host, kDevices + "/mlx5_13/fw_ver"), "20.26.4012");
  EXPECT_EQ(line_of(*host, kDevices + "/mlx5_13/ports/1/state"), "4: ACTIVE");
  EXPECT_EQ(line_of(*host, kDevices + "/mlx5_0/ports/1/state"), "1: DOWN");
}

TEST(Ibdev2netdev, AnInterfaceThatIsUpIsNoActivePort) {
  const auto host = host_of_text("mlx5_0 port 1 ==> ens7f0np0 (Up)\nmlx5_1 port 1 ==> ib1 (Down)\n");
  ASSERT_TRUE(host);
  EXPECT_EQ(host->list(kDevices).value_or({}), (std::vector<std::string>{"mlx5_0", "mlx5_1"}));
  EXPECT_TRUE(host->read(kDevices + "/mlx5_0/ports/1/state").absent() ||
              host->read(kDevices + "/mlx5_0/ports/1/state").unknown());
}

TEST(ShowGids, GivesTheTable) {
  const auto host = host_of_text(
      "DEV     PORT    INDEX   GID                                     IPv4            VER     DEV\n"
      "---     ----    -----   ---                                     ------------    ---     ---\n"
      "mlx5_0  1       0       fe80:0000:0000:0000:a288:c2ff:fe03:f1a2                 v1      ens1\n"
      "mlx5_0  1       3       0000:0000:0000:0000:0000:ffff:0a1f:0402  10.31.4.2       v2      ens1\n"
      "mlx5_1  1       0       fe80:0000:0000:0000:248a:0703:00b1:bc05                 v1\n"
      "n_gids_found=3\n");
  ASSERT_TRUE(host);
  const std::string port = kDevices + "/mlx5_0/ports/1";
  EXPECT_EQ(host->list(port + "/gids").value_or({}), (std::vector<std::string>{"0", "3"}));
  EXPECT_EQ(line_of(*host, port + "/gids/3"), "0000:0000:0000:0000:0000:ffff:0a1f:0402");
  EXPECT_EQ(line_of(*host, port + "/gid_attrs/types/3"), "RoCE v2");
  EXPECT_EQ(line_of(*host, port + "/gid_attrs/types/0"), "IB/RoCE v1");
  EXPECT_EQ(line_of(*host, port + "/gid_attrs/ndevs/3"), "ens1");
  EXPECT_TRUE(host->read(kDevices + "/mlx5_1/ports/1/gid_attrs/ndevs/0").unknown());
}

TEST(ShowGids, AFileNameThatBeginsLikeACommandIsNone) {
  const auto host = host_of_text("[    1.0] Linux version 6.8\n[   99.1] a line\n", "rdma-trouble.txt");
  ASSERT_TRUE(host);
  EXPECT_TRUE(host->call("kernel-log").ok());
  const auto listed = host_of_text("00:00.0 Host bridge: Intel Corporation Device 09a2\n", "lspci.old.gpu01");
  ASSERT_TRUE(listed);
  EXPECT_TRUE(listed->list("/sys/bus/pci/devices").ok());
}

}  // namespace
}  // namespace railbed
