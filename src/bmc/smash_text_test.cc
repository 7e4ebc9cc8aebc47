#include "bmc/smash_text.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

// Texts as vendors' guides and fence agents show them (smash_text.h); none was recorded from a real board.

constexpr std::string_view kAten =
    "show /system1/pwrmgtsvc1\r\n/system1/pwrmgtsvc1\r\n\r\n  Targets :\r\n    none\r\n\r\n  Properties :\r\n"
    "    Name=IPMI Power\r\n    PowerState=6\r\n\r\n  Verbs :\r\n    cd\r\n    show\r\n    start\r\n    stop\r\n"
    "    reset\r\n\r\n-> ";

constexpr std::string_view kIlo =
    "show /system1\r\n\r\nstatus=0\r\nstatus_tag=COMMAND COMPLETED\r\nTue Nov 24 20:12:03 2026\r\n\r\n\r\n\r\n"
    "/system1\r\n  Targets\r\n    firmware1\r\n    sensor1\r\n    sensor12\r\n    fan1\r\n    powersupply2\r\n"
    "    sensors\r\n  Properties\r\n    name=ProLiant DL380\r\n    enabledstate=enabled\r\n  Verbs\r\n"
    "    cd version exit show reset start stop\r\n\r\n\r\n</>hpiLO-> ";

TEST(SmashText, ReadsSections) {
  const ClpAnswer aten = parse_clp(kAten, "show /system1/pwrmgtsvc1");
  EXPECT_TRUE(aten.targets.empty());
  EXPECT_EQ(clp_property(aten, "powerstate"), "6");
  EXPECT_EQ(aten.verbs, (std::vector<std::string>{"cd", "show", "start", "stop", "reset"}));
  EXPECT_EQ(aten.status, std::nullopt);
  EXPECT_EQ(aten.said, "/system1/pwrmgtsvc1");
  EXPECT_FALSE(clp_refusal(aten));
  EXPECT_EQ(clp_service_power(aten), PowerState::kOff);

  const ClpAnswer ilo = parse_clp(kIlo, "show /system1");
  EXPECT_EQ(ilo.targets.size(), 6u);
  EXPECT_EQ(ilo.status, 0);
  EXPECT_TRUE(has_clp_verb(ilo, "stop"));
  EXPECT_FALSE(has_clp_verb(ilo, "delete"));
  EXPECT_EQ(clp_system_power(ilo), PowerState::kOn);
}

TEST(SmashText, FindsThePrompt) {
  EXPECT_EQ(find_clp_prompt("Copyright\r\nAll Rights Reserved\r\n\r\n-> "), "->");
  EXPECT_EQ(find_clp_prompt("\x1b[1;32m/admin1->\x1b[0m "), "/admin1->");
  EXPECT_EQ(find_clp_prompt("x\n</>hpiLO-> "), "</>hpiLO->");
  EXPECT_EQ(find_clp_prompt("-> show /\r\n"), std::nullopt);
  EXPECT_EQ(find_clp_prompt("-> show /"), std::nullopt);
  EXPECT_EQ(find_clp_prompt(std::string(500, ' ') + "->"), std::nullopt);
  EXPECT_EQ(find_clp_prompt("racadm>>"), std::nullopt);
  EXPECT_EQ(last_clp_line("\nracadm>> "), "racadm>>");
}

TEST(SmashText, DropsWhatATerminalObeys) {
  EXPECT_EQ(plain_lines("\x1b[2J\x1b]0;title\aab\bc\r\n\x1b(Bd\x07"), "ac\nd");
  EXPECT_EQ(plain_lines("\x1b"), "");
  EXPECT_EQ(plain_lines("\x1b[12"), "");
}

TEST(SmashText, NamesThatAreNoNamesReachNoCommand) {
  const ClpAnswer answer = parse_clp(
      "Targets:\n  fan1\n  -force\n  ../x\n  a;reboot\n  sensor1/\n  \x1b[31msensor2\x1b[0m\n  none\n",
      "show /");
  EXPECT_EQ(answer.targets, (std::vector<std::string>{"fan1", "sensor1", "sensor2"}));
}

