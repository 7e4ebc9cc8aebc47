// What a node's BMC shows over its own network: power, sensors, event log, serial-over-LAN. The controller
// asks it (bmc/bmc.h), whether the node runs or not, so it is no part of what the node says of itself
// (facts.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

enum class PowerState { kOff, kOn };
constexpr auto enum_names(PowerState) { return std::array<std::string_view, 2>{"off", "on"}; }

// How bad a sensor's state or an event is. IPMI says it of thresholds; of the states of discrete sensors
// FreeIPMI's table says it (freeipmi_interpret_sensor.conf(5), freeipmi_interpret_sel.conf(5)).
enum class BmcSeverity { kNominal, kWarning, kCritical, kUnknown };
constexpr auto enum_names(BmcSeverity) {
  return std::array<std::string_view, 4>{"nominal", "warning", "critical", "unknown"};
}

struct BmcSensor {
  std::string name = {};  // "CPU1 Temp", as the board's maker calls it
  std::string type = {};  // "Temperature", "Fan", "Power Supply"
  BmcSeverity severity = BmcSeverity::kUnknown;
  std::optional<double> reading = {};         // of one with thresholds that can be read now
  std::string units = {};                     // "C", "RPM", "V", "W"
  std::optional<double> lower_critical = {};  // thresholds; none: the BMC has none
  std::optional<double> upper_critical = {};
  std::string state = {};  // in words: "OK", "Presence detected"
  FIELDS(BmcSensor, name, type, severity, reading, units, lower_critical, upper_critical, state);
};

struct BmcEvent {
  std::uint32_t id = 0;
  std::string time = {};    // "2026-01-19 10:00:00" by the BMC's clock; empty: it had no time yet
  std::string sensor = {};  // "PSU1", "DIMM_A1"
  std::string type = {};    // "Memory", "Power Supply"
  BmcSeverity severity = BmcSeverity::kUnknown;
  std::string event = {};  // "Uncorrectable memory error"
  FIELDS(BmcEvent, id, time, sensor, type, severity, event);
};

struct BmcDevice {
  std::string manufacturer = {};
  std::string firmware = {};  // "3.15"
  FIELDS(BmcDevice, manufacturer, firmware);
};

// Serial-over-LAN.
struct SerialOverLan {
  bool enabled = false;
  std::optional<int> rate = {};  // bit/s, in force now; none: that of the serial port, whatever it is
  FIELDS(SerialOverLan, enabled, rate);
};

struct BmcFacts {
  std::string node = {};
  std::string error = {};          // why it could not be asked; empty: it answered
  std::string address = {};        // as cluster.yaml gives it
  std::string protocol = {};       // that it answered by: "ipmi", "redfish" or "smash"
  std::optional<int> cipher = {};  // suite of IPMI that it took
  Reading<BmcDevice> device = {};  // Get Device ID
  Reading<PowerState> power = {};  // Get Chassis Status
  Reading<std::vector<BmcSensor>> sensors = {};
  Reading<std::vector<BmcEvent>> events = {};  // the System Event Log, the oldest first
  Reading<double> clock_offset = {};           // Get SEL Time: seconds ahead of the controller's clock
  Reading<SerialOverLan> serial = {};          // Get SOL Configuration Parameters
  Reading<std::string> default_login = {};     // the user of a maker's default that it takes; empty: none
  FIELDS(BmcFacts, node, error, address, protocol, cipher, device, power, sensors, events, clock_offset,
         serial, default_login);
};

}  // namespace railbed
