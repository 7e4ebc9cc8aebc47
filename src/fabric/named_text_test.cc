#include "fabric/named_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(NamedFabricText, NamesAManager) {
  EXPECT_THAT(
      named_fabric_text("ibwarn: [7] x\nsminfo: sm lid 15 sm guid 0x10e0406d5aa0a0, activity count 26263191 "
                        "priority 14 state 2 SMINFO_STANDBY\n"),
      AllOf(HasSubstr("LID 15, priority 14, STANDBY"), HasSubstr("railbed fabric sm")));
}

TEST(NamedFabricText, NamesWhatAPingShows) {
  const auto ping = [](std::string_view counts) {
    return named_fabric_text(
        "Pong from node01.(none) (Lid 5): time 0.065 ms\n\n--- node01.(none) (Lid 5) ibping statistics ---\n" +
        std::string(counts) + "\nrtt min/avg/max = 0.065/0.065/0.065 ms\n");
  };
  EXPECT_THAT(ping("10 packets transmitted, 10 received, 0% packet loss, time 10000 ms"),
              AllOf(StartsWith("ibping of node01.(none) (Lid 5): 10 of 10"), HasSubstr("works")));
  EXPECT_THAT(ping("10 packets transmitted, 7 received, 30% packet loss, time 10000 ms"),
              HasSubstr("ibqueryerrors"));
  EXPECT_THAT(ping("10 packets transmitted, 0 received, 100% packet loss, time 10000 ms"),
              HasSubstr("ibping -S"));
  EXPECT_THAT(ping("packets were lost"), IsEmpty());
}

TEST(NamedFabricText, CountsTheStatesOfASwitch) {
  const std::string table =
      "=================================================\nQuantum Mellanox Technologies\n"
      "part number        | MQM8790-HS2F\nuptime (d-h:m:s)   | 67d-04:19:16\nPSU0 status        | OK\n"
      "     DC power      | OK\n     fan status    | OK\nPSU1 status        | OK\n     DC power      | ERROR\n"
      "     fan status    | ERROR\nfan status         | OK\nfan#1 (rpm)        | 5959\n";
  EXPECT_THAT(named_fabric_text(table), AllOf(HasSubstr("MQM8790-HS2F"), HasSubstr("5 of 7 states")));
  EXPECT_THAT(
      named_fabric_text("psu0.status         : OK\npsu0.dc             : OK\nfans                : OK\n"),
      HasSubstr("3 of 3 states"));
  EXPECT_THAT(named_fabric_text("fan status | ERROR in the report of the rack\n"), IsEmpty());
}

// ibswinfo of a director switch, whose leaves and spines have no supplies of their own; numbers are composed.
TEST(NamedFabricText, KnowsNoSuppliesWhereNoneIsOkOnASwitchThatResponds) {
  const std::string head =
      "part number        | MSB7520-E\nfirmware version   | 11.2008.3336\nuptime (d-h:m:s)   | 2d-19:33:46\n";
  const auto supply = [](int number, std::string_view state) {
    return fmt::format("PSU{} status        | {}\n     DC power      | {}\n     fan status    | {}\n", number,
                       state, state, state);
  };
  const std::string fans = "-------------\nfan status         | ERROR\nfan#1 (rpm)        | 9633\n";
  const std::string none = head + supply(0, "ERROR") + supply(1, "ERROR") + fans;
  EXPECT_THAT(named_fabric_text(none), HasSubstr("is not known: none reads OK, yet the switch responds"));
  EXPECT_EQ(without_unknown_supplies(none), head + "\n\n\n\n\n\n" + fans);
  const std::string one = head + supply(0, "OK") + supply(1, "ERROR") + fans;
  EXPECT_THAT(named_fabric_text(one), Not(HasSubstr("not known")));
  EXPECT_EQ(without_unknown_supplies(one),
            head + supply(0, "OK") + "PSU1 status        | ERROR\n     DC power      | ERROR\n\n" + fans);
  EXPECT_EQ(without_unknown_supplies(none + one),
            without_unknown_supplies(none) + without_unknown_supplies(one));
  const std::string unread = "firmware version   | 0.0000.0000\n" + one.substr(one.find("uptime"));
  EXPECT_THAT(named_fabric_text(unread), HasSubstr("could not read the firmware"));
  EXPECT_EQ(without_unknown_supplies(unread).find("PSU1"), std::string::npos);
  EXPECT_EQ(without_unknown_supplies(
                "psu0.status : OK\npsu0.dc : OK\npsu1.status : OK\npsu1.dc : ERROR\npsu1.fan : "
                "ERROR\nfans : ERROR\n"),
            "psu0.status : OK\npsu0.dc : OK\npsu1.status : OK\npsu1.dc : ERROR\n\nfans : ERROR\n");
  EXPECT_EQ(without_unknown_supplies("PSU1 status | ERROR"), "PSU1 status | ERROR");
}

TEST(NamedFabricText, NamesPartsListsAndWays) {
  EXPECT_THAT(named_fabric_text(
                  "uptime (sec)       : 16982312\npsu0.power (W)     : 92\nfan#1.speed (rpm)  : 6355\n"),
              HasSubstr("no limit"));
  EXPECT_THAT(named_fabric_text("node_desription    : leaf1\npart_number        : MQM8790\n"),
              HasSubstr("inventory"));
  EXPECT_THAT(named_fabric_text("Ca\t: 0x0000000000100003 ports 2 \"node01 mlx5_0\"\n"),
              HasSubstr("ibhosts"));
  EXPECT_THAT(named_fabric_text("Switch  : 0x0000000000200001 ports 8 \"leaf1\" base port 0 lid 3 lmc 0\n"),
              HasSubstr("iblinkinfo"));
  EXPECT_THAT(named_fabric_text("Unicast lids [0x0-0x5] of switch Lid 3 guid 0x1 (leaf1):\n"),
              HasSubstr("ibroute"));
  EXPECT_THAT(named_fabric_text("Ca: the authority of this site\n"), IsEmpty());
}

TEST(NamedFabricText, NamesRecordsFilesAndDetails) {
  EXPECT_THAT(named_fabric_text("NodeRecord dump:\n\t\tlid.....................134\n"),
              AllOf(HasSubstr("NodeRecords"), HasSubstr("iblinkinfo")));
  EXPECT_THAT(
      named_fabric_text("# This database file was automatically generated by IBDIAG\n# Running version\n"),
      HasSubstr("ibdiagnet2.db_csv"));
  EXPECT_THAT(named_fabric_text(
                  "# PortRcvErrorDetails counters: Lid 1719 port 1\nPortLocalPhysicalErrors:.........0\n"),
              HasSubstr("perfquery -E"));
  EXPECT_THAT(named_fabric_text("core dump: later\nmemory dump:\n"), IsEmpty());
  EXPECT_THAT(named_fabric_text(""), IsEmpty());
}

}  // namespace
}  // namespace railbed
