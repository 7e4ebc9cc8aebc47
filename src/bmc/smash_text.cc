#include "bmc/smash_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/shell.h"
#include "base/text.h"
#include "bmc/freeipmi_text.h"

namespace railbed {
namespace {

constexpr std::size_t kMaxPrompt = 64;
constexpr std::size_t kMaxClpName = 64;

std::string clp_text(std::string_view text) { return printable(trim(text).substr(0, kMaxBmcText)); }

bool says(std::string_view text, std::string_view phrase) { return text.find(phrase) != text.npos; }

bool says_any(std::string_view text, const auto& phrases) {
  return std::ranges::any_of(phrases, [&](std::string_view phrase) { return says(text, phrase); });
}

// Returns how many bytes of a terminal's control sequence follow ESC (ECMA-48, 5.3, 5.4, 5.6): "[1;32m",
// "(B", "]0;title BEL".
std::size_t control_length(std::string_view text) {
  if (text.empty()) return 0;
  std::size_t at = 1;
  if (text[0] == '[') {
    while (at < text.size() && (text[at] < '@' || text[at] > '~')) ++at;
    return std::min(at + 1, text.size());
  }
  if (text[0] == ']') {
    while (at < text.size() && text[at] != '\a' && text[at] != '\x1b' && text[at] != '\n') ++at;
    return at < text.size() && text[at] == '\a' ? at + 1 : at;
  }
  if (text[0] == '(' || text[0] == ')') return std::min<std::size_t>(2, text.size());
  return text[0] == '\n' ? 0 : 1;
}

// True if the name may be used in a command to the BMC. However a BMC names its targets, only single words
// get there.
bool is_clp_name(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !name.empty() && name.size() <= kMaxClpName && name.find_first_not_of(kAllowed) == name.npos &&
         !name.starts_with('-') && name != "." && name != "..";
}

enum class ClpSection { kNone, kTargets, kProperties, kVerbs };

std::optional<ClpSection> section_of(std::string_view line) {
  std::string word = lower(trim(line.substr(0, kMaxClpName)));
  while (word.ends_with(':') || word.ends_with(' ')) word.pop_back();
  if (word == "targets") return ClpSection::kTargets;
  if (word == "properties") return ClpSection::kProperties;
  if (word == "verbs") return ClpSection::kVerbs;
  return std::nullopt;
}

// Parses a line of the status block; false if it is none. Such a line is outside all sections or begins at
// the margin, where properties are indented.
bool take_status(ClpAnswer& answer, std::string_view line, ClpSection section) {
  const auto pair = key_value(line, '=');
  if (!pair || (section != ClpSection::kNone && line.starts_with(' '))) return false;
  const std::string key = lower(pair->first);
  if (key == "status") {
    const auto number = parse_number<int>(pair->second);
    if (number) answer.status = *number;
    return number.has_value();
  }
  if (key != "status_tag" && key != "error_tag" && key != "message") return key == "error";
  if (answer.error.size() < kMaxBmcText && pair->second != "COMMAND COMPLETED")
    answer.error += (answer.error.empty() ? "" : ", ") + clp_text(pair->second);
  return true;
}

void take_target(ClpAnswer& answer, std::string_view line) {
  const auto columns = words(line);
  if (columns.empty()) return;
  std::string_view name = columns.front();
  while (name.ends_with('/')) name.remove_suffix(1);
  if (is_clp_name(name) && lower(name) != "none" && answer.targets.size() < kMaxClpEntries)
    answer.targets.emplace_back(name);
}

void take_property(ClpAnswer& answer, std::string_view line) {
  const auto pair = key_value(line, '=');
  if (!pair || pair->first.empty() || answer.properties.size() == kMaxClpEntries) return;
  answer.properties.emplace_back(clp_text(pair->first), clp_text(pair->second));
}

void take_verbs(ClpAnswer& answer, std::string_view line) {
  for (const std::string_view word : words(line))
    if (is_clp_name(word) && answer.verbs.size() < kMaxClpEntries) answer.verbs.emplace_back(word);
}

std::string all_words(const ClpAnswer& answer) { return lower(answer.error + " " + answer.said); }

// Returns the number in "2", "2 (Enabled)" or "Enabled (2)".
std::optional<int> clp_code(std::string_view value) {
  const std::size_t first = value.find_first_of("0123456789");
  if (first == value.npos) return std::nullopt;
  const std::size_t last = value.find_first_not_of("0123456789", first);
  const bool whole = first == 0 || value[first - 1] == '(';
  return whole ? parse_number<int>(value.substr(first, last == value.npos ? last : last - first))
               : std::nullopt;
}

std::optional<PowerState> clp_power_word(std::string_view value) {
  const std::string word = lower(value);
  if (word == "on" || word == "powered on" || word == "poweron") return PowerState::kOn;
  if (word == "off" || word == "powered off" || word == "poweroff") return PowerState::kOff;
  return std::nullopt;
}

// 1 is "Other" in the schema; ATEN's firmware uses it for on.
std::optional<PowerState> clp_power_number(std::string_view value) {
  const auto number = clp_code(value);
  if (number == 1 || number == 2) return PowerState::kOn;
  if (number == 6 || number == 7 || number == 8) return PowerState::kOff;
  return std::nullopt;
}

std::optional<PowerState> enabled_state(std::string_view value) {
  const std::string word = lower(value);
  const auto number = clp_code(value);
  if (says(word, "offline") || word.starts_with("disabled") || number == 3 || number == 6)
    return PowerState::kOff;
  if (word.starts_with("enabled") || number == 2) return PowerState::kOn;
  return std::nullopt;
}

// HealthState counts in steps of five; OperationalStatus begins with 0 unknown, 2 OK, 3 degraded.
BmcSeverity clp_health(std::string_view value) {
  const std::string word = lower(value);
  const auto number = clp_code(value);
  if (number) {
    if (*number == 5) return BmcSeverity::kNominal;
    if (*number == 10 || *number == 15) return BmcSeverity::kWarning;
    if (*number == 20 || *number == 25 || *number == 30) return BmcSeverity::kCritical;
    return BmcSeverity::kUnknown;
  }
  if (word == "ok" || word == "normal" || word == "nominal" || word == "good") return BmcSeverity::kNominal;
  if (says_any(word, std::array{"non-critical", "noncritical", "degraded", "warning", "minor", "stressed"}))
    return BmcSeverity::kWarning;
  if (says_any(word, std::array{"critical", "fail", "error", "non-recoverable", "major"}))
    return BmcSeverity::kCritical;
  return BmcSeverity::kUnknown;
}

BmcSeverity clp_operational(std::string_view value) {
  const auto number = clp_code(value);
  if (!number) return clp_health(value);
  if (*number == 2) return BmcSeverity::kNominal;
  if (*number == 3 || *number == 4 || *number == 5) return BmcSeverity::kWarning;
  if (*number == 6 || *number == 7) return BmcSeverity::kCritical;
  return BmcSeverity::kUnknown;
}

BmcSeverity worse_of(BmcSeverity severity, BmcSeverity other) {
  if (severity == BmcSeverity::kUnknown) return other;
  if (other == BmcSeverity::kUnknown) return severity;
  return std::max(severity, other);
}

struct ClpWord {
  std::string_view said;  // a number of CIM's, or a maker's word in lower case
  std::string_view text;
};
constexpr std::array kClpSensorTypes = {
    ClpWord{"2", "Temperature"}, ClpWord{"3", "Voltage"},    ClpWord{"4", "Current"},
    ClpWord{"5", "Fan"},         ClpWord{"9", "Humidity"},   ClpWord{"11", "Presence"},
    ClpWord{"12", "Air Flow"},   ClpWord{"13", "Power"},     ClpWord{"14", "Power"},
    ClpWord{"15", "Pressure"},   ClpWord{"16", "Intrusion"}, ClpWord{"tachometer", "Fan"},
};
constexpr std::array kClpUnits = {
    ClpWord{"2", "C"},       ClpWord{"3", "F"},     ClpWord{"4", "K"},         ClpWord{"5", "V"},
    ClpWord{"6", "A"},       ClpWord{"7", "W"},     ClpWord{"19", "RPM"},      ClpWord{"65", "%"},
    ClpWord{"celsius", "C"}, ClpWord{"volts", "V"}, ClpWord{"amps", "A"},      ClpWord{"watts", "W"},
    ClpWord{"percent", "%"}, ClpWord{"rpm", "RPM"}, ClpWord{"degrees c", "C"},
};

// Returns the table's text for a number or a word. Without an entry, a number becomes empty and a word stays.
std::string clp_words(std::string_view value, const auto& table) {
  const std::string said = lower(value);
  const auto number = clp_code(value);
  for (const ClpWord& word : table)
    if (said == word.said || (number && std::to_string(*number) == word.said)) return std::string(word.text);
  return number && clp_code(value) == parse_number<int>(value) ? "" : std::string(value);
}

// Splits "45", "45.5 C", "25 percent" into the number and the unit, if there is one.
std::pair<std::optional<double>, std::string> clp_number(std::string_view value) {
  const std::size_t end = value.find_first_not_of("+-.0123456789");
  const auto number = parse_real(value.substr(0, end));
  return {number, number && end != value.npos ? std::string(trim(value.substr(end))) : ""};
}

std::optional<double> clp_quantity(const ClpAnswer& answer, std::string_view name) {
  const auto number = clp_number(clp_property(answer, name)).first;
  const int power = parse_number<int>(clp_property(answer, "UnitModifier")).value_or(0);
  if (!number || power < -12 || power > 12) return std::nullopt;
  return *number * std::pow(10.0, power);
}

std::string clp_sensor_name(const ClpAnswer& answer, std::string_view target) {
  const auto is_name = [](std::string_view text) {
    return text.find_first_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != text.npos;
  };
  for (const std::string_view key : {"DeviceID", "ElementName", "Name"})
    if (const auto value = clp_property(answer, key); is_name(value)) return std::string(value);
  return clp_text(target);
}

std::string clp_sensor_type(const ClpAnswer& answer, std::string_view target) {
  if (const auto type = clp_property(answer, "SensorType"); !type.empty())
    if (auto word = clp_words(type, kClpSensorTypes); !word.empty()) return word;
  if (target.starts_with("fan")) return "Fan";
  return says(target, "power") || says(target, "pwr") ? "Power Supply" : "";
}

std::string clp_sensor_units(const ClpAnswer& answer) {
  for (const std::string_view key : {"BaseUnits", "RateUnits", "Units"})
    if (const auto value = clp_property(answer, key); !value.empty())
      if (auto word = clp_words(value, kClpUnits); !word.empty() && word != "N/A") return word;
  return "";
}

std::string line_that_says(std::string_view text, std::string_view part) {
  for (const std::string_view line : lines(text))
    if (says(line, part)) return clp_text(line);
  return clp_text(text);
}

bool is_numbered(std::string_view target, std::string_view kind) {
  const std::string name = lower(target);
  return name.starts_with(kind) && name.size() > kind.size() &&
         std::ranges::all_of(name.substr(kind.size()), is_digit);
}

}  // namespace

std::string plain_lines(std::string_view raw) {
  std::string text;
  for (std::size_t at = 0; at < raw.size(); ++at) {
    const char c = raw[at];
    if (c == '\x1b')
      at += control_length(raw.substr(at + 1));
    else if (c == '\b' && !text.empty() && text.back() != '\n')
      text.pop_back();
    else if (c == '\t')
      text += ' ';
    else if (c == '\n' || static_cast<unsigned char>(c) >= ' ')
      text += c;
  }
  return text;
}

std::string last_clp_line(std::string_view raw) {
  const std::size_t end = raw.rfind('\n');
  const std::string_view last = end == raw.npos ? raw : raw.substr(end + 1);
  if (last.size() > 4 * kMaxPrompt) return "";
  const std::string line(trim(plain_lines(last)));
  return line.size() <= kMaxPrompt ? line : "";
}

std::optional<std::string> find_clp_prompt(std::string_view raw) {
  std::string line = last_clp_line(raw);
  if (!line.ends_with("->")) return std::nullopt;
  return line;
}

ClpAnswer parse_clp(std::string_view raw, std::string_view command) {
  ClpAnswer answer;
  ClpSection section = ClpSection::kNone;
  bool echoed = false;
  const std::string text = plain_lines(raw);
  for (const std::string_view line : lines(text)) {
    const std::string_view said = trim(line);
    if (said.empty() || said.ends_with("->")) continue;
    if (!echoed && !command.empty() && said.ends_with(command)) {
      echoed = true;
    } else if (const auto begins = section_of(said)) {
      section = *begins;
    } else if (take_status(answer, line, section)) {
      continue;
    } else if (section == ClpSection::kTargets) {
      take_target(answer, said);
    } else if (section == ClpSection::kProperties) {
      take_property(answer, said);
    } else if (section == ClpSection::kVerbs) {
      take_verbs(answer, said);
    } else if (answer.said.size() < kMaxBmcText) {
      answer.said += (answer.said.empty() ? "" : " ") + clp_text(said);
    }
  }
  answer.said = clp_text(answer.said);
  answer.error = clp_text(answer.error);
  return answer;
}

std::string_view clp_property(const ClpAnswer& answer, std::string_view name) {
  const std::string wanted = lower(name);
  for (const auto& [key, value] : answer.properties)
    if (lower(key) == wanted) return value;
  return "";
}

bool has_clp_verb(const ClpAnswer& answer, std::string_view verb) {
  return std::ranges::any_of(answer.verbs, [&](const std::string& one) { return lower(one) == verb; });
}

std::optional<Miss> clp_refusal(const ClpAnswer& answer) {
  const std::string words = all_words(answer);
  constexpr std::array kComplaints = {
      "invalid", "not recognized", "unrecognized", "not supported", "not found", "unknown", "error",
      "fail",    "denied",         "privilege",    "syntax",        "unable",    "cannot",  "not allowed"};
  const bool done =
      answer.status ? *answer.status == 0 || *answer.status == 1 : !says_any(words, kComplaints);
  if (done) return std::nullopt;
  // Not kDenied, which means that the login was refused.
  if (says_any(words, std::array{"denied", "privilege", "permission", "not authorized"}))
    return Miss{Missing::kUnsupported, "its BMC lets this user do less than administrators may do"};
  const std::string& why = answer.error.empty() ? answer.said : answer.error;
  return Miss{Missing::kUnsupported,
              why.empty() ? fmt::format("its BMC refuses it: status {}", answer.status.value_or(-1))
                          : fmt::format("its BMC refuses it: {}", why)};
}

bool is_unknown_to_clp(const ClpAnswer& answer) {
  const std::string words = all_words(answer);
  return clp_refusal(answer) && says_any(words, std::array{"syntax", "option", "argument", "recognized",
                                                           "unknown command", "invalid command", "usage"});
}

std::optional<PowerState> clp_service_power(const ClpAnswer& answer) {
  const auto value = clp_property(answer, "PowerState");
  if (const auto power = clp_power_word(value)) return power;
  return clp_power_number(value);
}

std::optional<PowerState> clp_system_power(const ClpAnswer& answer) {
  if (const auto power = clp_service_power(answer)) return power;
  if (const auto power = clp_power_word(clp_property(answer, "CurrentPowerStatus"))) return power;
  return enabled_state(clp_property(answer, "EnabledState"));
}

bool is_clp_sensor_folder(std::string_view target) {
  return is_numbered(target, "sensors") || lower(target) == "sensors";
}

bool is_clp_sensor(std::string_view target) {
  constexpr std::array kKinds = {"sensor",     "nsensor", "numsensor",   "numericsensor", "tempsensor",
                                 "voltsensor", "fan",     "powersupply", "pwrsupply"};
  return std::ranges::any_of(kKinds, [&](std::string_view kind) { return is_numbered(target, kind); });
}

BmcSensor parse_clp_sensor(const ClpAnswer& answer, std::string_view target) {
  BmcSensor sensor{.name = clp_sensor_name(answer, target), .type = clp_sensor_type(answer, target)};
  const std::string_view health = clp_property(answer, "HealthState");
  const std::string_view state = clp_property(answer, "CurrentState");
  const std::string_view status = clp_property(answer, "OperationalStatus");
  sensor.severity = worse_of(worse_of(clp_health(health), clp_health(state)), clp_operational(status));
  for (const std::string_view value : {state, health, status})
    if (sensor.state.empty() && !clp_code(value)) sensor.state = value;
  const std::string_view key =
      clp_property(answer, "CurrentReading").empty() ? "DesiredSpeed" : "CurrentReading";
  sensor.reading = clp_quantity(answer, key);
  if (!sensor.reading) return sensor;
  sensor.units = clp_words(clp_number(clp_property(answer, key)).second, kClpUnits);
  if (sensor.units.empty()) sensor.units = clp_sensor_units(answer);
  sensor.lower_critical = clp_quantity(answer, "LowerThresholdCritical");
  sensor.upper_critical = clp_quantity(answer, "UpperThresholdCritical");
  if (!sensor.upper_critical) sensor.upper_critical = clp_quantity(answer, "oemhp_CriticalValue");
  return sensor;
}

Miss why_no_session(std::string_view said, bool asked, const ShellCommand& login) {
  if (says(said, "REMOTE HOST IDENTIFICATION HAS CHANGED") || says(said, "REVOKED HOST KEY DETECTED"))
    return {
        Missing::kGarbled,
        "the host key of its BMC is not the one that known_hosts has: find out why before anybody gets the "
        "password; only if the BMC was reset or replaced, remove the old one with ssh-keygen -R"};
  if (says(said, "Host key verification failed") || says(said, "requested strict checking"))
    return {
        Missing::kAbsent,
        fmt::format("known_hosts has no host key of its BMC: log in once with `{}`, compare the key that ssh "
                    "shows with the one that the BMC's own page shows, and accept it",
                    login.text())};
  if (says(said, "Permission denied") || says(said, "Too many authentication failures")) {
    if (asked) return {Missing::kDenied, "its BMC refuses user or password"};
    return {Missing::kUnsupported, "its BMC takes no password over ssh"};
  }
  if (says(said, "Unable to negotiate"))
    return {Missing::kUnsupported, fmt::format("ssh and its BMC have no algorithm in common ({})",
                                               line_that_says(said, "Unable to negotiate"))};
  if (says(said, "error in libcrypto"))
    return {Missing::kUnsupported,
            "this machine's policy forbids the signatures of its BMC's host key (SHA-1; see "
            "update-crypto-policies on RHEL)"};
  if (says(said, "Bad configuration option") || says(said, "Bad SSH2") || says(said, "command-line line"))
    return {Missing::kUnsupported,
            fmt::format("this machine's ssh refuses its options ({})", clp_text(said))};
  if (says(said, "Could not resolve hostname"))
    return {Missing::kAbsent, "the host name of its BMC cannot be resolved"};
  if (says(said, "Connection refused"))
    return {Missing::kAbsent, "its BMC has no ssh: the connection is refused"};
  if (says_any(said, std::array{"timed out", "No route to host", "Network is unreachable", "Host is down"}))
    return {Missing::kTimeout, "its BMC does not answer"};
  const std::string words = clp_text(said);
  return {Missing::kGarbled, words.empty() ? "its BMC closed the connection"
                                           : "its BMC closed the connection (ssh: " + words + ")"};
}

std::string known_algorithms(std::string_view list, const std::vector<std::string_view>& wanted) {
  const auto known = lines(list);
  std::string value;
  for (const std::string_view one : wanted)
    if (std::ranges::find(known, one) != known.end()) value += (value.empty() ? "+" : ",") + std::string(one);
  return value;
}

}  // namespace railbed
