#include <gtest/gtest.h>

#include "base/json.h"
#include "host/sent_answers.h"
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
  const std::string down = without_colours(mlxlink("Disable", "N/A", "N/A"));
  const std::string up = mlxlink("Active", "400G", "4x");
  add_mlxlink({{"17:00.0", 1, down}, {"18:00.0", 1, up}, {"/dev/mst/mt4129_pciconf0", 1, up}, {"", 1, up}},
              report);
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

// The section of mlxlink -c of a port of a DGX A100-like machine (MFT 4.24): mlxlink prints 15E-255 for no error.
const std::string kCounters =
    "\nPhysical Counters and BER Info\n------------------------------\n"
    "Time Since Last Clear [Min]        : 1440.5\nSymbol Errors                      : 0\n"
    "Symbol BER                         : 15E-255\nEffective Physical Errors          : 12\n"
    "Effective Physical BER             : 2E-15\nRaw Physical Errors Per Lane       : 3183333,242074\n"
    "Raw Physical BER                   : 1E-8\nLink Down Counter                  : 1\n"
    "Link Error Recovery Counter        : 0\n";

// The same without colours, as the intake hands it over.
std::string plain_mlxlink(const std::string& state, const std::string& speed, const std::string& width) {
  return without_colours(mlxlink(state, speed, width));
}

std::vector<SignalAnswer> signals_of(Host& host) {
  auto read = json::read<std::vector<SignalAnswer>>(host.call("signals").value_or(""));
  return read ? *std::move(read) : std::vector<SignalAnswer>();
}

TEST(Mlxlink, ItsCountersAreTheSignal) {
  const auto host =
      host_of_session("mlxlink -d mlx5_0 -p 1 -c", mlxlink("Active", "IB-HDR", "2x") + kCounters);
  ASSERT_TRUE(host);
  const auto signals = signals_of(*host);
  ASSERT_EQ(signals.size(), 1U);
  const SignalAnswer& signal = signals[0];
  EXPECT_EQ(signal.device, "mlx5_0");
  EXPECT_TRUE(signal.up);
  EXPECT_EQ(signal.speed, "IB-HDR");
  EXPECT_EQ(signal.fec, "Standard LL RS-FEC - RS(271,257)");
  EXPECT_EQ(signal.trouble, std::string());
  EXPECT_EQ(signal.minutes, 1440.5);
  EXPECT_EQ(signal.raw_ber, 1e-8);
  EXPECT_EQ(signal.raw_errors, (std::vector<std::uint64_t>{3183333, 242074}));
  EXPECT_EQ(signal.effective_ber, 2e-15);
  EXPECT_EQ(signal.effective_errors, 12U);
  EXPECT_EQ(signal.symbol_ber, 0.0);
  EXPECT_EQ(signal.symbol_errors, 0U);
  EXPECT_EQ(signal.link_downs, 1U);
}

TEST(Mlxlink, ThePortOfAnUnknownDeviceKeepsItsSignal) {
  const auto host =
      host_of_session("mlxlink -d /dev/mst/mt4129_pciconf0 -c", mlxlink("Active", "400G", "4x") + kCounters);
  ASSERT_TRUE(host);
  ASSERT_EQ(signals_of(*host).size(), 1U);
  EXPECT_EQ(signals_of(*host)[0].device, "/dev/mst/mt4129_pciconf0");
}

TEST(Mlxlink, AValueThatIsNoneIsNotStated) {
  ReportTree report;
  const std::string text =
      plain_mlxlink("Polling", "N/A", "N/A") +
      "Raw Physical BER                   : N/A\nEffective Physical BER             : 7\n"
      "Symbol BER                         : -1E-9\nLink Down Counter                  : many\n"
      "Raw Physical Errors Per Lane       : 99999999999999999999999,1\n";
  add_mlxlink({{"mlx5_0", 1, text}}, report);
  const auto host = host_of(std::move(report));
  const auto signals = signals_of(*host);
  ASSERT_EQ(signals.size(), 1U);
  EXPECT_FALSE(signals[0].raw_ber || signals[0].effective_ber || signals[0].symbol_ber ||
               signals[0].link_downs);
  EXPECT_TRUE(signals[0].raw_errors.empty());
}

TEST(Mlxlink, TheFirmwareNamesTheTrouble) {
  const std::string text =
      "Operational Info\n----------------\nState : Polling\nPhysical state : ETH_AN_FSM_ENABLE\nSpeed : N/A\n\n"
      "Troubleshooting Info\n--------------------\nStatus Opcode : 2\nGroup Opcode : PHY FW\n"
      "Recommendation : Negotiation failure, no partner detected\n";
  const auto host = host_of_session("mlxlink -d mlx5_0", text);
  ASSERT_TRUE(host);
  ASSERT_EQ(signals_of(*host).size(), 1U);
  EXPECT_EQ(signals_of(*host)[0].trouble, std::string("Negotiation failure, no partner detected"));
  EXPECT_FALSE(signals_of(*host)[0].up);
}

