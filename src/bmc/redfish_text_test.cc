#include "bmc/redfish_text.h"

#include <gtest/gtest.h>

namespace railbed::redfish {
namespace {

json::Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *std::move(value) : json::Value();
}

TEST(Redfish, OnlyPathsOfTheServiceAreFollowed) {
  EXPECT_EQ(sound_path("/redfish/v1/Systems/1"), "/redfish/v1/Systems/1");
  EXPECT_EQ(sound_path("/redfish/v1/Chassis/1/Thermal#/Fans/0"), "/redfish/v1/Chassis/1/Thermal");
  for (const char* bad : {"", "/", "/etc/passwd", "https://x/redfish/v1/", "//x/redfish/", "/redfish/../x",
                          "/redfish/v1/a b", "/redfish/v1/\n", "/redfish/v1/\"x"})
    EXPECT_FALSE(sound_path(bad)) << bad;
}

TEST(Redfish, Power) {
  EXPECT_EQ(power_of(parsed(R"({"PowerState": "On"})")), PowerState::kOn);
  EXPECT_EQ(power_of(parsed(R"({"PowerState": "PoweringOff"})")), PowerState::kOn);
  EXPECT_EQ(power_of(parsed(R"({"PowerState": "PoweringOn"})")), PowerState::kOff);
  EXPECT_FALSE(power_of(parsed(R"({"PowerState": 1})")));
  EXPECT_FALSE(power_of(parsed("[]")));
}

TEST(Redfish, SensorsThatAreNotThereAreLeftOut) {
  std::vector<BmcSensor> sensors;
  add_sensors(parsed(R"({"@odata.type": "#Thermal.v1_7_1.Thermal", "Temperatures": [
    {"Name": "CPU1 Temp", "ReadingCelsius": 91, "UpperThresholdCritical": 90, "Status": {"State": "Enabled"}},
    {"Name": "CPU2 Temp", "ReadingCelsius": null, "Status": {"State": "Absent"}},
    {"Name": "Odd", "ReadingCelsius": "hot", "Status": {"State": "Enabled"}}, 7, null],
    "Fans": [{"FanName": "FAN1", "Reading": 0, "ReadingUnits": "RPM", "Status": {"Health": "Critical"}}]})"),
              sensors);
  ASSERT_EQ(sensors.size(), 2u);
  EXPECT_EQ(sensors[0].name, "CPU1 Temp");
  EXPECT_EQ(sensors[0].severity, BmcSeverity::kCritical);  // by its threshold
  EXPECT_EQ(sensors[1].name, "FAN1");
  EXPECT_EQ(sensors[1].severity, BmcSeverity::kCritical);
  EXPECT_EQ(sensors[1].units, "RPM");
}

TEST(Redfish, ASensorOfItsOwn) {
  std::vector<BmcSensor> sensors;
  add_sensors(
      parsed(R"({"@odata.type": "#Sensor.v1_6_0.Sensor", "Name": "GPU 1", "ReadingType": "Temperature",
    "Reading": 40.5, "ReadingUnits": "Cel", "Status": {"Health": "OK", "State": "Enabled"},
    "Thresholds": {"UpperCritical": {"Reading": 87}}})"),
      sensors);
  ASSERT_EQ(sensors.size(), 1u);
  EXPECT_EQ(sensors[0].type, "Temperature");
  EXPECT_EQ(sensors[0].units, "C");
  EXPECT_EQ(sensors[0].upper_critical, 87);
  EXPECT_EQ(sensors[0].severity, BmcSeverity::kNominal);
}

TEST(Redfish, OtherSensorsAreAddedOnce) {
  const BmcSensor older{.name = "VR1 Voltage Input", .type = "Voltage", .reading = 12, .units = "V"};
  std::vector<BmcSensor> sensors = {older};
  BmcSensor same = older;
  same.name = "VR1";
  BmcSensor output = same;
  output.reading = 1;
  add_others({same, output, output}, {"/redfish/v1/x/a", "/redfish/v1/x/b", "/redfish/v1/x/c/"}, 0, sensors);
  ASSERT_EQ(sensors.size(), 3u);
  EXPECT_EQ(sensors[1].name, "b: VR1");
  EXPECT_EQ(sensors[2].name, "c: VR1");
  // Fewer places than sensors, and a beginning past their end.
  add_others({output}, {}, 9, sensors);
  EXPECT_EQ(sensors.back().name, "VR1");
}