TEST(SmashText, JudgesTheStatusBlock) {
  const auto refusal = [](std::string_view text) { return clp_refusal(parse_clp(text, "stop /system1")); };
  EXPECT_FALSE(refusal("status=0\nstatus_tag=COMMAND COMPLETED\n"));
  EXPECT_FALSE(refusal("status=1\nstatus_tag=COMMAND SPAWNED\n"));
  EXPECT_FALSE(refusal("/system1/pwrmgtsvc1\nreset done...\n"));
  const auto failed = refusal("status=2\nstatus_tag=COMMAND PROCESSING FAILED\nerror_tag=INVALID TARGET\n");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->why, "its BMC refuses it: COMMAND PROCESSING FAILED, INVALID TARGET");
  EXPECT_EQ(refusal("status=3\nerror_tag=ACCESS DENIED\n")->why,
            "its BMC lets this user do less than administrators may do");
  EXPECT_NE(refusal("status=3\nerror_tag=ACCESS DENIED\n")->missing, Missing::kDenied);
  EXPECT_TRUE(refusal("Error: no such target\n"));
  EXPECT_TRUE(refusal("status=2\n"));
  EXPECT_TRUE(is_unknown_to_clp(parse_clp("status=2\nerror_tag=COMMAND SYNTAX ERROR\n", "x")));
  EXPECT_FALSE(is_unknown_to_clp(parse_clp("status=2\nerror_tag=INVALID TARGET\n", "x")));
  EXPECT_FALSE(is_unknown_to_clp(parse_clp("status=0\nsaid: option\n", "x")));
}

TEST(SmashText, APropertyIsNoStatus) {
  const ClpAnswer answer =
      parse_clp("Properties:\n  Status=2\n  EnabledState = 2 (Enabled)\n", "show /system1");
  EXPECT_EQ(answer.status, std::nullopt);
  EXPECT_EQ(clp_system_power(answer), PowerState::kOn);
}

TEST(SmashText, TellsPowerInEveryonesWords) {
  const auto power = [](std::string property) {
    ClpAnswer answer;
    answer.properties.emplace_back(property.substr(0, property.find('=')),
                                   property.substr(property.find('=') + 1));
    return clp_system_power(answer);
  };
  EXPECT_EQ(power("PowerState=1"), PowerState::kOn);
  EXPECT_EQ(power("PowerState=2 (On)"), PowerState::kOn);
  EXPECT_EQ(power("powerstate=Off"), PowerState::kOff);
  EXPECT_EQ(power("PowerState=8"), PowerState::kOff);
  EXPECT_EQ(power("PowerState=5"), std::nullopt);
  EXPECT_EQ(power("CurrentPowerStatus=ON"), PowerState::kOn);
  EXPECT_EQ(power("EnabledState=disabled"), PowerState::kOff);
  EXPECT_EQ(power("EnabledState=6 (Enabled but Offline)"), PowerState::kOff);
  EXPECT_EQ(power("EnabledState=whatever"), std::nullopt);
  // A service's EnabledState would be its own.
  EXPECT_EQ(clp_service_power(parse_clp("Properties:\n EnabledState=enabled\n", "")), std::nullopt);
}