TEST(Mlxlink, OfOnePortTheLaterCountersCount) {
  ReportTree report;
  const std::string before = plain_mlxlink("Active", "400G", "4x") + kCounters;
  const std::string after =
      plain_mlxlink("Active", "400G", "4x") + "Raw Physical BER                   : 5E-9\n";
  const std::string without = plain_mlxlink("Active", "400G", "4x");
  add_mlxlink({{"mlx5_0", 1, before}, {"mlx5_0", 1, after}, {"mlx5_0", 1, without}, {"mlx5_1", 1, without}},
              report);
  const auto signals = signals_of(*host_of(std::move(report)));
  ASSERT_EQ(signals.size(), 2U);
  EXPECT_EQ(signals[0].raw_ber, 5e-9);
  EXPECT_FALSE(signals[0].effective_ber);
}

// The section of mlxlink -m of an OSFP module (MFT 4.34), with a lane that has lost its light.
TEST(Mlxlink, ItsModuleHasReadingsAndFaults) {
  ReportTree report;
  const std::string optic =
      plain_mlxlink("Active", "IB-NDR", "4x") +
      "\nModule Info\n-----------\nTemperature [C]                    : 54 [-5..75]\n"
      "Voltage [mV]                       : 3261.2 [2970..3630]\n"
      "Rx Power Current [dBm]             : 1.886,1.989,-12.281,1.976 [-10.41..6]\n"
      "Tx Power Current [dBm]             : N/A\nModule FW Fault                    : 0\n"
      "Rx LOS [per lane]                  : 0,0,1,0\n";
  const std::string copper = plain_mlxlink("Active", "IB-NDR", "4x") +
                             "Temperature [C]                    : 0 [0..0]\n"
                             "Rx Power Current [dBm]             : 0,0,0,0 [0..0]\n"
                             "Bias Current [mA]                  : 7 [9..x]\nVoltage [mV] : 5 ]..[ 3\n";
  add_mlxlink({{"mlx5_0", 1, optic},
               {"mlx5_0", 1, plain_mlxlink("Active", "IB-NDR", "4x") + kCounters},
               {"mlx5_1", 1, copper}},
              report);
  const auto signals = signals_of(*host_of(std::move(report)));
  ASSERT_EQ(signals.size(), 2U);
  ASSERT_EQ(signals[0].module.size(), 3U);
  const ModuleReading& light = signals[0].module[2];
  EXPECT_EQ(light.name, "Rx Power Current");
  EXPECT_EQ(light.unit, "dBm");
  EXPECT_EQ(light.values, (std::vector<double>{1.886, 1.989, -12.281, 1.976}));
  EXPECT_EQ(light.low, -10.41);
  EXPECT_EQ(light.high, 6);
  EXPECT_EQ(signals[0].faults, (std::vector<std::string>{"Rx LOS of lane 2"}));
  EXPECT_EQ(signals[0].raw_ber, 1e-8) << "the counters of the later output";
  EXPECT_TRUE(signals[1].module.empty() && signals[1].faults.empty());
}

TEST(Mlxlink, ALoopOverTheAdaptersNamesEach) {
  Sent sent;
  sent.files[std::string(kSingleFile)] = {"=== mlx5_0 ===\n" + mlxlink("Active", "400G", "4x") + kCounters +
                                              "=== mlx5_1 ===\n" + mlxlink("Polling", "N/A", "N/A") + "\n" +
                                              mlxlink("Active", "400G", "4x") +
                                              "Raw Physical BER                   : 5E-9\n",
                                          0};
  auto reports = reports_of(std::move(sent), "x.txt");
  ASSERT_TRUE(reports) << reports.error().text;
  const auto host = host_of(std::move(reports->nodes.front().tree));
  const auto signals = signals_of(*host);
  ASSERT_EQ(signals.size(), 3U);
  EXPECT_EQ(signals[0].device, "mlx5_0");
  EXPECT_EQ(signals[0].raw_ber, 1e-8);
  EXPECT_EQ(signals[1].device, "mlx5_1");
  EXPECT_FALSE(signals[1].up || signals[1].raw_ber);
  EXPECT_EQ(signals[2].device, "");
  EXPECT_EQ(signals[2].raw_ber, 5e-9);
  EXPECT_EQ(line_of(*host, "/sys/class/infiniband/mlx5_1/ports/1/phys_state"), "2: Polling");
}

