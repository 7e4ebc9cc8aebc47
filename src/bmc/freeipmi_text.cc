#include "bmc/freeipmi_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "base/text.h"

namespace railbed {
namespace {

std::string shown(std::string_view text) { return printable(trim(text).substr(0, kMaxBmcText)); }

// Joins the columns [from, to), which belong to one text, with the commas that separated them.
std::string joined_columns(const std::vector<std::string_view>& columns, std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t i = from; i < to && text.size() < kMaxBmcText; ++i) {
    if (i > from) text += ',';
    text += columns[i].substr(0, kMaxBmcText);
  }
  return shown(text);
}

std::optional<BmcSeverity> severity_of(std::string_view state) {
  if (state == "Nominal") return BmcSeverity::kNominal;
  if (state == "Warning") return BmcSeverity::kWarning;
  if (state == "Critical") return BmcSeverity::kCritical;
  if (state == "N/A") return BmcSeverity::kUnknown;
  return std::nullopt;
}

// FreeIPMI does not quote, so a name that holds commas takes several columns. Returns the index of the state,
// which is the first column from `least` on that holds one. The column before it is the type.
std::optional<std::size_t> state_column(const std::vector<std::string_view>& columns, std::size_t least) {
  for (std::size_t i = least; i < columns.size(); ++i)
    if (severity_of(columns[i])) return i;
  return std::nullopt;
}

// 'Presence detected' 'Failure detected' → Presence detected, Failure detected.
std::string without_quotes(std::string text) {
  for (std::size_t at; (at = text.find("' '")) != std::string::npos;) text.replace(at, 3, ", ");
  if (text.size() >= 2 && text.starts_with('\'') && text.ends_with('\''))
    text = text.substr(1, text.size() - 2);
  return text;
}

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// "Nov-23-2026" and "20:12:03" → "2026-11-23 20:12:03"; "PostInit" → nothing.
std::string event_time(std::string_view date, std::string_view time) {
  const auto parts = split(date, '-');
  if (parts.size() != 3 || !parse_number<int>(parts[1]) || !parse_number<int>(parts[2])) return "";
  const auto month = std::ranges::find(kMonths, parts[0]);
  if (month == kMonths.end()) return "";
  return shown(
      fmt::format("{}-{:02}-{} {}", parts[2], month - kMonths.begin() + 1, parts[1], time.substr(0, 8)));
}

std::optional<BmcSensor> parse_sensor(std::string_view line) {
  const auto columns = split(line, ',');
  const auto state = state_column(columns, 3);
  // After the state: reading, units, six thresholds and the event.
  if (!state || columns.size() < *state + 10) return std::nullopt;
  const auto real = [&](std::size_t further) { return parse_real(columns[*state + further]); };
  BmcSensor sensor{.name = joined_columns(columns, 1, *state - 1),
                   .type = shown(columns[*state - 1]),
                   .severity = *severity_of(columns[*state])};
  sensor.reading = real(1);
  if (sensor.reading) sensor.units = shown(columns[*state + 2]);
  sensor.lower_critical = real(4);
  sensor.upper_critical = real(7);
  sensor.state = without_quotes(joined_columns(columns, *state + 9, columns.size()));
  return sensor;
}

std::optional<BmcEvent> parse_event(std::string_view line) {
  const auto columns = split(line, ',');
  const auto id = columns.empty() ? std::nullopt : parse_number<std::uint16_t>(columns[0]);
  const auto state = state_column(columns, 5);
  if (!id || !state || columns.size() < *state + 2) return std::nullopt;
  return BmcEvent{.id = *id,
                  .time = event_time(columns[1], columns[2]),
                  .sensor = joined_columns(columns, 3, *state - 1),
                  .type = shown(columns[*state - 1]),
                  .severity = *severity_of(columns[*state]),
                  .event = joined_columns(columns, *state + 1, columns.size())};
}

}  // namespace

std::optional<PowerState> parse_power(std::string_view text) {
  for (const std::string_view line : lines(text)) {
    const auto word =
        trim(line.substr(line.rfind(": ") == std::string_view::npos ? 0 : line.rfind(": ") + 2));
    if (word == "on") return PowerState::kOn;
    if (word == "off") return PowerState::kOff;
  }
  return std::nullopt;
}

std::optional<BmcDevice> parse_device(std::string_view text) {
  BmcDevice device;
  for (const std::string_view line : lines(text)) {
    const auto pair = key_value(line, ':');
    if (!pair) continue;
    if (pair->first == "Firmware Revision") device.firmware = shown(pair->second);
    if (pair->first == "Manufacturer ID") device.manufacturer = shown(pair->second);
  }
  if (device.firmware.empty()) return std::nullopt;
  return device;
}

std::vector<BmcSensor> parse_sensors(std::string_view text) {
  std::vector<BmcSensor> sensors;
  for (const std::string_view line : lines(text))
    if (auto sensor = parse_sensor(line); sensor && sensors.size() < kMaxBmcSensors)
      sensors.push_back(std::move(*sensor));
  return sensors;
}

std::vector<BmcEvent> parse_events(std::string_view text) {
  std::vector<BmcEvent> events;
  for (const std::string_view line : lines(text))
    if (auto event = parse_event(line); event && events.size() < kMaxBmcEvents)
      events.push_back(std::move(*event));
  return events;
}

