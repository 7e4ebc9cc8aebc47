// The forms, by example (ipmitool, lib/ipmi_sdr.c, ipmi_sensor.c, ipmi_sel.c, ipmi_lanp.c, ipmi_mc.c, ipmi_fru.c):
//
//   sdr         CPU1 Temp        | 45 degrees C      | ok
//   sdr elist   CPU1 Temp        | 01h | ok  |  3.1 | 45 degrees C
//   sensor      CPU1 Temp        | 45.000     | degrees C  | ok    | na  | 5.0 | na | 80.0 | 85.0 | 95.0
//   sel elist   3d | 10/02/2025 | 17:33:30 | Memory DIMM A3 | Uncorrectable ECC | Asserted
//   sel list       1 |  Pre-Init  |0000000027| Power Supply #0xc8 | Failure detected | Asserted
//   sel list      2a | OEM record e0 | 0000a0d1…
//   sel list       9 | Linux kernel panic: Fatal excep
//
// Before 1.8.19 the date is month, day and year; since then date and time are those of the caller's locale
// ("09/17/2026 | 11:31:42 PM UTC", "17.09.2026 | 23:31:42 UTC"). Before 1.8.9 only sensors of a type of their own have
// a direction (Asserted). A maker's text of an event may hold a bar.
#include "bmc/ipmitool_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
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

// Returns "degrees C" for "degrees C" and for "% degrees C", which some versions print.
std::string units_in(std::string_view text) {
  constexpr std::string_view kModifier = "% ";
  return cell(text.starts_with(kModifier) ? text.substr(kModifier.size()) : text);
}

// Reads "45 degrees C", "12.10 Volts", "no reading", "0x01".
void set_quantity(BmcSensor& sensor, std::string_view text) {
  const auto space = text.find(' ');
  sensor.reading = parse_real(text.substr(0, space));
  if (sensor.reading && space != text.npos) sensor.units = units_in(text.substr(space + 1));
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
  if (sensor.reading) sensor.units = units_in(parts[2]);
  sensor.lower_critical = parse_real(parts[5]);
  sensor.upper_critical = parse_real(parts[8]);
  return sensor;
}

constexpr std::string_view kOfAPart = "the output is a part, and what it leaves out may be out of order";

template <class List>
bool any_red(const List& list) {
  return std::ranges::any_of(list, [](const auto& each) {
    return each.severity == BmcSeverity::kWarning || each.severity == BmcSeverity::kCritical;
  });
}

template <class Row>
std::vector<BmcSensor> sensors_in(std::string_view text, const Row& row) {
  std::vector<BmcSensor> sensors;
  for (const auto line : lines(text))
    if (auto sensor = row(line); sensor && sensors.size() < kMaxBmcSensors)
      sensors.push_back(std::move(*sensor));
  return sensors;
}

// Adds what sdr knows and sensor does not: the texts of discrete sensors, and sensors that are not in its table. Names
// may occur several times; the tables have one order.
void add_states(std::vector<BmcSensor>& sensors, std::vector<BmcSensor> of_sdr) {
  std::map<std::string, std::vector<std::size_t>> known;
  for (std::size_t i = 0; i < sensors.size(); ++i) known[sensors[i].name].push_back(i);
  std::map<std::string, std::size_t> met;
  for (BmcSensor& sensor : of_sdr) {
    const auto at = known.find(sensor.name);
    const std::size_t nth = met[sensor.name]++;
    if (at == known.end() || nth >= at->second.size()) {
      if (sensors.size() < kMaxBmcSensors) sensors.push_back(std::move(sensor));
    } else if (!sensor.reading && sensor.severity != BmcSeverity::kUnknown) {
      BmcSensor& own = sensors[at->second[nth]];
      if (own.severity != BmcSeverity::kUnknown) continue;
      own.severity = sensor.severity;
      own.state = std::move(sensor.state);
    }
  }
}