TEST(Mlxlink, LabelsThatNameTwoPortsOrStandBelowNameNone) {
  const std::string good = plain_mlxlink("Active", "400G", "4x") + "Raw Physical BER : 1E-9\n";
  const std::string bad = plain_mlxlink("Active", "400G", "4x") + "Raw Physical BER : 1E-3\n";
  for (const std::string& text :
       {"=== mlx5_0 ===\n" + bad + "=== mlx5_0 ===\n" + good,
        "== mlx5_0 port 1 ==\n" + bad + "== mlx5_0 port 2 ==\n" + good, bad + "mlx5_0\n" + good + "mlx5_1\n",
        "mlx5_0 port 1 ==> ens1 (Up)\nmlx5_1 port 1 ==> ens2 (Up)\n" + bad + good}) {
    ReportTree report;
    add_mlxlink({{"", 1, text}}, report);
    const auto signals = signals_of(*host_of(std::move(report)));
    ASSERT_EQ(signals.size(), 2U) << text;
    EXPECT_EQ(signals[0].device + signals[1].device, "") << text;
    EXPECT_EQ(signals[0].raw_ber, 1e-3) << text;
  }
}

TEST(Mlxlink, TheLaterStateCounts) {
  const std::string up = plain_mlxlink("Active", "400G", "4x") + kCounters;
  const std::string down =
      "Operational Info\n---\nState : Polling\nPhysical state : N/A\nStatus Opcode : 1024\n"
      "Recommendation : Cable is unplugged\n";
  ReportTree report;
  add_mlxlink({{"mlx5_0", 1, up}, {"mlx5_0", 1, down}, {"mlx5_1", 1, down}, {"mlx5_1", 1, up}}, report);
  const auto signals = signals_of(*host_of(std::move(report)));
  ASSERT_EQ(signals.size(), 2U);
  EXPECT_FALSE(signals[0].up || signals[0].raw_ber);
  EXPECT_EQ(signals[0].trouble, std::string("Cable is unplugged"));
  EXPECT_TRUE(signals[1].up);
  EXPECT_EQ(signals[1].trouble, std::string());
}

// A sound passive cable of 400 Gb/s, as posted (MFT 4.35): it has no laser and no clock recovery.
TEST(Mlxlink, FlagsOfACopperCableMeanNothing) {
  ReportTree report;
  const std::string copper = plain_mlxlink("Active", "IB-NDR", "4x") +
                             "Rx Power Current [dBm]             : 0,0,0,0 [0..0]\n"
                             "Rx CDR LOL [per lane]              : 1,1,1,1\nRx LOS [per lane] : 1,0,1,1\n";
  const std::string split = plain_mlxlink("Active", "400G", "4x") +
                            "Rx Power Current [dBm]             : 1.9,-40,-40,2.1 [-10.41..6]\n"
                            "Rx LOS [per lane]                  : 0,1,1,1\n";
  add_mlxlink({{"mlx5_0", 1, copper}, {"mlx5_1", 1, split}}, report);
  const auto signals = signals_of(*host_of(std::move(report)));
  ASSERT_EQ(signals.size(), 2U);
  EXPECT_TRUE(signals[0].faults.empty());
  EXPECT_EQ(signals[1].faults, (std::vector<std::string>{"Rx LOS of lane 3"}));
}

TEST(Mlxlink, WhatStandsBelowItIsNotOfIt) {
  const auto host = host_of_session("mlxlink -d mlx5_0 -c; ibstat mlx5_1",
                                    mlxlink("Active", "IB-HDR", "4x") + kCounters +
                                        "CA 'mlx5_1'\n\t\tState: Down\n\t\tPhysical state: Disabled\n");
  ASSERT_TRUE(host);
  ASSERT_EQ(signals_of(*host).size(), 1U);
  EXPECT_TRUE(signals_of(*host)[0].up);
}

TEST(Mlxlink, PortsOfASwitchAreLeftOut) {
  const auto host =
      host_of_session("mlxlink -d lid-5 -p 21/1 -c", mlxlink("Active", "IB-NDR", "4x") + kCounters);
  ASSERT_TRUE(host);
  EXPECT_FALSE(host->call("signals").ok());
  const auto second = host_of_session("mlxlink -d mlx5_0 --port 2", mlxlink("Active", "IB-NDR", "4x"));
  ASSERT_EQ(signals_of(*second).size(), 1U);
  EXPECT_EQ(signals_of(*second)[0].port, 2);
}

TEST(Mlxlink, LinesMayEndAsOnWindows) {
  std::string text = mlxlink("Active", "400G", "4x");
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 2) text.insert(at, "\r");
  Sent sent;
  sent.files[std::string(kSingleFile)] = {text, 0};
  auto reports = reports_of(std::move(sent), "x.txt");
  ASSERT_TRUE(reports) << reports.error().text;
  EXPECT_EQ(signals_of(*host_of(std::move(reports->nodes.front().tree))).size(), 1U);
}

