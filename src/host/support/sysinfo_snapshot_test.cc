#include "host/support/sysinfo_snapshot.h"

#include <gtest/gtest.h>

#include "host/support/support.h"
#include "host/testing/report_host.h"

namespace railbed {
namespace {

const std::string kPage =
    "<html><head><title>x</title></head><body><pre><a name=\"index\"></a><h1>Mellanox Technologies</h1><br/>"
    "<a name=\"index\"></a><h2>Linux Infiniband Driver System Information Snapshot Utility</h2><br/>"
    "<a name=\"index\"></a><h2>Version: 3.7.9</h2><br/><hr/><h2>1. Server Commands: </h2><table><tr><td></td></tr></table><p>"
    "<a name=\"sec1001\"></a><h2>hostname</h2><p>gpu01</p>"
    "<a name=\"sec1002\"></a><small><a href=\"#index\">[back to index]</a></small> <h2>ibstat</h2>"
    "<p>CA 'mlx5_0'<br/>&nbsp;&nbsp;&nbsp;&nbsp;CA type: MT4129<br/>&nbsp;&nbsp;&nbsp;&nbsp;Port 1:<br/>"
    "&nbsp;&nbsp;&nbsp;&nbsp;&nbsp;&nbsp;&nbsp;&nbsp;State: Active</p>"
    "<a name=\"sec1003\"></a><h2>ip -s -s addr show</h2><p>2: ens1: &lt;BROADCAST,UP,LOWER_UP&gt; mtu 9000 state UP<br/>"
    "    link/ether 94:6d:ae:00:01:00 brd ff:ff:ff:ff:ff:ff</p>"
    "<a name=\"sec1004\"></a><h2>lspci -tv |grep 'NVIDIA' -A7</h2><p>x</p>"
    "<a name=\"sec1005\"></a><h2>service --status-all</h2><p>y</p></p>"
    "<a name=\"sec3001\"></a><h2>/proc/cmdline</h2><p>quiet iommu=pt<br/></p>"
    "<a name=\"sec3002\"></a><h2>/etc/resolv.conf</h2><p>z</p>"
    "<a name=\"sec3003\"></a><h2>/proc/../etc/shadow</h2><p>z</p></body></html>";

void expect_page(Host& host) {
  EXPECT_EQ(line_of(host, "/sys/class/infiniband/mlx5_0/ports/1/state"), "4: ACTIVE");
  EXPECT_EQ(line_of(host, "/sys/class/net/ens1/mtu"), "9000");
  EXPECT_EQ(line_of(host, "/proc/cmdline"), "quiet iommu=pt");
  EXPECT_TRUE(host.read("/etc/shadow").unknown());
}

TEST(SysinfoSnapshot, ThePageIsAReport) {
  Sent sent;
  sent.files[std::string(kSingleFile)] = {kPage, 0};
  auto reports = reports_of(std::move(sent), "sysinfo-snapshot-v3.7.9-gpu01-20260119.html");
  ASSERT_TRUE(reports) << reports.error().text;
  ASSERT_EQ(reports->nodes.size(), 1U);
  EXPECT_EQ(reports->nodes[0].node, "gpu01");
  expect_page(*host_of(std::move(reports->nodes[0].tree)));
}

TEST(SysinfoSnapshot, TheArchiveHoldsOutputsBesideIt) {
  const std::string top = "sysinfo-snapshot-v3.7.9-gpu01-20260119/";
  Sent sent;
  sent.files[top + "sysinfo-snapshot-v3.7.9-gpu01-20260119.html"] = {kPage, 0};
  sent.files[top + "commands_txt_output/sysctl_a"] = {"net.core.rmem_max = 212992\n", 0};
  sent.files[top + "pcie_files/lspci_vvvxxxxx"] = {
      "00:00.0 Host bridge: Intel Corporation Device 09a2\n00: 86 80 a2 09\n\n"
      "17:00.0 3D controller: NVIDIA Corporation GH100 (rev a1)\n00: de 10 30 23\n",
      0};
  auto reports = reports_of(std::move(sent), "x.tgz");
  ASSERT_TRUE(reports) << reports.error().text;
  ASSERT_EQ(reports->nodes.size(), 1U);
  const auto host = host_of(std::move(reports->nodes[0].tree));
  expect_page(*host);
  EXPECT_EQ(line_of(*host, "/proc/sys/net/core/rmem_max"), "212992");
  EXPECT_EQ(line_of(*host, "/sys/bus/pci/devices/0000:17:00.0/class"), "0x030200");
  EXPECT_TRUE(host->read("/sys/bus/pci/devices/0000:99:00.0/class").absent())
      << "its lspci is of the whole machine";
}

}  // namespace
}  // namespace railbed