Reading<std::vector<BmcSensor>> all_sensors(const IpmitoolTexts& texts) {
  const bool has_table = texts.sensor.data() != nullptr;
  auto sensors = sensors_in(texts.sensor, sensor_row);
  auto of_sdr = sensors_in(texts.sdr, sdr_row);
  std::string from = has_table ? "ipmitool sensor" : "ipmitool sdr";
  if (sensors.empty())
    sensors = std::move(of_sdr);
  else
    add_states(sensors, std::move(of_sdr));
  if (sensors.empty()) return {Miss{Missing::kGarbled, "the output holds no sensor"}, std::move(from)};
  if (texts.sensors_in_part && !any_red(sensors))
    return {Miss{Missing::kUnknown, std::string(kOfAPart)}, std::move(from)};
  return {std::move(sensors), std::move(from)};
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

// The numbers of a date in the order in which they are printed, and what separates them; nullopt if it is no date.
struct PrintedDate {
  std::array<int, 3> numbers{};
  char between = '/';
};

std::optional<PrintedDate> date_of(std::string_view text) {
  const auto at = text.find_first_of("/.-");
  if (at == text.npos) return std::nullopt;
  PrintedDate date{.between = text[at]};
  const auto parts = split(text, date.between);
  if (parts.size() != date.numbers.size()) return std::nullopt;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = parse_number<int>(parts[i]);
    if (!number || *number < 0 || *number > 2200) return std::nullopt;
    date.numbers[i] = *number;
  }
  return date;
}

// Returns true if the locale of a list has the day before the month: a dot, or a first number that is no month.
bool has_day_first(std::string_view text) {
  return std::ranges::any_of(lines(text), [](std::string_view line) {
    const auto parts = cells(line);
    const auto date = parts.size() > 2 ? date_of(parts[1]) : std::nullopt;
    return date && date->between != '-' && (date->between == '.' || date->numbers[0] > 12);
  });
}

// Returns "23:31:42" for "23:31:42 UTC" and for "11:31:42 PM UTC"; empty if it is no time of day.
std::string clock_of(std::string_view text) {
  const auto clock = words(text);
  if (clock.empty()) return "";
  const auto parts = split(clock[0], ':');
  if (parts.size() != 3) return "";
  auto hour = parse_number<int>(parts[0]);
  const auto minute = parse_number<int>(parts[1]);
  const auto second = parse_number<int>(parts[2]);
  if (!hour || !minute || !second) return "";
  if (clock.size() > 1 && (clock[1] == "AM" || clock[1] == "PM")) {
    if (*hour < 1 || *hour > 12) return "";
    hour = *hour % 12 + (clock[1] == "PM" ? 12 : 0);
  }
  const bool sane = *hour >= 0 && *hour < 24 && *minute >= 0 && *minute < 60 && *second >= 0 && *second <= 60;
  return sane ? fmt::format("{:02}:{:02}:{:02}", *hour, *minute, *second) : "";
}

// Returns "2025-10-02 17:33:30" for "10/02/2025", "10/02/25" or "2025-10-02" and "17:33:30 UTC"; empty for "Pre-Init".
std::string event_moment(std::string_view date_text, std::string_view time, bool day_first) {
  const auto date = date_of(date_text);
  const std::string clock = clock_of(time);
  if (!date || clock.empty()) return "";
  const auto& [first, second, third] = date->numbers;
  const bool iso = date->between == '-';
  const int year = iso ? first : third;
  const int month = iso || day_first ? second : first;
  const int day = iso ? third : day_first ? first : second;
  if (month < 1 || month > 12 || day < 1 || day > 31) return "";
  return fmt::format("{:04}-{:02}-{:02} {}", year < 100 ? 2000 + year : year, month, day, clock);
}

// Returns the column with the direction of an event, 0 if there is none. Columns before it, from the fifth on, are the
// event's text.
std::size_t direction_at(const std::vector<std::string_view>& parts) {
  constexpr std::size_t kText = 4;
  for (std::size_t i = kText + 1; i < parts.size(); ++i)
    if (parts[i] == "Asserted" || parts[i] == "Deasserted") return i;
  return 0;
}