TEST(Mlxlink, ItsJsonHasTheCounters) {
  const auto host = host_of_session(
      "mlxlink -d mlx5_0 -c --json",
      "{\n   \"result\" : {\n      \"output\" : {\n         \"Operational Info\" : {\n"
      "            \"FEC\" : \"Standard RS-FEC - RS(544,514)\",\n            \"Physical state\" : \"LinkUp\",\n"
      "            \"Speed\" : \"400G\",\n            \"State\" : \"Active\",\n            \"Width\" : \"4x\"\n"
      "         },\n         \"Physical Counters and BER Info\" : {\n"
      "            \"Effective Physical BER\" : \"15E-255\",\n            \"Effective Physical Errors\" : \"0\",\n"
      "            \"Raw Physical BER\" : \"3E-9\",\n            \"Raw Physical Errors Per Lane\" : {\n"
      "               \"values\" : [ \"5\", \"7\", \"11\", \"13\" ]\n            }\n         }\n      }\n   },\n"
      "   \"status\" : {\n      \"code\" : 0,\n      \"message\" : \"Success\"\n   }\n}\n");
  ASSERT_TRUE(host);
  const auto signals = signals_of(*host);
  ASSERT_EQ(signals.size(), 1U);
  EXPECT_EQ(signals[0].raw_ber, 3e-9);
  EXPECT_EQ(signals[0].effective_ber, 0.0);
  EXPECT_EQ(signals[0].raw_errors, (std::vector<std::uint64_t>{5, 7, 11, 13}));
}

// mlxlink --json | jq indents anew, with each value of a list on a line of its own; jq may take a part, and a loop may
// print a label above each document.
TEST(Mlxlink, JsonThatJqIndentedIsRead) {
  const auto document = [](const std::string& speed, const std::string& ratio, bool whole) {
    const std::string output = R"({
  "Operational Info": {
    "State": "Active",
    "Physical state": "LinkUp",
    "Speed": ")" + speed + R"(",
    "Width": "4x"
  },
  "Physical Counters and BER Info": {
    "Raw Physical Errors Per Lane": {
      "values": [
        "31",
        "24"
      ]
    },
    "Raw Physical BER": ")" + ratio +
                               R"("
  }
})";
    return whole ? "{\n  \"result\": {\n    \"output\": " + output +
                       "\n  },\n  \"status\": {\n    \"code\": 0\n  }\n}\n"
                 : output + "\n";
  };
  const auto signals_of = [](Host& host) {
    return *json::decode<std::vector<SignalAnswer>>(*json::parse(*host.call("signals")));
  };
  for (const bool whole : {true, false}) {
    const auto host = host_of_session(
        whole ? "mlxlink -d mlx5_0 -c --json | jq ." : "mlxlink -d mlx5_0 -c --json | jq .result.output",
        document("IB-NDR", "2E-9", whole));
    ASSERT_TRUE(host);
    EXPECT_EQ(line_of(*host, kPort + "/rate"), "400 Gb/sec (4X NDR)");
    const auto signals = signals_of(*host);
    ASSERT_EQ(signals.size(), 1U);
    EXPECT_EQ(signals[0].raw_errors, (std::vector<std::uint64_t>{31, 24}));
    EXPECT_EQ(signals[0].raw_ber, 2e-9);
  }
  Sent sent;
  sent.files[std::string(kSingleFile)] = {"== mlx5_0 ==\n" + document("IB-NDR", "2E-9", true) +
                                              "== mlx5_1 ==\n" + document("IB-HDR", "3E-9", false),
                                          0};
  const auto reports = reports_of(std::move(sent), "x.txt");
  ASSERT_TRUE(reports);
  const auto loop = host_of(std::move(reports->nodes.front().tree));
  EXPECT_EQ(line_of(*loop, kPort + "/rate"), "400 Gb/sec (4X NDR)");
  EXPECT_EQ(line_of(*loop, "/sys/class/infiniband/mlx5_1/ports/1/rate"), "200 Gb/sec (4X HDR)");
  ASSERT_EQ(signals_of(*loop).size(), 2U);
  EXPECT_EQ(signals_of(*loop)[1].raw_ber, 3e-9);
}

TEST(Mlxlink, JsonThatIsCutOffStaysAText) {
  EXPECT_EQ(mlxlink_lines("{\n  \"State\": \"Act"), "{\n  \"State\": \"Act");
  EXPECT_EQ(mlxlink_lines("{}x\n"), "Operational Info\n----------------\nx\n");
  EXPECT_EQ(mlxlink_lines("a\nb"), "a\nb");
  EXPECT_EQ(mlxlink_lines(""), "");
  EXPECT_EQ(mlxlink_lines("{\"a\": \"}{\\\"\", \"b\": 2}"),
            "Operational Info\n----------------\na : }{\"\nb : 2\n");
}

}  // namespace
}  // namespace railbed