TEST(SmashText, ReadsSensors) {
  const BmcSensor ilo = parse_clp_sensor(
      parse_clp(
          "Properties\n  DeviceID=02-CPU 1\n  ElementName=CPU\n  OperationalStatus=Ok\n  RateUnits=Celsius\n"
          "  CurrentReading=40\n  SensorType=Temperature\n  HealthState=Degraded\n  oemhp_CriticalValue=75\n",
          "show /system1/sensor2"),
      "sensor2");
  EXPECT_EQ(ilo.name, "02-CPU 1");
  EXPECT_EQ(ilo.type, "Temperature");
  EXPECT_EQ(ilo.severity, BmcSeverity::kWarning);
  EXPECT_EQ(ilo.reading, 40.0);
  EXPECT_EQ(ilo.units, "C");
  EXPECT_EQ(ilo.upper_critical, 75.0);
  EXPECT_EQ(ilo.state, "Degraded");

  const BmcSensor cim = parse_clp_sensor(
      parse_clp(
          "Properties:\n DeviceID = 1.7\n ElementName = 12V\n SensorType = 3\n BaseUnits = 5\n"
          " UnitModifier = -2\n CurrentReading = 1212\n HealthState = 5 (OK)\n LowerThresholdCritical = 1080\n",
          ""),
      "sensor7");
  EXPECT_EQ(cim.name, "12V");
  EXPECT_EQ(cim.type, "Voltage");
  EXPECT_DOUBLE_EQ(cim.reading.value_or(0), 12.12);
  EXPECT_EQ(cim.units, "V");
  EXPECT_EQ(cim.severity, BmcSeverity::kNominal);
  EXPECT_DOUBLE_EQ(cim.lower_critical.value_or(0), 10.8);

  const BmcSensor fan = parse_clp_sensor(
      parse_clp(
          "Properties\n  ElementName=System\n  DeviceID=Fan 1\n  DesiredSpeed=25 percent\n  HealthState=Ok\n",
          ""),
      "fan1");
  EXPECT_EQ(fan.type, "Fan");
  EXPECT_EQ(fan.reading, 25.0);
  EXPECT_EQ(fan.units, "%");

  const BmcSensor absent = parse_clp_sensor(parse_clp("Properties\n  CurrentReading=N/A\n", ""), "sensor9");
  EXPECT_EQ(absent.name, "sensor9");
  EXPECT_EQ(absent.reading, std::nullopt);
  EXPECT_EQ(absent.severity, BmcSeverity::kUnknown);
}

TEST(SmashText, KnowsSensorsByTheirNames) {
  for (const char* name : {"sensor1", "nsensor12", "fan3", "powersupply2", "tempsensor1"})
    EXPECT_TRUE(is_clp_sensor(name)) << name;
  for (const char* name : {"sensors1", "sensor", "fan", "firmware1", "fanx1"})
    EXPECT_FALSE(is_clp_sensor(name)) << name;
  EXPECT_TRUE(is_clp_sensor_folder("sensors1"));
  EXPECT_FALSE(is_clp_sensor_folder("sensor1"));
}

TEST(SmashText, SaysWhyThereIsNoSession) {
  const auto why = [](std::string_view said, bool asked = false) {
    return why_no_session(said, asked, "ssh admin@10.0.0.1");
  };
  EXPECT_EQ(why("admin@10.0.0.1: Permission denied (password).\n", true).missing, Missing::kDenied);
  EXPECT_EQ(why("admin@10.0.0.1: Permission denied (publickey).\n").missing, Missing::kUnsupported);
  EXPECT_EQ(why("ssh: connect to host 10.0.0.1 port 22: Connection timed out\n").missing, Missing::kTimeout);
  const Miss unknown =
      why("No ED25519 host key is known for 10.0.0.1 and you have requested strict checking.\n"
          "Host key verification failed.\n");
  EXPECT_NE(unknown.why.find("ssh admin@10.0.0.1"), std::string::npos);
  EXPECT_NE(why("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n").why,
            unknown.why);
  EXPECT_EQ(why("").why, "its BMC closed the connection");
  EXPECT_EQ(why("\x1b[2Jgone").why.find('\x1b'), std::string::npos);
}

TEST(SmashText, LeavesOutAlgorithmsThatSshForgot) {
  EXPECT_EQ(known_algorithms("ssh-ed25519\nssh-rsa\n", {"ssh-rsa", "ssh-dss"}), "+ssh-rsa");
  EXPECT_EQ(known_algorithms("a\nb\nc\n", {"c", "a"}), "+c,a");
  EXPECT_EQ(known_algorithms("ssh-ed25519\n", {"ssh-dss"}), "");
}

}  // namespace
}  // namespace railbed
