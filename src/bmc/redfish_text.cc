#include "bmc/redfish_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "base/moment.h"
#include "base/text.h"
#include "bmc/event_severity.h"
#include "bmc/freeipmi_text.h"

namespace railbed::redfish {
namespace {

constexpr std::size_t kLongestLink = 512;

const json::Value* at(const json::Value& document, std::initializer_list<const char*> keys) {
  const json::Value* value = &document;
  for (const char* key : keys) {
    if (!value->is_object()) return nullptr;
    const auto found = value->find(key);
    if (found == value->end()) return nullptr;
    value = &*found;
  }
  return value;
}

// Returns the elements of the array at `keys`, at most kMaxMembers.
std::vector<const json::Value*> elements_at(const json::Value& document,
                                            std::initializer_list<const char*> keys) {
  std::vector<const json::Value*> elements;
  const json::Value* list = at(document, keys);
  if (list == nullptr || !list->is_array()) return elements;
  for (const json::Value& element : *list) {
    if (elements.size() == kMaxMembers) break;
    elements.push_back(&element);
  }
  return elements;
}

std::string shown(const std::string& text) { return printable(trim(text).substr(0, kMaxBmcText)); }

std::optional<double> number_at(const json::Value& document, std::initializer_list<const char*> keys) {
  const json::Value* value = at(document, keys);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double number = value->get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// Resource.Health.
BmcSeverity severity_of(std::string_view word) {
  if (word == "OK") return BmcSeverity::kNominal;
  if (word == "Warning") return BmcSeverity::kWarning;
  if (word == "Critical") return BmcSeverity::kCritical;
  return BmcSeverity::kUnknown;
}

struct Thresholds {
  std::optional<double> lower_caution, upper_caution;
  std::optional<double> lower_fatal, upper_fatal;
};

// Health is optional; without it the thresholds decide. An upper threshold of 0 is a placeholder, unless the
// reading is a margin below it; so are two thresholds between which no reading fits.
BmcSeverity severity_of(const json::Value& item, const BmcSensor& sensor, const Thresholds& more) {
  const BmcSeverity stated = severity_of(text_at(item, {"Status", "Health"}));
  if (stated != BmcSeverity::kUnknown || !sensor.reading) return stated;
  bool known = false;
  const auto beyond = [&](const std::optional<double>& lower, const std::optional<double>& upper) {
    if (lower && upper && *lower >= *upper) return false;
    const bool has_upper = upper && (*upper != 0 || *sensor.reading < 0);
    known = known || lower || has_upper;
    return (has_upper && *sensor.reading >= *upper) || (lower && *sensor.reading <= *lower);
  };
  if (beyond(more.lower_fatal, more.upper_fatal) || beyond(sensor.lower_critical, sensor.upper_critical))
    return BmcSeverity::kCritical;
  if (beyond(more.lower_caution, more.upper_caution)) return BmcSeverity::kWarning;
  return known ? BmcSeverity::kNominal : BmcSeverity::kUnknown;
}

bool is_there(const json::Value& item) {
  const std::string state = text_at(item, {"Status", "State"});
  return state != "Absent" && state != "Disabled";
}

// False in the states of Resource.State in which a sensor measures nothing; what it shows then is no reading.
bool measures(const json::Value& item) {
  const std::string state = text_at(item, {"Status", "State"});
  return state != "UnavailableOffline" && state != "StandbyOffline" && state != "Starting";
}

std::string units_of(const std::string& said) {
  if (said == "Cel") return "C";
  if (said == "Percent") return "%";
  return said;
}

std::string name_of(const json::Value& item) {
  for (const char* key : {"Name", "FanName", "DeviceName", "MemberId", "Id"})
    if (std::string name = text_at(item, {key}); !name.empty()) return name;
  return "";
}

std::string state_text(const json::Value& item) {
  const std::string health = text_at(item, {"Status", "Health"});
  const std::string state = text_at(item, {"Status", "State"});
  if (state.empty() || state == "Enabled") return health;
  return health.empty() ? state : fmt::format("{}, {}", state, health);
}

struct Kind {
  std::string_view type;
  const char* reading;
  std::string_view units;         // empty: taken from "ReadingUnits"
  const char* within = nullptr;   // the object that holds `reading`; null: the item itself
  const char* instead = nullptr;  // a reading of about the same, where `reading` is missing
};

// Returns a threshold by its name in schemas with a document for each sensor and in the older ones.
std::optional<double> threshold_of(const json::Value& item, const char* name, const char* older) {
  const auto limit = number_at(item, {"Thresholds", name, "Reading"});
  return limit ? limit : number_at(item, {older});
}

// Adds a sensor by this name.
void add_one(const json::Value& item, const Kind& kind, const std::string& name,
             std::vector<BmcSensor>& sensors) {
  if (!item.is_object() || !is_there(item) || sensors.size() >= kMaxBmcSensors) return;
  BmcSensor sensor{.name = name, .type = std::string(kind.type)};
  if (sensor.name.empty()) return;
  if (measures(item)) {
    sensor.reading =
        kind.within ? number_at(item, {kind.within, kind.reading}) : number_at(item, {kind.reading});
    if (!sensor.reading && kind.instead) sensor.reading = number_at(item, {kind.instead});
  }
  sensor.units = kind.units.empty() ? units_of(text_at(item, {"ReadingUnits"})) : std::string(kind.units);
  sensor.lower_critical = threshold_of(item, "LowerCritical", "LowerThresholdCritical");
  sensor.upper_critical = threshold_of(item, "UpperCritical", "UpperThresholdCritical");
  sensor.severity =
      severity_of(item, sensor,
                  {.lower_caution = threshold_of(item, "LowerCaution", "LowerThresholdNonCritical"),
                   .upper_caution = threshold_of(item, "UpperCaution", "UpperThresholdNonCritical"),
                   .lower_fatal = threshold_of(item, "LowerFatal", "LowerThresholdFatal"),
                   .upper_fatal = threshold_of(item, "UpperFatal", "UpperThresholdFatal")});
  sensor.state = state_text(item);
  // It has neither a reading nor a known state.
  if (!sensor.reading && sensor.severity == BmcSeverity::kUnknown) return;
  sensors.push_back(std::move(sensor));
}

// Adds the sensors of a list. Names that several of them have get their number in the list, and a name that is a mere
// number gets the type.
void add_all(const json::Value& document, const char* list, const Kind& kind,
             std::vector<BmcSensor>& sensors) {
  const auto items = elements_at(document, {list});
  std::map<std::string, int> held;
  for (const json::Value* item : items) ++held[name_of(*item)];
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::string name = name_of(*items[i]);
    if (parse_number<std::uint32_t>(name))
      name = fmt::format("{} {}", kind.type, name);
    else if (!name.empty() && held[name] > 1) {
      const std::string id = text_at(*items[i], {"MemberId"});
      name += " " + (id.empty() ? std::to_string(i) : id);
    }
    add_one(*items[i], kind, shown(name), sensors);
  }
}

// Returns Sensor.ReadingType, in IPMI's words where it has one; without it, the type that the units suggest.
std::string type_of_sensor(const json::Value& sensor) {
  const std::string type = text_at(sensor, {"ReadingType"});
  if (!type.empty()) return type == "Rotational" ? "Fan" : type;
  const std::string units = text_at(sensor, {"ReadingUnits"});
  if (units == "Cel") return "Temperature";
  if (units == "RPM") return "Fan";
  if (units == "V") return "Voltage";
  if (units == "W") return "Power";
  return "Sensor";
}

// "2015-03-13T04:14:33.120+06:00" → seconds since 1970.
std::optional<double> moment_of(const std::string& text) {
  return text.find('T') == std::string::npos ? std::nullopt : parse_since(text, 0);
}

// True for "2022-06-13 12:19:21", the BMC's own time without a zone.
bool is_local_time(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00 00:00:00";
  if (text.size() != kShape.size() || text.starts_with("0000")) return false;
  for (std::size_t i = 0; i < kShape.size(); ++i)
    if (kShape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != kShape[i]) return false;
  return true;
}

// Returns the text at `keys`, which older iDRACs give as [{"Member": TEXT}].
std::string member_text_at(const json::Value& document, const char* key) {
  std::string text = text_at(document, {key});
  const auto list = elements_at(document, {key});
  return text.empty() && !list.empty() ? text_at(*list.front(), {"Member"}) : text;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

}  // namespace

std::optional<std::string> sound_path(std::string_view text) {
  text = text.substr(0, text.find('#'));
  if (!text.starts_with("/redfish/") || text.size() > kLongestLink) return std::nullopt;
  if (text.find("..") != std::string_view::npos) return std::nullopt;
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._~-:%()'!$&*+,;=@?|{}";
  if (text.find_first_not_of(kAllowed) != std::string_view::npos) return std::nullopt;
  return std::string(text);
}

std::optional<std::string> path_of(std::string_view text) {
  if (!text.starts_with("https://")) return sound_path(text);
  const std::size_t slash = text.find('/', std::string_view("https://").size());
  return slash == std::string_view::npos ? std::nullopt : sound_path(text.substr(slash));
}

std::string last_of_path(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  return path.substr(path.find_last_of('/') + 1);
}

bool is_same_path(std::string_view one, std::string_view other) {
  const auto bare = [](std::string_view path) {
    return path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
  };
  return bare(one) == bare(other);
}

std::size_t count_of(const json::Value& collection) {
  const json::Value* list = at(collection, {"Members"});
  const std::size_t held = list != nullptr && list->is_array() ? list->size() : 0;
  const auto stated = number_at(collection, {"Members@odata.count"});
  return std::max(held, stated && *stated > 0 && *stated < 1e6 ? static_cast<std::size_t>(*stated) : 0);
}

std::vector<std::string> parameter_values(const json::Value& action_info, std::string_view name) {
  for (const json::Value* parameter : elements_at(action_info, {"Parameters"}))
    if (text_at(*parameter, {"Name"}) == name) return allowed_at(*parameter, {"AllowableValues"});
  return {};
}

std::string text_at(const json::Value& document, std::initializer_list<const char*> keys) {
  const json::Value* value = at(document, keys);
  return value != nullptr && value->is_string() ? shown(value->get_ref<const std::string&>()) : "";
}

std::optional<bool> truth_at(const json::Value& document, std::initializer_list<const char*> keys) {
  const json::Value* value = at(document, keys);
  return value != nullptr && value->is_boolean() ? std::optional(value->get<bool>()) : std::nullopt;
}

std::vector<std::string> allowed_at(const json::Value& document, std::initializer_list<const char*> keys) {
  std::vector<std::string> words;
  for (const json::Value* word : elements_at(document, keys))
    if (word->is_string()) words.push_back(shown(word->get_ref<const std::string&>()));
  return words;
}

std::optional<std::string> link_at(const json::Value& document, std::initializer_list<const char*> keys) {
  const json::Value* value = at(document, keys);
  // For a link that may have several values ("Links": {"ManagedBy": [{…}]}), the first counts.
  if (value != nullptr && value->is_array() && !value->empty()) value = &value->front();
  if (value == nullptr || !value->is_object()) return std::nullopt;
  const json::Value* id = at(*value, {"@odata.id"});
  return id != nullptr && id->is_string() ? sound_path(id->get_ref<const std::string&>()) : std::nullopt;
}

std::optional<std::string> action_of(const json::Value& document, const char* name) {
  const json::Value* target = at(document, {"Actions", name, "target"});
  return target != nullptr && target->is_string() ? sound_path(target->get_ref<const std::string&>())
                                                  : std::nullopt;
}

std::vector<std::string> members_of(const json::Value& collection) {
  std::vector<std::string> links;
  for (const json::Value* member : elements_at(collection, {"Members"}))
    if (auto link = link_at(*member, {})) links.push_back(*std::move(link));
  return links;
}

std::optional<std::string> next_page(const json::Value& collection) {
  const json::Value* next = at(collection, {"Members@odata.nextLink"});
  if (next == nullptr) next = at(collection, {"@odata.nextLink"});
  return next != nullptr && next->is_string() ? sound_path(next->get_ref<const std::string&>())
                                              : std::nullopt;
}

std::vector<const json::Value*> whole_members(const json::Value& collection) {
  std::vector<const json::Value*> whole;
  const json::Value* list = at(collection, {"Members"});
  if (list == nullptr || !list->is_array()) return whole;
  for (const json::Value& member : *list)
    if (member.is_object() && at(member, {"Id"}) != nullptr) whole.push_back(&member);
  return whole;
}

bool expands(const json::Value& root) {
  return truth_at(root, {"ProtocolFeaturesSupported", "ExpandQuery", "NoLinks"}).value_or(false);
}

bool is_system(const json::Value& document) {
  const std::string type = text_at(document, {"@odata.type"});
  return type.empty() || type.starts_with("#ComputerSystem.");
}

bool overrides_boot(const json::Value& system) {
  return !text_at(system, {"Boot", "BootSourceOverrideTarget"}).empty();
}

bool is_like(const json::Value& one, const json::Value& other) {
  const auto model = [](const json::Value& system) { return text_at(system, {"Model"}); };
  return action_of(one, "#ComputerSystem.Reset") && action_of(other, "#ComputerSystem.Reset") &&
         overrides_boot(one) == overrides_boot(other) && model(one) == model(other);
}

bool is_named(const json::Value& system, std::string_view name) {
  const auto bare = [](std::string_view text) { return lower(text.substr(0, text.find('.'))); };
  for (const char* key : {"HostName", "Name", "Id"})
    if (const std::string text = text_at(system, {key}); !text.empty() && bare(text) == bare(name))
      return true;
  return false;
}

std::optional<PowerState> power_of(const json::Value& system) {
  const std::string state = text_at(system, {"PowerState"});
  if (state == "On" || state == "PoweringOff" || state == "Paused") return PowerState::kOn;
  if (state == "Off" || state == "PoweringOn") return PowerState::kOff;
  return std::nullopt;
}

std::vector<std::string_view> reset_words(PowerAction action) {
  switch (action) {
    case PowerAction::kOn:
      return {"On", "ForceOn"};
    case PowerAction::kOff:
      return {"ForceOff"};
    case PowerAction::kSoft:
      return {"GracefulShutdown"};
    case PowerAction::kCycle:
      return {"PowerCycle", "FullPowerCycle"};
    case PowerAction::kReset:
      return {"ForceRestart"};
  }
  return {};
}

std::vector<std::string_view> boot_words(BootDevice device) {
  switch (device) {
    case BootDevice::kNone:
      return {"None"};
    case BootDevice::kPxe:
      return {"Pxe"};
    case BootDevice::kDisk:
      return {"Hdd"};
    case BootDevice::kBios:
      return {"BiosSetup"};
    case BootDevice::kCd:
      return {"Cd", "UsbCd", "CD/DVD"};
  }
  return {};
}

Result<json::Value> boot_patch(const json::Value& system, const BootOrder& order) {
  const auto allowed = allowed_at(system, {"Boot", "BootSourceOverrideTarget@Redfish.AllowableValues"});
  const std::string device(first_allowed(boot_words(order.device), allowed));
  if (device.empty())
    return fail(ErrorKind::kUnavailable,
                fmt::format("its BMC does not boot from {}, but from {}", boot_words(order.device).front(),
                            fmt::join(allowed, ", ")));
  json::Value boot = {{"BootSourceOverrideTarget", device},
                      {"BootSourceOverrideEnabled", order.device == BootDevice::kNone ? "Disabled"
                                                    : order.once                      ? "Once"
                                                                                      : "Continuous"}};
  if (order.device != BootDevice::kNone && at(system, {"Boot", "BootSourceOverrideMode"}) != nullptr)
    boot["BootSourceOverrideMode"] = order.legacy ? "Legacy" : "UEFI";
  return json::Value{{"Boot", std::move(boot)}};
}

bool holds_boot(const json::Value& document, const json::Value& patch) {
  const auto is_so = [&](const char* key) {
    return text_at(document, {"Boot", key}) == text_at(patch, {"Boot", key});
  };
  return is_so("BootSourceOverrideEnabled") &&
         (text_at(patch, {"Boot", "BootSourceOverrideEnabled"}) == "Disabled" ||
          is_so("BootSourceOverrideTarget"));
}

std::string_view first_allowed(const std::vector<std::string_view>& words,
                               const std::vector<std::string>& allowed) {
  if (allowed.empty()) return words.front();
  for (const std::string_view word : words)
    if (std::ranges::find(allowed, word) != allowed.end()) return word;
  return {};
}

void add_sensors(const json::Value& document, std::vector<BmcSensor>& sensors) {
  const std::string kind = text_at(document, {"@odata.type"});
  if (kind.starts_with("#Thermal.")) {
    add_all(document, "Temperatures", {"Temperature", "ReadingCelsius", "C"}, sensors);
    add_all(document, "Fans", {"Fan", "Reading", ""}, sensors);
  } else if (kind.starts_with("#Power.")) {
    add_all(document, "Voltages", {"Voltage", "ReadingVolts", "V"}, sensors);
    add_all(document, "PowerSupplies",
            {"Power Supply", "PowerInputWatts", "W", nullptr, "LastPowerOutputWatts"}, sensors);
    add_all(document, "PowerControl", {"Power", "PowerConsumedWatts", "W"}, sensors);
  } else if (kind.starts_with("#Sensor.")) {
    const std::string type = type_of_sensor(document);
    add_one(document, {type, "Reading", ""}, name_of(document), sensors);
  } else if (kind.starts_with("#PowerSupply.")) {
    add_one(document, {"Power Supply", "PowerInputWatts", "W"}, name_of(document), sensors);
  } else if (kind.starts_with("#Fan.")) {
    add_one(document, {"Fan", "Reading", "%", "SpeedPercent"}, name_of(document), sensors);
  } else if (kind.starts_with("#ThermalMetrics.")) {
    add_all(document, "TemperatureReadingsCelsius", {"Temperature", "Reading", "C"}, sensors);
  }
}

void add_others(std::vector<BmcSensor> others, const std::vector<std::string>& places, std::size_t from,
                std::vector<BmcSensor>& sensors) {
  const std::size_t end = sensors.size();
  std::vector<bool> met(end);
  const auto is_same = [&](const BmcSensor& older, const BmcSensor& other) {
    const bool type = older.type == other.type || other.type == "Sensor";
    if (!type || !older.name.starts_with(other.name)) return false;
    const std::string_view rest = std::string_view(older.name).substr(other.name.size());
    return rest.empty() ||
           (rest.starts_with(' ') && older.units == other.units && older.reading == other.reading);
  };
  std::vector<BmcSensor> added;
  std::vector<std::string> places_of_added;
  for (std::size_t i = 0; i < others.size(); ++i) {
    std::size_t at = std::min(from, end);
    while (at < end && (met[at] || !is_same(sensors[at], others[i]))) ++at;
    if (at < end) {
      met[at] = true;
    } else if (end + added.size() < kMaxBmcSensors) {
      added.push_back(std::move(others[i]));
      places_of_added.push_back(i < places.size() ? places[i] : "");
    }
  }
  tell_apart(places_of_added, added);
  sensors.insert(sensors.end(), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
}

void tell_apart(const std::vector<std::string>& places, std::vector<BmcSensor>& sensors) {
  using Key = std::tuple<std::string, std::string, std::string>;
  const auto key_of = [](const BmcSensor& it) { return Key{it.name, it.type, it.units}; };
  const std::size_t count = std::min(places.size(), sensors.size());
  std::map<Key, std::set<std::string>> held;
  for (std::size_t i = 0; i < count; ++i) held[key_of(sensors[i])].insert(places[i]);
  for (std::size_t i = 0; i < count; ++i)
    if (held[key_of(sensors[i])].size() > 1 && !places[i].empty())
      sensors[i].name = shown(fmt::format("{}: {}", last_of_path(places[i]), sensors[i].name));
}

std::optional<BmcEvent> event_of(const json::Value& entry) {
  BmcEvent event;
  event.event = text_at(entry, {"Message"});
  if (event.event.empty()) event.event = text_at(entry, {"Name"});
  if (event.event.empty()) return std::nullopt;
  event.id = parse_number<std::uint32_t>(text_at(entry, {"Id"})).value_or(0);
  const std::string created_text = text_at(entry, {"Created"});
  if (is_local_time(created_text)) {
    event.time = created_text;
  } else if (const auto created = moment_of(created_text)) {
    event.time = utc_text(*created).substr(0, 19);
    if (event.time.size() == 19)
      event.time[10] = ' ';
    else
      event.time.clear();  // before 1970
  }
  event.severity = severity_of(text_at(entry, {"Severity"}));
  if (event.severity == BmcSeverity::kUnknown)
    event.severity = severity_of(text_at(entry, {"MessageSeverity"}));
  if (event.severity == BmcSeverity::kUnknown)
    event.severity = severity_of_message(event.event, member_text_at(entry, "EntryCode"));
  event.type = member_text_at(entry, "SensorType");
  if (event.type.empty() && has_any(lower(event.event), {"ecc", "dimm"})) event.type = "Memory";
  const std::string origin = link_at(entry, {"Links", "OriginOfCondition"}).value_or("");
  if (event.type.empty() && origin.find("/Memory/") != std::string::npos) event.type = "Memory";
  if (!origin.empty()) event.sensor = shown(last_of_path(origin));
  if (event.type.empty()) event.type = text_at(entry, {"EntryType"});
  return event;
}

BmcLog log_of(const json::Value& log_service, std::size_t entries) {
  BmcLog log;
  log.entries = static_cast<int>(std::min<std::size_t>(entries, 1'000'000));
  log.wraps = text_at(log_service, {"OverWritePolicy"}) == "WrapsWhenFull";
  const auto most = number_at(log_service, {"MaxNumberOfRecords"});
  if (most && *most >= 1) log.percent_used = static_cast<int>(std::min(100., 100. * *log.entries / *most));
  return log;
}

bool is_sel(const json::Value& log_service) {
  return text_at(log_service, {"LogEntryType"}) == "SEL" || lower(text_at(log_service, {"Id"})) == "sel";
}

int likeness_to_event_log(const json::Value& log_service) {
  if (truth_at(log_service, {"ServiceEnabled"}) == false) return 0;
  const std::string id = lower(text_at(log_service, {"Id"}));
  if (is_sel(log_service)) return 4;
  // HPE's Integrated Management Log, OpenBMC's EventLog, Supermicro's and the mockups' Log1.
  if (id == "iml" || id == "eventlog") return 3;
  if (id.starts_with("log")) return 2;
  // Dumps, traces of the POST and journals are no event logs.
  for (const std::string_view other : {"dump", "postcode", "journal", "crash", "audit", "lclog", "telemetry"})
    if (id.find(other) != std::string::npos) return 0;
  return 1;
}

std::optional<double> clock_of(const json::Value& manager) {
  const std::string text = text_at(manager, {"DateTime"});
  // A clock that was never set; the year 0 has no Unix time.
  if (text.starts_with("0000-") || text.starts_with("0001-")) return 0;
  return moment_of(text);
}

std::optional<SerialOverLan> serial_of(const json::Value& manager, const json::Value& system,
                                       const json::Value& interface) {
  // The manager's console and, since ComputerSystem 1.13, the system's by each protocol. A manager whose console
  // is off and has no way to connect describes none; whether serial-over-LAN is on is not known then (iDRAC).
  std::optional<bool> enabled = truth_at(manager, {"SerialConsole", "ServiceEnabled"});
  const json::Value* ways = at(manager, {"SerialConsole", "ConnectTypesSupported"});
  if (enabled == false && ways != nullptr && ways->is_array() && ways->empty()) enabled.reset();
  for (const char* protocol : {"IPMI", "SSH", "Telnet"})
    if (const auto by_it = truth_at(system, {"SerialConsole", protocol, "ServiceEnabled"}))
      enabled = enabled.value_or(false) || *by_it;
  if (!enabled) return std::nullopt;
  SerialOverLan serial{.enabled = *enabled};
  serial.rate = parse_number<int>(text_at(interface, {"BitRate"}));
  if (const auto rate = number_at(interface, {"BitRate"}); rate && *rate > 0 && *rate < 1e9)
    serial.rate = static_cast<int>(*rate);
  return serial;
}

int likeness_to_bmc(const json::Value& manager, const std::string& system) {
  for (const json::Value* server : elements_at(manager, {"Links", "ManagerForServers"}))
    if (const auto link = link_at(*server, {}); link && !system.empty() && is_same_path(*link, system))
      return 4;
  const std::string type = text_at(manager, {"ManagerType"});
  if (type == "BMC") return 3;
  if (type == "ManagementController" || type == "EnclosureManager") return 2;
  return type.empty() ? 1 : 0;
}

bool is_virtual_cd(const json::Value& media) {
  const auto types = allowed_at(media, {"MediaTypes"});
  return std::ranges::any_of(types, [](const std::string& type) {
    return has_any(lower(type), {"cd", "dvd"});
  });
}

std::optional<std::string> password_account(const json::Value& refusal) {
  for (const json::Value* message : elements_at(refusal, {"error", "@Message.ExtendedInfo"})) {
    if (text_at(*message, {"MessageId"}).find("PasswordChangeRequired") == std::string::npos) continue;
    const auto arguments = elements_at(*message, {"MessageArgs"});
    const bool named = !arguments.empty() && arguments.front()->is_string();
    return named ? sound_path(arguments.front()->get_ref<const std::string&>()).value_or("") : "";
  }
  return std::nullopt;
}

TaskProgress progress_of(const json::Value& task) {
  // "JobState" is that of Dell's jobs.
  std::string state = text_at(task, {"TaskState"});
  if (state.empty()) state = text_at(task, {"JobState"});
  TaskProgress progress{.state = state};
  if (const auto percent = number_at(task, {"PercentComplete"}))
    progress.state += fmt::format(", {:.0f} %", *percent);
  const auto messages = elements_at(task, {"Messages"});
  if (!messages.empty()) progress.message = text_at(*messages.back(), {"Message"});
  if (progress.message.empty()) progress.message = text_at(task, {"Message"});
  const bool sick = text_at(task, {"TaskStatus"}) == "Critical";
  progress.failed =
      sick || has_any(state, {"Exception", "Killed", "Cancelled", "Interrupted", "Failed", "WithErrors"});
  progress.ended = progress.failed || state.empty() || state.starts_with("Completed");
  return progress;
}

Miss why_refused(int status, std::string_view body) {
  if (status == 401) return {Missing::kDenied, "its BMC refuses user or password"};
  std::string said;
  if (const auto document = json::parse(body)) {
    const auto more = elements_at(*document, {"error", "@Message.ExtendedInfo"});
    if (!more.empty()) said = text_at(*more.front(), {"Message"});
    if (said.empty()) said = text_at(*document, {"error", "message"});
    if (password_account(*document))
      return {Missing::kDenied,
              "its BMC demands another password before anything else: `railbed bmc set-password`"};
  }
  if (status == 403) return {Missing::kDenied, "its BMC lets this user do less than administrators may do"};
  if (status == 503)
    return {Missing::kTimeout, "its BMC is busy (HTTP 503)" + (said.empty() ? "" : ": " + said)};
  const Missing missing =
      status == 404 || status == 405 || status == 501 ? Missing::kUnsupported : Missing::kGarbled;
  const std::string words = said.empty() ? "" : ": " + said;
  if (status >= 300 && status < 400)
    return {Missing::kGarbled,
            fmt::format("its BMC sends to another place (HTTP {}), which is not followed", status)};
  return {missing, fmt::format("its BMC refuses (HTTP {}){}", status, words)};
}

}  // namespace railbed::redfish