std::optional<BmcEvent> event_row(const std::vector<std::string_view>& parts, bool day_first) {
  constexpr std::string_view kPanic = "Linux kernel panic: ";
  const auto id = parse_number<std::uint16_t>(parts[0], 16);
  if (!id || parts.size() < 2) return std::nullopt;
  BmcEvent event{.id = *id};
  if (parts[1].starts_with(kPanic)) {  // the kernel's own record, with the first letters of the reason
    event.sensor = "Linux kernel";
    event.event = "panic: " + cell(parts[1].substr(kPanic.size()));
    event.severity = BmcSeverity::kCritical;
    return event;
  }
  if (parts.size() < 3) return std::nullopt;
  // A maker's own record means what only its maker knows.
  for (std::size_t i = 1; i < parts.size() && i <= 3; ++i)
    if (parts[i].starts_with("OEM record")) {
      event.sensor = cell(parts[i]);
      event.event = cell(parts.back());
      if (i == 3) event.time = event_moment(parts[1], parts[2], day_first);
      return event;
    }
  const std::size_t direction = direction_at(parts);
  event.time = event_moment(parts[1], parts[2], day_first);
  if (direction == 0 && (parts.size() != 5 || event.time.empty())) return std::nullopt;
  set_sensor(event, parts[3]);
  const std::size_t end = direction == 0 ? parts.size() : direction;
  event.event =
      cell(fmt::format("{}", fmt::join(parts.begin() + 4, parts.begin() + static_cast<long>(end), " ")));
  if (direction == 0) {  // began or ended: only what is good either way is known
    if (severity_of_message(event.event, event.type) == BmcSeverity::kNominal)
      event.severity = BmcSeverity::kNominal;
    return event;
  }
  if (parts[direction] == "Deasserted") event.event += " (deasserted)";
  event.severity = severity_of_message(event.event, event.type);
  if (direction + 1 < parts.size() && !parts[direction + 1].empty())
    event.event = cell(fmt::format("{}, {}", event.event, parts[direction + 1]));
  return event;
}

Reading<std::vector<BmcEvent>> events_in(const IpmitoolTexts& texts) {
  const std::string from = "ipmitool sel list";
  const bool day_first = has_day_first(texts.events);
  std::vector<BmcEvent> events;
  for (const auto line : lines(texts.events))
    if (auto event = event_row(cells(line), day_first); event && events.size() < kMaxBmcEvents)
      events.push_back(std::move(*event));
  if (events.empty() && texts.events.find("SEL has no entries") == texts.events.npos)
    return {Miss{Missing::kGarbled, "the output holds no event, nor that there is none"}, from};
  if (texts.events_in_part && !any_red(events)) return {Miss{Missing::kUnknown, std::string(kOfAPart)}, from};
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

// Returns what suite 0 allows. By IPMI 2.0 (table 23-4, parameters 23 and 24) the letters are those of the entries of the
// list of suites, in its order; by ipmitool's manual, and on BMCs of Supermicro and HPE, the first letter is that of suite
// 0, the second of suite 1. Where both give another answer it is unknown, as it is without the list.
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
    if (!letters || i >= letters->size()) return CipherPrivilege::kUnknown;
    const auto by_place = privilege_of((*letters)[i]);
    return by_place == privilege_of(letters->front()) ? by_place : CipherPrivilege::kUnknown;
  }
  return CipherPrivilege::kUnused;
}

Reading<BmcLan> lan_in(std::string_view text) {
  const std::string from = "ipmitool lan print";
  BmcLan lan{.address = cell(value_of(text, "IP Address").value_or("")), .cipher_zero = cipher_zero_of(text)};
  if (lan.address.empty()) return {Miss{Missing::kGarbled, "the output is cut off"}, from};
  return {std::move(lan), from};
}