std::optional<double> parse_sel_time(std::string_view text) {
  const auto pair = key_value(text, ':');
  if (!pair || pair->first != "SEL Time") return std::nullopt;
  std::tm time = {};
  const std::string said(pair->second.substr(0, 32));
  if (std::sscanf(said.c_str(), "%d/%d/%d - %d:%d:%d", &time.tm_mon, &time.tm_mday, &time.tm_year,
                  &time.tm_hour, &time.tm_min, &time.tm_sec) != 6)
    return std::nullopt;
  const bool sane = time.tm_mon >= 1 && time.tm_mon <= 12 && time.tm_mday >= 1 && time.tm_mday <= 31 &&
                    time.tm_year >= 1970 && time.tm_year <= 2200 && time.tm_hour >= 0 && time.tm_hour < 24 &&
                    time.tm_min >= 0 && time.tm_min < 60 && time.tm_sec >= 0 && time.tm_sec <= 60;
  if (!sane) return std::nullopt;
  time.tm_mon -= 1;
  time.tm_year -= 1900;
  return static_cast<double>(timegm(&time));
}

std::optional<BmcLog> parse_log(std::string_view text) {
  BmcLog log;
  for (const std::string_view line : lines(text)) {
    const auto pair = key_value(line, ':');
    if (!pair) continue;
    const auto first = words(pair->second);
    const auto number = first.empty() ? std::nullopt : parse_number<int>(first.front());
    if (pair->first == "Number of log entries") log.entries = number;
    if (pair->first == "Free space remaining") log.free_bytes = number;
    if (pair->first == "Events dropped due to lack of space") log.overflow = pair->second == "Yes";
  }
  if (!log.entries || !log.free_bytes || *log.entries < 0 || *log.free_bytes < 0) return std::nullopt;
  return log;
}

std::optional<BmcLan> parse_lan(std::string_view text) {
  constexpr std::string_view kSuite = "Maximum_Privilege_Cipher_Suite_Id_";
  constexpr std::pair<std::string_view, CipherPrivilege> kPrivileges[] = {
      {"Unused", CipherPrivilege::kUnused},
      {"User", CipherPrivilege::kUser},
      {"Operator", CipherPrivilege::kOperator},
      {"Administrator", CipherPrivilege::kAdministrator},
      {"OEM_Proprietary", CipherPrivilege::kOem}};
  bool lists = false;
  BmcLan lan;
  lan.cipher_zero = CipherPrivilege::kUnused;  // a suite that the BMC lacks is not listed
  for (const std::string_view line : lines(text)) {
    const auto columns = words(line);
    if (columns.size() != 2 || !columns[0].starts_with(kSuite)) continue;
    lists = true;
    if (columns[0].substr(kSuite.size()) != "0") continue;
    const auto* const known =
        std::ranges::find(kPrivileges, columns[1], [](const auto& one) { return one.first; });
    lan.cipher_zero = known == std::end(kPrivileges) ? CipherPrivilege::kUnknown : known->second;
  }
  if (!lists) return std::nullopt;
  return lan;
}

std::optional<SerialOverLan> parse_serial(std::string_view text) {
  SerialOverLan serial;
  bool said = false;
  for (const std::string_view line : lines(text)) {
    const auto columns = words(line);
    if (columns.size() != 2) continue;
    if (columns[0] == "Enable_SOL") {
      serial.enabled = columns[1] == "Yes";
      said = true;
    }
    if (columns[0] == "Volatile_Bit_Rate") serial.rate = parse_number<int>(columns[1]);
  }
  if (!said) return std::nullopt;
  return serial;
}

std::optional<std::string> find_user_section(std::string_view text, std::string_view user) {
  std::string_view section;
  for (const std::string_view line : lines(text)) {
    const auto columns = words(line);
    if (columns.size() != 2) continue;
    if (columns[0] == "Section") section = columns[1];
    if (columns[0] != "Username" || columns[1] != user) continue;
    if (section.starts_with("User") && parse_number<int>(section.substr(4))) return std::string(section);
  }
  return std::nullopt;
}

Miss why_refused(std::string_view said) {
  const auto has = [&](std::string_view phrase) { return said.find(phrase) != std::string_view::npos; };
  if (has("connection timeout")) return {Missing::kTimeout, "its BMC does not answer"};
  if (has("session timeout")) return {Missing::kTimeout, "its BMC stopped answering"};
  if (has("hostname invalid")) return {Missing::kAbsent, "the host name of its BMC cannot be resolved"};
  if (has("password") || has("username invalid"))
    return {Missing::kDenied, "its BMC refuses user or password"};
  if (has("privilege level"))
    return {Missing::kDenied, "its BMC lets this user do less than administrators may do"};
  if (has("cipher suite id unavailable"))
    return {Missing::kUnsupported, "its BMC does not know the cipher suite"};
  if (has("ipmi 2.0 unavailable") || has("authentication type unavailable"))
    return {Missing::kUnsupported, "its BMC does not speak IPMI 2.0 over the network"};
  if (has("BMC busy")) return {Missing::kTimeout, "its BMC is busy"};
  const std::string words = shown(said);
  if (has("internal IPMI error") || has("BMC error"))
    return {Missing::kGarbled,
            "its BMC broke off, or gave an answer that FreeIPMI does not understand (" + words + ")"};
  return {Missing::kGarbled, words.empty() ? "its BMC answered nothing" : words};
}

bool may_be_the_cipher(std::string_view said) {
  // Firmware reports an unknown suite in several ways, for which FreeIPMI prints one of these.
  return std::ranges::any_of(
      std::array<std::string_view, 4>{"cipher suite id unavailable", "internal IPMI error", "BMC error",
                                      "authentication type unavailable"},
      [&](std::string_view phrase) { return said.find(phrase) != std::string_view::npos; });
}

std::string in_configuration(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '\\' || c == '"' || c == '#') text += '\\';
    text += c;
  }
  return text + '"';
}

}  // namespace railbed
