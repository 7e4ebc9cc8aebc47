#include <gtest/gtest.h>

#include "host/support/outputs.h"
#include "host/support/support.h"
#include "host/support/texts.h"
#include "host/testing/report_host.h"

namespace railbed {
namespace {

// The form of mlxlink_cmd_print.cpp, with colours; names are padded.
std::string mlxlink(const std::string& state, const std::string& speed, const std::string& width) {
  return "\nOperational Info\n----------------\nState                              : \x1b[32m" + state +
         "\x1b[0m\nPhysical state                     : LinkUp\nSpeed                              : " +
         speed + "\nWidth                              : " + width +
         "\nFEC                                : Standard LL RS-FEC - RS(271,257)\n"
         "Loopback Mode                      : No Loopback\n\nTroubleshooting Info\n--------------------\n"
         "Status Opcode                      : 0\nRecommendation                     : No issue was observed\n";
}

std::unique_ptr<Host> host_of_session(const std::string& command, const std::string& text) {
  Sent sent;
  sent.files[std::string(kSingleFile)] = {"root@gpu01:~# " + command + "\n" + text, 0};
  auto reports = reports_of(std::move(sent), "x.txt");
  return reports ? host_of(std::move(reports->nodes.front().tree)) : nullptr;
}

const std::string kPort = "/sys/class/infiniband/mlx5_0/ports/1";

TEST(Mlxlink, GivesThePhysicalLayerAndTheRate) {
  const auto host = host_of_session("sudo mlxlink -d mlx5_0 -m -c", mlxlink("Active", "IB-HDR", "4x"));
  ASSERT_TRUE(host);
  EXPECT_EQ(line_of(*host, kPort + "/phys_state"), "5: LinkUp");
  EXPECT_EQ(line_of(*host, kPort + "/rate"), "200 Gb/sec (4X HDR)");
  EXPECT_TRUE(host->read(kPort + "/state").unknown()) << "a link may be up without a subnet manager";
  EXPECT_TRUE(host->list("/sys/class/infiniband").unknown()) << "other adapters may be there";
}

TEST(Mlxlink, OtherStatesAndEthernet) {
  const auto down = host_of_session("mstlink -d mlx5_0 -p 2", mlxlink("Polling", "N/A", "N/A"));
  ASSERT_TRUE(down);
  EXPECT_EQ(line_of(*down, "/sys/class/infiniband/mlx5_0/ports/2/phys_state"), "2: Polling");
  EXPECT_TRUE(down->read("/sys/class/infiniband/mlx5_0/ports/2/rate").unknown());
  EXPECT_EQ(line_of(*host_of_session("mlxlink -d mlx5_0", mlxlink("Active", "400G", "4x")), kPort + "/rate"),
            "400 Gb/sec");
  EXPECT_EQ(line_of(*host_of_session("mlxlink -d mlx5_0", mlxlink("Active", "25GbE", "1x")), kPort + "/rate"),
            "25 Gb/sec");
  const auto odd = host_of_session("mlxlink -d mlx5_0", mlxlink("Training", "IB-HDR", "4x"));
  EXPECT_TRUE(odd->read(kPort + "/phys_state").unknown());
}

TEST(Mlxlink, APciFunctionIsTheDeviceThatIsThere) {
  ReportTree report;
  add_lspci("17:00.0 Infiniband controller: Mellanox Technologies MT2910\n", true, report);
  report.link("/sys/class/infiniband/mlx5_3/device", "/sys/bus/pci/devices/0000:17:00.0");
  add_mlxlink("17:00.0", 1, without_colours(mlxlink("Disable", "N/A", "N/A")), report);
  add_mlxlink("18:00.0", 1, mlxlink("Active", "400G", "4x"), report);
  add_mlxlink("/dev/mst/mt4129_pciconf0", 1, mlxlink("Active", "400G", "4x"), report);
  add_mlxlink("", 1, mlxlink("Active", "400G", "4x"), report);
  ASSERT_EQ(report.left_out().size(), 3U);
  EXPECT_NE(report.left_out()[0].find("18:00.0"), std::string::npos);
  EXPECT_NE(report.left_out()[2].find("nothing states"), std::string::npos);
  EXPECT_EQ(line_of(*host_of(std::move(report)), "/sys/class/infiniband/mlx5_3/ports/1/phys_state"),
            "3: Disabled");
}

TEST(Mlxlink, AFileNameStatesTheDevice) {
  Sent sent;
  sent.files["mlxlink_-d_mlx5_0_-p_1"] = {mlxlink("Active", "IB-NDR", "4x"), 0};
  sent.files["notes.txt"] = {"hello\n", 0};
  auto reports = reports_of(std::move(sent), "x");
  ASSERT_TRUE(reports) << reports.error().text;
  EXPECT_EQ(line_of(*host_of(std::move(reports->nodes.front().tree)), kPort + "/rate"),
            "400 Gb/sec (4X NDR)");
}

TEST(Mlxlink, ItsJsonHasTheSame) {
  const auto host = host_of_session(
      "mlxlink -d mlx5_0 --json",
      "{\n   \"result\" : {\n      \"output\" : {\n         \"Operational Info\" : {\n"
      "            \"Auto Negotiation\" : \"ON\",\n            \"Physical state\" : \"LinkUp\",\n"
      "            \"Speed\" : \"IB-EDR\",\n            \"State\" : \"Active\",\n            \"Width\" : \"4x\"\n"
      "         }\n      }\n   }\n}\n");
  ASSERT_TRUE(host);
  EXPECT_EQ(line_of(*host, kPort + "/phys_state"), "5: LinkUp");
  EXPECT_EQ(line_of(*host, kPort + "/rate"), "100 Gb/sec (4X EDR)");
}

}  // namespace
}  // namespace railbed