TEST(Redfish, MachinesOfOneModel) {
  const auto machine = [](const char* more) {
    return parsed(std::string(R"({"Actions": {"#ComputerSystem.Reset": {"target": "/redfish/v1/r"}}, )") +
                  more);
  };
  EXPECT_TRUE(is_like(machine(R"("Model": "A"})"), machine(R"("Model": "A"})")));
  EXPECT_FALSE(is_like(machine(R"("Model": "A"})"), machine(R"("Model": "B"})")));
  EXPECT_TRUE(is_like(machine(R"("Name": "1"})"), machine(R"("Name": "2"})")));
  EXPECT_FALSE(is_like(machine(R"("Model": "A"})"), parsed(R"({"Model": "A"})")));
  EXPECT_TRUE(is_named(parsed(R"({"HostName": "GPU1.pod", "Name": "System"})"), "gpu1"));
  EXPECT_FALSE(is_named(parsed(R"({"HostName": "", "Name": 7})"), ""));
}

TEST(Redfish, TheLikeliestManager) {
  const auto likeness = [](const char* manager) {
    return likeness_to_bmc(parsed(manager), "/redfish/v1/Systems/1");
  };
  EXPECT_EQ(likeness(R"({"Links": {"ManagerForServers": [{"@odata.id": "/redfish/v1/Systems/1/"}]}})"), 4);
  EXPECT_EQ(likeness(R"({"ManagerType": "BMC"})"), 3);
  EXPECT_EQ(likeness(R"({"ManagerType": "EnclosureManager"})"), 2);
  EXPECT_EQ(likeness(R"({"ManagerType": "AuxiliaryController"})"), 0);
  EXPECT_EQ(likeness("{}"), 1);
}

TEST(Redfish, AnEventNamesWhatItIsAbout) {
  const auto event =
      event_of(parsed(R"({"Id": "7", "Created": "2026-01-19T11:00:00.250+01:00", "Severity": "Critical",
    "Message": "Uncorrectable memory error", "EntryType": "Event",
    "Links": {"OriginOfCondition": {"@odata.id": "/redfish/v1/Systems/1/Memory/DIMM_A1"}}})"));
  ASSERT_TRUE(event);
  EXPECT_EQ(event->id, 7u);
  EXPECT_EQ(event->time, "2026-01-19 10:00:00");
  EXPECT_EQ(event->sensor, "DIMM_A1");
  EXPECT_EQ(event->type, "Memory");
  EXPECT_EQ(event->severity, BmcSeverity::kCritical);
  EXPECT_EQ(event_of(parsed(R"({"Message": "x", "Created": "5d"})"))->time, "");
  EXPECT_EQ(event_of(parsed(R"({"Message": "x", "Created": "2026-01-19 10:00:00 "})"))->time,
            "2026-01-19 10:00:00");
  EXPECT_EQ(event_of(parsed(R"({"Message": "x", "Created": "0000-00-00 00:00:00"})"))->time, "");
  EXPECT_FALSE(event_of(parsed("{}")));
}

TEST(RedfishText, ReadsTheRoomOfALog) {
  const auto full =
      redfish::log_of(parsed(R"({"MaxNumberOfRecords": 512, "OverWritePolicy": "NeverOverWrites"})"), 512);
  EXPECT_EQ(full.percent_used, 100);
  EXPECT_FALSE(full.wraps);
  EXPECT_TRUE(
      redfish::log_of(parsed(R"({"MaxNumberOfRecords": 1000, "OverWritePolicy": "WrapsWhenFull"})"), 1000)
          .wraps);
  for (const char* nothing : {"{}", R"({"MaxNumberOfRecords": 0})", R"({"MaxNumberOfRecords": "many"})"})
    EXPECT_EQ(redfish::log_of(parsed(nothing), 3).percent_used, std::nullopt) << nothing;
}

TEST(Redfish, TheEventLogAmongOthers) {
  EXPECT_GT(likeness_to_event_log(parsed(R"({"Id": "Sel"})")),
            likeness_to_event_log(parsed(R"({"Id": "Log1"})")));
  EXPECT_GT(likeness_to_event_log(parsed(R"({"Id": "IML"})")),
            likeness_to_event_log(parsed(R"({"Id": "Other"})")));
  EXPECT_EQ(likeness_to_event_log(parsed(R"({"Id": "PostCodes"})")), 0);
  EXPECT_EQ(likeness_to_event_log(parsed(R"({"Id": "SEL", "ServiceEnabled": false})")), 0);
}

TEST(Redfish, BootOrderFitsTheFirmware) {
  const auto system =
      parsed(R"({"Boot": {"BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Pxe"]}})");
  const auto patch = boot_patch(system, {BootDevice::kPxe, false, true});
  ASSERT_TRUE(patch);
  // No mode is set where the firmware shows none.
  EXPECT_EQ(json::dump(*patch),
            R"({"Boot":{"BootSourceOverrideTarget":"Pxe","BootSourceOverrideEnabled":"Continuous"}})");
  const auto refused = boot_patch(system, {BootDevice::kCd, true, false});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text, "its BMC does not boot from Cd, but from None, Pxe");
}

