// The forms, by example (ipmitool, lib/ipmi_sdr.c, ipmi_sensor.c, ipmi_sel.c, ipmi_lanp.c, ipmi_mc.c, ipmi_fru.c):
//
//   sdr         CPU1 Temp        | 45 degrees C      | ok
//   sdr elist   CPU1 Temp        | 01h | ok  |  3.1 | 45 degrees C
//   sensor      CPU1 Temp        | 45.000     | degrees C  | ok    | na  | 5.0 | na | 80.0 | 85.0 | 95.0
//   sel elist   3d | 10/02/2025 | 17:33:30 | Memory DIMM A3 | Uncorrectable ECC | Asserted
//   sel list       1 |  Pre-Init  |0000000027| Power Supply #0xc8 | Failure detected | Asserted
//   sel list      2a | OEM record e0 | 0000a0d1…
#include "bmc/ipmitool_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bmc/event_severity.h"
#include "bmc/freeipmi_text.h"

namespace railbed {
namespace {

std::string cell(std::string_view text) { return printable(trim(text).substr(0, kMaxBmcText)); }

std::vector<std::string_view> cells(std::string_view line) {
  constexpr std::size_t kLongestLine = 4096;  // of ipmitool's; what a hostile text has more is left out
  auto parts = split(line.substr(0, kLongestLine), '|');
  for (auto& part : parts) part = trim(part);
  return parts;
}

// Returns the severity of a sensor's state: "cr", "ucr" of sensor, "ns" (no reading).
std::optional<BmcSeverity> severity_of_state(std::string_view state) {
  if (state == "ok") return BmcSeverity::kNominal;
  if (state == "nc" || state == "lnc" || state == "unc") return BmcSeverity::kWarning;
  for (const std::string_view critical : {"cr", "nr", "lcr", "lnr", "ucr", "unr"})
    if (state == critical) return BmcSeverity::kCritical;
  if (state == "ns" || state == "na" || state == "us") return BmcSeverity::kUnknown;
  return std::nullopt;
}

// Reads "45 degrees C", "12.10 Volts", "no reading", "0x01".
void set_quantity(BmcSensor& sensor, std::string_view text) {
  const auto space = text.find(' ');
  sensor.reading = parse_real(text.substr(0, space));
  if (sensor.reading && space != text.npos) sensor.units = cell(text.substr(space + 1));
}

std::optional<BmcSensor> sdr_row(std::string_view line) {
  const auto parts = cells(line);
  const bool extended = parts.size() == 5 && parts[1].ends_with('h');
  if (parts.size() != 3 && !extended) return std::nullopt;
  const auto severity = severity_of_state(parts[2]);
  if (!severity || parts[0].empty()) return std::nullopt;
  BmcSensor sensor{.name = cell(parts[0]), .severity = *severity, .state = cell(parts[2])};
  set_quantity(sensor, extended ? parts[4] : parts[1]);
  // The state of a discrete sensor is always "ok"; the text of what it asserts decides.
  const bool discrete = !sensor.reading && *severity == BmcSeverity::kNominal;
  if (!discrete) return sensor;
  const std::string asserted = cell(extended ? parts[4] : parts[1]);
  sensor.state = asserted;
  sensor.severity = asserted.starts_with("0x") || asserted.empty() ? BmcSeverity::kUnknown
                                                                   : severity_of_message(asserted, "");
  return sensor;
}

std::optional<BmcSensor> sensor_row(std::string_view line) {
  const auto parts = cells(line);
  if (parts.size() != 10 || parts[0].empty()) return std::nullopt;
  BmcSensor sensor{.name = cell(parts[0]), .state = cell(parts[3])};
  // The meaning of a discrete sensor's mask depends on its type, which the output leaves out.
  if (parts[2] == "discrete") return sensor;
  const auto severity = severity_of_state(parts[3]);
  if (!severity) return std::nullopt;
  sensor.severity = *severity;
  sensor.reading = parse_real(parts[1]);
  if (sensor.reading) sensor.units = cell(parts[2]);
  sensor.lower_critical = parse_real(parts[5]);
  sensor.upper_critical = parse_real(parts[8]);
  return sensor;
}

template <class Row>
Reading<std::vector<BmcSensor>> sensors_in(std::string_view text, std::string_view from, const Row& row) {
  std::vector<BmcSensor> sensors;
  for (const auto line : lines(text))
    if (auto sensor = row(line); sensor && sensors.size() < kMaxBmcSensors)
      sensors.push_back(std::move(*sensor));
  if (sensors.empty()) return {Miss{Missing::kGarbled, "the output holds no sensor"}, std::string(from)};
  return {std::move(sensors), std::string(from)};
}

// Sensor types as ipmitool names them (lib/ipmi_strings.c); if two begin alike, the longer is first.
constexpr std::string_view kSensorTypes[] = {"Management Subsys Health",
                                             "Event Logging Disabled",
                                             "System ACPI Power State",
                                             "System Boot Initiated",
                                             "Cable / Interconnect",
                                             "POST Memory Resize",
                                             "Critical Interrupt",
                                             "Physical Security",
                                             "Platform Security",
                                             "System Firmwares",
                                             "Drive Slot / Bay",
                                             "OS Critical Stop",
                                             "Slot / Connector",
                                             "Module / Board",
                                             "Microcontroller",
                                             "Entity Presence",
                                             "Cooling Device",
                                             "Platform Alert",
                                             "Version Change",
                                             "Session Audit",
                                             "Power Supply",
                                             "System Event",
                                             "Monitor ASIC",
                                             "Temperature",
                                             "Add-in Card",
                                             "Power Unit",
                                             "Boot Error",
                                             "Terminator",
                                             "FRU State",
                                             "Processor",
                                             "Other FRU",
                                             "Watchdog1",
                                             "Watchdog2",
                                             "Chip Set",
                                             "Voltage",
                                             "Current",
                                             "Chassis",
                                             "OS Boot",
                                             "Battery",
                                             "Memory",
                                             "Button",
                                             "Other",
                                             "Fan",
                                             "LAN"};

// Separates "Memory DIMM A3" and "Memory #0x08" into type and sensor.
void set_sensor(BmcEvent& event, std::string_view text) {
  for (const auto type : kSensorTypes) {
    if (!text.starts_with(type) || (text.size() > type.size() && text[type.size()] != ' ')) continue;
    event.type = type;
    text = trim(text.substr(type.size()));
    event.sensor = text.empty() ? event.type : cell(text);
    return;
  }
  event.sensor = cell(text);
}

// Returns "2025-10-02 17:33:30" for "10/02/2025" or "10/02/25" and "17:33:30 UTC"; empty for "Pre-Init".
std::string event_moment(std::string_view date, std::string_view time) {
  const auto parts = split(date, '/');
  if (parts.size() != 3) return "";
  const auto month = parse_number<int>(parts[0]);
  const auto day = parse_number<int>(parts[1]);
  const auto year = parse_number<int>(parts[2]);
  const auto clock = words(time);
  const bool sane = month && day && year && *month >= 1 && *month <= 12 && *day >= 1 && *day <= 31 &&
                    *year >= 0 && *year <= 2200 && !clock.empty() && clock[0].size() == 8;
  if (!sane) return "";
  return cell(
      fmt::format("{:04}-{:02}-{:02} {}", *year < 100 ? 2000 + *year : *year, *month, *day, clock[0]));
}

std::optional<BmcEvent> event_row(std::string_view line) {
  const auto parts = cells(line);
  const auto id = parse_number<std::uint16_t>(parts[0], 16);
  if (!id || parts.size() < 3) return std::nullopt;
  BmcEvent event{.id = *id};
  // A maker's own record means what only its maker knows.
  for (std::size_t i = 1; i < parts.size() && i <= 3; ++i)
    if (parts[i].starts_with("OEM record")) {
      event.sensor = cell(parts[i]);
      event.event = cell(parts.back());
      if (i == 3) event.time = event_moment(parts[1], parts[2]);
      return event;
    }
  if (parts.size() < 6 || (parts[5] != "Asserted" && parts[5] != "Deasserted")) return std::nullopt;
  event.time = event_moment(parts[1], parts[2]);
  set_sensor(event, parts[3]);
  event.event = cell(parts[4]);
  if (parts[5] == "Deasserted") event.event += " (deasserted)";
  event.severity = severity_of_message(event.event, event.type);
  return event;
}

Reading<std::vector<BmcEvent>> events_in(std::string_view text) {
  const std::string from = "ipmitool sel list";
  std::vector<BmcEvent> events;
  for (const auto line : lines(text))
    if (auto event = event_row(line); event && events.size() < kMaxBmcEvents)
      events.push_back(std::move(*event));
  if (events.empty() && text.find("SEL has no entries") == text.npos)
    return {Miss{Missing::kGarbled, "the output holds no event, nor that there is none"}, from};
  return {std::move(events), from};
}

// Returns the value of "Entries          : 62" in a text of such lines; nullopt if there is no such line.
std::optional<std::string_view> value_of(std::string_view text, std::string_view key) {
  for (const auto line : lines(text))
    if (const auto pair = key_value(line, ':'); pair && pair->first == key) return pair->second;
  return std::nullopt;
}

// Returns the number that a value begins with: "13008 bytes", "18%".
std::optional<int> number_in(std::optional<std::string_view> value) {
  if (!value) return std::nullopt;
  return parse_number<int>(value->substr(0, value->find_first_not_of("0123456789")));
}

Reading<BmcLog> log_in(std::string_view text) {
  const std::string from = "ipmitool sel info";
  const auto overflow = value_of(text, "Overflow");
  BmcLog log{.entries = number_in(value_of(text, "Entries")),
             .free_bytes = number_in(value_of(text, "Free Space")),
             .percent_used = number_in(value_of(text, "Percent Used")),
             .overflow = overflow == "true"};
  if (!log.entries || (!overflow && !log.free_bytes && !log.percent_used))
    return {Miss{Missing::kGarbled, "the output is cut off"}, from};
  return {log, from};
}

CipherPrivilege privilege_of(char letter) {
  switch (letter) {
    case 'X':
      return CipherPrivilege::kUnused;
    case 'c':
      return CipherPrivilege::kCallback;
    case 'u':
      return CipherPrivilege::kUser;
    case 'o':
      return CipherPrivilege::kOperator;
    case 'a':
      return CipherPrivilege::kAdministrator;
    case 'O':
      return CipherPrivilege::kOem;
    default:
      return CipherPrivilege::kUnknown;
  }
}

// Returns what suite 0 allows. The letters are those of the entries of the list of suites, in its order (IPMI 2.0,
// table 23-4, parameters 23 and 24); without the list nothing shows which is whose.
CipherPrivilege cipher_zero_of(std::string_view text) {
  const auto suites = value_of(text, "RMCP+ Cipher Suites");
  const auto letters = value_of(text, "Cipher Suite Priv Max");
  if (!suites || suites->empty() || !is_digit(suites->front())) return CipherPrivilege::kUnknown;
  // "Not Available" holds letters of privileges, too.
  constexpr std::size_t kMostSuites = 16;
  if (letters && letters->find_first_not_of("XcuoaO") != letters->npos) return CipherPrivilege::kUnknown;
  const auto list = split(suites->substr(0, kMaxBmcText), ',');
  if (list.size() > kMostSuites) return CipherPrivilege::kUnknown;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (parse_number<int>(list[i]) != 0) continue;
    return letters && i < letters->size() ? privilege_of((*letters)[i]) : CipherPrivilege::kUnknown;
  }
  return CipherPrivilege::kUnused;
}

Reading<BmcLan> lan_in(std::string_view text) {
  const std::string from = "ipmitool lan print";
  BmcLan lan{.address = cell(value_of(text, "IP Address").value_or("")), .cipher_zero = cipher_zero_of(text)};
  if (lan.address.empty()) return {Miss{Missing::kGarbled, "the output is cut off"}, from};
  return {std::move(lan), from};
}

Reading<BmcDevice> device_in(const IpmitoolTexts& texts) {
  const bool asked = texts.controller.data() != nullptr;
  const std::string from = asked ? "ipmitool mc info" : "ipmitool fru print";
  BmcDevice device{.manufacturer = cell(value_of(texts.controller, "Manufacturer Name").value_or("")),
                   .firmware = cell(value_of(texts.controller, "Firmware Revision").value_or("")),
                   .product = cell(value_of(texts.inventory, "Product Name").value_or(""))};
  if (device.manufacturer.empty())
    device.manufacturer = cell(value_of(texts.inventory, "Product Manufacturer").value_or(""));
  if (device.firmware.empty() && device.product.empty() && device.manufacturer.empty())
    return {Miss{Missing::kGarbled, "the output states no device"}, from};
  return {std::move(device), from};
}

}  // namespace

std::optional<BmcFacts> parse_ipmitool(const IpmitoolTexts& texts) {
  const auto given = [](std::string_view text) { return text.data() != nullptr; };
  BmcFacts facts{.protocol = "ipmi"};
  bool any = false;
  const auto take = [&](std::string_view text, auto&& set) {
    if (!given(text)) return;
    any = true;
    set();
  };
  // The table of `sensor` has thresholds; that of `sdr` has texts of discrete sensors instead.
  take(texts.sdr, [&] { facts.sensors = sensors_in(texts.sdr, "ipmitool sdr", sdr_row); });
  take(texts.sensor, [&] { facts.sensors = sensors_in(texts.sensor, "ipmitool sensor", sensor_row); });
  take(texts.events, [&] { facts.events = events_in(texts.events); });
  take(texts.log, [&] { facts.log = log_in(texts.log); });
  take(texts.lan, [&] { facts.lan = lan_in(texts.lan); });
  take(texts.controller, [&] { facts.device = device_in(texts); });
  take(texts.inventory, [&] { facts.device = device_in(texts); });
  if (!any) return std::nullopt;
  if (facts.lan.ok()) facts.address = facts.lan->address;
  return facts;
}

}  // namespace railbed
