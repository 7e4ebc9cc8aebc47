// What a BMC answers reaches us as the text of programs and as documents of Redfish: any bytes are data or
// nothing, and none of them a terminal.
//
// Rooms: bmc inventory facts host nvidia os base
#include <cstdint>
#include <string>

#include "base/text.h"
#include "bmc/console.h"
#include "bmc/freeipmi_text.h"
#include "bmc/ipmitool_text.h"
#include "bmc/login.h"
#include "bmc/redfish_text.h"
#include "bmc/smash_text.h"
#include "fuzz/require.h"

namespace {

using namespace railbed;

void require_shown(const std::string& text) {
  require_printable(text);
  // Each character that is replaced takes three bytes instead of one.
  require(text.size() <= 3 * kMaxBmcText + 64);
}

void sensors(std::string_view text) {
  const auto all = parse_sensors(text);
  require(all.size() <= kMaxBmcSensors);
  for (const BmcSensor& sensor : all)
    for (const std::string* said : {&sensor.name, &sensor.type, &sensor.units, &sensor.state})
      require_shown(*said);
}

void events(std::string_view text) {
  const auto all = parse_events(text);
  require(all.size() <= kMaxBmcEvents);
  for (const BmcEvent& event : all)
    for (const std::string* said : {&event.time, &event.sensor, &event.type, &event.event})
      require_shown(*said);
}

void ipmitool(std::string_view text) {
  if (text.empty()) return;  // no output
  const auto facts = parse_ipmitool({.sensor = text,
                                     .sdr = text,
                                     .events = text,
                                     .log = text,
                                     .inventory = text,
                                     .lan = text,
                                     .controller = text,
                                     .chassis = text});
  require(facts.has_value());
  if (facts->sensors.ok()) {
    require(facts->sensors->size() <= kMaxBmcSensors);
    for (const BmcSensor& sensor : *facts->sensors)
      for (const std::string* said : {&sensor.name, &sensor.units, &sensor.state}) require_shown(*said);
  }
  if (facts->events.ok()) {
    require(facts->events->size() <= kMaxBmcEvents);
    for (const BmcEvent& event : *facts->events)
      for (const std::string* said : {&event.time, &event.sensor, &event.type, &event.event})
        require_shown(*said);
  }
  require_shown(facts->address);
}

void logins(std::string_view text) {
  Cluster cluster;
  cluster.file = "cluster.yaml";
  cluster.bmc.user = "admin";
  for (const char* name : {"a", "b1", "b2"}) cluster.nodes.emplace_back().name = name;
  const auto read = BmcLogins::parse(text, "passwords", cluster);
  if (!read) return require_printable(read.error().text);
  for (const Node& node : cluster.nodes)
    if (const BmcLogin* login = read->find(node.name)) {
      require(!login->user.empty() && login->user.size() <= kMaxBmcUser);
      require(!login->password.empty() && login->password.size() <= kMaxBmcPassword);
      require(in_configuration(login->password).find('\n') == std::string::npos);
    }
}

void certificates(std::string_view text) {
  const ShownCertificate shown = parse_certificate(text);
  require(shown.error.empty() == is_key_pin(shown.key));
  require_shown(shown.subject);
  require_shown(shown.until);
  Cluster cluster;
  cluster.nodes.emplace_back().name = "a";
  if (const auto read = BmcCertificates::parse(text, "keys", cluster); !read)
    require_printable(read.error().text);
}

void document(std::string_view text) {
  require_shown(redfish::why_refused(400, text).why.substr(0, kMaxBmcText));
  const auto read = json::parse(text);
  if (!read) return;
  std::vector<BmcSensor> all;
  redfish::add_sensors(*read, all);
  require(all.size() <= kMaxBmcSensors);
  for (const BmcSensor& sensor : all) {
    require_shown(sensor.name);
    require_shown(sensor.state);
  }
  if (const auto event = redfish::event_of(*read)) {
    require_shown(event->event);
    require(event->time.empty() || event->time.size() == 19);
  }
  for (const std::string& link : redfish::members_of(*read)) require(link.starts_with("/redfish/"));
  if (const auto next = redfish::next_page(*read)) require(next->find_first_of(" \r\n") == std::string::npos);
  (void)redfish::whole_members(*read);
  (void)redfish::power_of(*read);
  (void)redfish::clock_of(*read);
  (void)redfish::serial_of(*read, *read, *read);
  (void)redfish::count_of(*read);
  (void)redfish::parameter_values(*read, "ResetType");
  if (const auto account = redfish::password_account(*read); account && !account->empty())
    require(account->starts_with("/redfish/"));
  require_shown(redfish::progress_of(*read).message);
  (void)redfish::holds_boot(*read, *read);
  (void)redfish::likeness_to_event_log(*read);
  (void)redfish::boot_patch(*read, {BootDevice::kPxe, true, false});
}

void smash(std::string_view text) {
  const ClpAnswer answer = parse_clp(text, "show /system1");
  require(answer.targets.size() <= kMaxClpEntries && answer.properties.size() <= kMaxClpEntries &&
          answer.verbs.size() <= kMaxClpEntries);
  // What stands in a command again is one word.
  for (const std::string& target : answer.targets) require(is_plain_word(target, kMaxBmcText));
  for (const auto& [key, value] : answer.properties) {
    require_shown(key);
    require_shown(value);
  }
  require_shown(answer.said);
  require_shown(answer.error);
  if (const auto refusal = clp_refusal(answer)) require_shown(refusal->why);
  (void)clp_service_power(answer);
  (void)clp_system_power(answer);
  const BmcSensor sensor = parse_clp_sensor(answer, "sensor1");
  for (const std::string* said : {&sensor.name, &sensor.type, &sensor.units, &sensor.state})
    require_shown(*said);
  for (const char c : plain_lines(text)) require(c == '\n' || static_cast<unsigned char>(c) >= ' ');
  if (const auto prompt = find_clp_prompt(text)) require(prompt->size() <= 64 && prompt->ends_with("->"));
  require_printable(why_no_session(text, true, "ssh admin@bmc").why);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  sensors(text);
  events(text);
  logins(text);
  certificates(text);
  document(text);
  smash(text);
  ipmitool(text);
  (void)parse_power(text);
  (void)parse_sel_time(text);
  (void)parse_serial(text);
  if (const auto log = parse_log(text)) require(*log->entries >= 0 && *log->free_bytes >= 0);
  (void)parse_lan(text);
  if (const auto device = parse_device(text)) require_shown(device->firmware);
  (void)find_user_section(text, "admin");
  require_shown(why_refused(text).why);
  ConsoleKeys keys;
  std::size_t typed = 0;
  for (const auto& step : keys.feed(text)) typed += step.keys.size();
  require(typed <= text.size());
  return 0;
}