TEST(Redfish, AnEntryWithoutASeverityIsJudgedByItsMessage) {
  const auto severity = [](const char* entry) { return event_of(parsed(entry))->severity; };
  EXPECT_EQ(severity(R"({"Message": "Correctable ECC @DIMMB1(CPU1) - Assertion", "EntryCode": "Assert"})"),
            BmcSeverity::kWarning);
  EXPECT_EQ(severity(R"({"Message": "Uncorrectable ECC @DIMMB1"
})"),
            BmcSeverity::kCritical);
  EXPECT_EQ(severity(R"({"Message": "Uncorrectable ECC", "EntryCode": [{"Member": "Deassert"}]})"),
            BmcSeverity::kNominal);
  EXPECT_EQ(severity(R"({"Message": "Lower Non-critical - going low"})"), BmcSeverity::kWarning);
  EXPECT_EQ(severity(R"({"Message": "Drive slot is populated"})"), BmcSeverity::kUnknown);
  // What the service states counts, whatever the message.
  EXPECT_EQ(severity(R"({"Message": "Uncorrectable ECC", "Severity": "OK"})"), BmcSeverity::kNominal);
  EXPECT_EQ(severity(R"({"Message": "x", "MessageSeverity": "Critical"})"), BmcSeverity::kCritical);
}

TEST(Redfish, Tasks) {
  EXPECT_FALSE(progress_of(parsed(R"({"TaskState": "Running", "PercentComplete": 40})")).ended);
  EXPECT_EQ(progress_of(parsed(R"({"TaskState": "Running", "PercentComplete": 40})")).state, "Running, 40 %");
  EXPECT_TRUE(progress_of(parsed(R"({"TaskState": "Completed", "TaskStatus": "OK"})")).ended);
  EXPECT_FALSE(progress_of(parsed(R"({"TaskState": "Completed"})")).failed);
  EXPECT_TRUE(progress_of(parsed(R"({"TaskState": "Completed", "TaskStatus": "Critical"})")).failed);
  const auto failed =
      progress_of(parsed(R"({"JobState": "CompletedWithErrors", "Messages": [{"Message": "no"}]})"));
  EXPECT_TRUE(failed.failed);
  EXPECT_EQ(failed.message, "no");
}

TEST(Redfish, PlacesInHeaders) {
  EXPECT_EQ(path_of("https://10.0.0.1/redfish/v1/TaskService/Tasks/7"), "/redfish/v1/TaskService/Tasks/7");
  EXPECT_EQ(path_of("/redfish/v1/x"), "/redfish/v1/x");
  for (const char* bad : {"https://10.0.0.1", "http://x/redfish/v1/", "https://x/etc/passwd", ""})
    EXPECT_FALSE(path_of(bad)) << bad;
}

TEST(Redfish, WhyItRefused) {
  EXPECT_EQ(why_refused(401, "").missing, Missing::kDenied);
  EXPECT_EQ(
      why_refused(400, R"({"error": {"message": "a", "@Message.ExtendedInfo": [{"Message": "no\u001b"}]}})")
          .why,
      "its BMC refuses (HTTP 400): no\xEF\xBF\xBD");
  EXPECT_EQ(why_refused(404, "<html>").why, "its BMC refuses (HTTP 404)");
}

}  // namespace
}  // namespace railbed::redfish