// Returns the first value that is given for one of these keys; "Unknown" and "Unknown (0x94B)" are none.
std::string first_value(std::string_view text, std::initializer_list<std::string_view> keys) {
  for (const auto key : keys) {
    const auto value = value_of(text, key);
    if (value && !value->empty() && !value->starts_with("Unknown")) return cell(*value);
  }
  return "";
}

// Returns the part of an inventory that is about the machine: the device 0, not its power supplies and modules. One
// without titles is of a single device, `fru print 0`.
std::string_view own_inventory(std::string_view text) {
  constexpr std::string_view kTitle = "FRU Device Description :";
  if (text.find(kTitle) == text.npos) return text;
  for (auto at = text.find(kTitle); at != text.npos;) {
    const auto next = text.find(kTitle, at + kTitle.size());
    const auto block = text.substr(at, next == text.npos ? next : next - at);
    if (trim(block.substr(0, block.find('\n'))).ends_with("(ID 0)")) return block;
    at = next;
  }
  return {};
}

Reading<BmcDevice> device_in(const IpmitoolTexts& texts) {
  const bool asked = texts.controller.data() != nullptr;
  const std::string from = asked ? "ipmitool mc info" : "ipmitool fru print";
  const std::string_view inventory = own_inventory(texts.inventory);
  BmcDevice device{.manufacturer = first_value(texts.controller, {"Manufacturer Name"}),
                   .firmware = first_value(texts.controller, {"Firmware Revision"}),
                   .product = first_value(inventory, {"Product Name", "Board Product"})};
  if (device.manufacturer.empty())
    device.manufacturer = first_value(inventory, {"Product Manufacturer", "Board Mfg"});
  if (device.product.empty()) device.product = first_value(texts.controller, {"Product Name"});
  if (device.firmware.empty() && device.product.empty() && device.manufacturer.empty())
    return {Miss{Missing::kGarbled, "the output states no device"}, from};
  return {std::move(device), from};
}

// The faults that Get Chassis Status has a bit for.
constexpr std::string_view kChassisFaults[] = {"Power Overload", "Main Power Fault", "Power Control Fault",
                                               "Drive Fault", "Cooling/Fan Fault"};

void add_chassis(std::string_view text, BmcFacts& facts) {
  const std::string from = "ipmitool chassis status";
  const auto power = value_of(text, "System Power");
  if (power == "on" || power == "off")
    facts.power = {power == "on" ? PowerState::kOn : PowerState::kOff, from};
  else
    facts.power = {Miss{Missing::kGarbled, "the output does not state the power"}, from};
  std::vector<BmcSensor> faults;
  for (const auto fault : kChassisFaults)
    if (value_of(text, fault) == "true")
      faults.push_back({.name = std::string(fault),
                        .type = "Chassis",
                        .severity = BmcSeverity::kCritical,
                        .state = "true"});
  if (faults.empty()) return;
  if (facts.sensors.ok()) faults.insert(faults.begin(), facts.sensors->begin(), facts.sensors->end());
  facts.sensors = {std::move(faults), facts.sensors.ok() ? facts.sensors.from() + ", " + from : from};
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
  take(texts.sdr, [&] { facts.sensors = all_sensors(texts); });
  take(texts.sensor, [&] { facts.sensors = all_sensors(texts); });
  take(texts.chassis, [&] { add_chassis(texts.chassis, facts); });
  take(texts.events, [&] { facts.events = events_in(texts); });
  take(texts.log, [&] { facts.log = log_in(texts.log); });
  take(texts.lan, [&] { facts.lan = lan_in(texts.lan); });
  take(texts.controller, [&] { facts.device = device_in(texts); });
  take(texts.inventory, [&] { facts.device = device_in(texts); });
  if (!any) return std::nullopt;
  if (facts.lan.ok()) facts.address = facts.lan->address;
  return facts;
}

}  // namespace railbed
