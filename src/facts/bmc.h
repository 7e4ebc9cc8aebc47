// A node's BMC as seen over its own network: power, sensors, event log, serial-over-LAN. The controller
// queries it (bmc/bmc.h) whether the node is up or down, so these facts are separate from those that the node
// collects about itself (facts.h).
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

// The severity of a sensor's state or of an event. For thresholds IPMI defines it; for the states of discrete
// sensors FreeIPMI's table does (freeipmi_interpret_sensor.conf(5), freeipmi_interpret_sel.conf(5)).
enum class BmcSeverity { kNominal, kWarning, kCritical, kUnknown };
constexpr auto enum_names(BmcSeverity) {
  return std::array<std::string_view, 4>{"nominal", "warning", "critical", "unknown"};
}

// One sensor of the BMC.
struct BmcSensor {
  std::string name = {};  // "CPU1 Temp", the name that the board's maker gave it
  std::string type = {};  // "Temperature", "Fan", "Power Supply"
  BmcSeverity severity = BmcSeverity::kUnknown;
  std::optional<double> reading = {};         // set if the sensor has thresholds and can be read now
  std::string units = {};                     // "C", "RPM", "V", "W"
  std::optional<double> lower_critical = {};  // thresholds; nullopt if the BMC has none
  std::optional<double> upper_critical = {};
  std::string state = {};  // text: "OK", "Presence detected"
  FIELDS(BmcSensor, name, type, severity, reading, units, lower_critical, upper_critical, state);
};

// An entry of the BMC's event log.
struct BmcEvent {
  std::uint32_t id = 0;
  std::string time = {};    // "2026-01-19 10:00:00" by the BMC's clock; empty if the BMC had no time yet
  std::string sensor = {};  // "PSU1", "DIMM_A1"
  std::string type = {};    // "Memory", "Power Supply"
  BmcSeverity severity = BmcSeverity::kUnknown;
  std::string event = {};  // "Uncorrectable memory error"
  FIELDS(BmcEvent, id, time, sensor, type, severity, event);
};

struct BmcDevice {
  std::string manufacturer = {};
  std::string firmware = {};  // "3.15"
  std::string product = {};   // "PowerEdge XE9680", by the inventory (FRU) that ipmitool printed; else empty
  FIELDS(BmcDevice, manufacturer, firmware, product);
};

// Returns true if a BMC's clock with this offset, in seconds ahead of the controller's, was never set: such a clock
// counts from 1970 or from a date in its firmware, years ago.
inline bool was_never_set(double clock_offset) { return clock_offset < -5 * 365.25 * 86400; }

// The settings of serial-over-LAN.
struct SerialOverLan {
  bool enabled = false;
  std::optional<int> rate = {};  // bit/s, in force now; nullopt if SOL uses the serial port's rate
  FIELDS(SerialOverLan, enabled, rate);
};

// The state of the System Event Log itself (Get SEL Info).
struct BmcLog {
  std::optional<int> entries = {};
  std::optional<int> free_bytes = {};    // 65535 stands for as many or more
  std::optional<int> percent_used = {};  // nullopt if the BMC does not state the log's size
  bool overflow = false;                 // an event was lost because the log was full
  bool wraps = false;                    // the oldest events give way to new ones, so it is never full
  FIELDS(BmcLog, entries, free_bytes, percent_used, overflow, wraps);
};

// The highest privilege that a cipher suite gives (IPMI 2.0, table 23-4, parameter 24).
enum class CipherPrivilege { kUnused, kCallback, kUser, kOperator, kAdministrator, kOem, kUnknown };
constexpr auto enum_names(CipherPrivilege) {
  return std::array<std::string_view, 7>{"unused",        "callback", "user",   "operator",
                                         "administrator", "OEM",      "unknown"};
}

// Get LAN Configuration Parameters.
struct BmcLan {
  std::string address = {};
  // The privilege of cipher suite 0, which checks no password; kUnused if the BMC does not have it.
  CipherPrivilege cipher_zero = CipherPrivilege::kUnknown;
  FIELDS(BmcLan, address, cipher_zero);
};

// The result of one query of a node's BMC.
struct BmcFacts {
  std::string node = {};
  std::string error = {};          // why the query failed; empty if it succeeded
  std::string address = {};        // as in cluster.yaml
  std::string protocol = {};       // the protocol in use: "ipmi", "redfish" or "smash"
  std::optional<int> cipher = {};  // IPMI cipher suite that the session uses
  Reading<BmcDevice> device = {};  // Get Device ID
  Reading<PowerState> power = {};  // Get Chassis Status
  Reading<std::vector<BmcSensor>> sensors = {};
  Reading<std::vector<BmcEvent>> events = {};  // the System Event Log, oldest first
  Reading<BmcLog> log = {};
  Reading<BmcLan> lan = {};
  Reading<double> clock_offset = {};   // Get SEL Time: seconds ahead of the controller's clock
  Reading<SerialOverLan> serial = {};  // Get SOL Configuration Parameters
  // User name of a vendor's default login that the BMC accepts; empty if none.
  Reading<std::string> default_login = {};
  FIELDS(BmcFacts, node, error, address, protocol, cipher, device, power, sensors, events, log, lan,
         clock_offset, serial, default_login);
};

}  // namespace railbed
