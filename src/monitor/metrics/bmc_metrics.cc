// Exports the facts of the BMC under the names of ipmi_exporter (prometheus-community/ipmi_exporter,
// docs/metrics.md and collector_ipmi.go). A sensor with a known unit belongs to the family of that unit, any
// other to the generic family. A state is 0 nominal, 1 warning, 2 critical. States and values are NaN if the
// BMC reports none.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "monitor/metrics/families.h"

namespace railbed {
namespace {

// The metric families of sensors with one unit: names of value and state, and a factor for the value.
struct SensorFamily {
  std::string_view unit;
  std::string_view type;  // of the sensor; empty if any
  std::string_view value;
  std::string_view state;
  double scale = 1;
};
constexpr std::array kFamilies = {
    SensorFamily{"C", "", "ipmi_temperature_celsius", "ipmi_temperature_state"},
    SensorFamily{"RPM", "", "ipmi_fan_speed_rpm", "ipmi_fan_speed_state"},
    SensorFamily{"%", "Fan", "ipmi_fan_speed_ratio", "ipmi_fan_speed_state", 0.01},
    SensorFamily{"V", "", "ipmi_voltage_volts", "ipmi_voltage_state"},
    SensorFamily{"A", "", "ipmi_current_amperes", "ipmi_current_state"},
    SensorFamily{"W", "", "ipmi_power_watts", "ipmi_power_state"}};

// Returns the family of the sensor's unit; null if it belongs to the generic family.
const SensorFamily* family_of(const BmcSensor& sensor) {
  const auto* found = std::ranges::find_if(kFamilies, [&](const SensorFamily& family) {
    return family.unit == sensor.units && (family.type.empty() || family.type == sensor.type);
  });
  return found == kFamilies.end() ? nullptr : found;
}

double state_of(const BmcSensor& sensor) {
  switch (sensor.severity) {
    case BmcSeverity::kNominal:
      return 0;
    case BmcSeverity::kWarning:
      return 1;
    case BmcSeverity::kCritical:
      return 2;
    case BmcSeverity::kUnknown:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double value_of(const BmcSensor& sensor, double scale = 1) {
  return sensor.reading ? *sensor.reading * scale : std::numeric_limits<double>::quiet_NaN();
}

class Sensors {
 public:
  Sensors(const std::vector<BmcSensor>& all, Exposition& out) : all_(all), out_(out) {}

  void add() {
    for (const SensorFamily& sensor_family : kFamilies)
      family(sensor_family.value, "Of sensors in this unit.", [&](const BmcSensor& sensor) {
        return family_of(sensor) == &sensor_family ? std::optional(value_of(sensor, sensor_family.scale))
                                                   : std::nullopt;
      });
    for (const std::string_view state : {"ipmi_temperature_state", "ipmi_fan_speed_state",
                                         "ipmi_voltage_state", "ipmi_current_state", "ipmi_power_state"})
      family(state, "0 nominal, 1 warning, 2 critical.", [&](const BmcSensor& sensor) {
        const SensorFamily* const own = family_of(sensor);
        return own != nullptr && own->state == state ? std::optional(state_of(sensor)) : std::nullopt;
      });
    const auto generic = [](const BmcSensor& sensor) { return family_of(sensor) == nullptr; };
    family(
        "ipmi_sensor_value", "Of sensors in any other unit, or in none.",
        [&](const BmcSensor& sensor) {
          return generic(sensor) ? std::optional(value_of(sensor)) : std::nullopt;
        },
        true);
    family(
        "ipmi_sensor_state", "0 nominal, 1 warning, 2 critical.",
        [&](const BmcSensor& sensor) {
          return generic(sensor) ? std::optional(state_of(sensor)) : std::nullopt;
        },
        true);
  }

 private:
  // Exports one family. `value` maps a sensor to an optional number; a family without samples is not
  // announced.
  template <class Value>
  void family(std::string_view name, std::string_view help, Value value, bool typed = false) {
    bool announced = false;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto found = value(all_[i]);
      if (!found) continue;
      if (!announced) out_.announce(name, "gauge", help);
      announced = true;
      sample(name, i, typed, *found);
    }
  }
  // The position in the list is the id, because a sensor may have no record of its own.
  void sample(std::string_view name, std::size_t at, bool typed, double value) {
    const BmcSensor& sensor = all_[at];
    const std::string id = std::to_string(at + 1);
    if (typed)
      out_.sample(name, {{"id", id}, {"name", sensor.name}, {"type", sensor.type}}, value);
    else
      out_.sample(name, {{"id", id}, {"name", sensor.name}}, value);
  }

  const std::vector<BmcSensor>& all_;
  Exposition& out_;
};

}  // namespace

void add_bmc(const NodeState& state, Exposition& out) {
  if (!state.bmc) return;
  const BmcFacts& bmc = *state.bmc;
  out.announce("ipmi_up", "gauge", "1 where the BMC answered this question.");
  out.sample("ipmi_up", {{"collector", "ipmi"}}, bmc.sensors.ok() ? 1 : 0);
  out.sample("ipmi_up", {{"collector", "chassis"}}, bmc.power.ok() ? 1 : 0);
  out.sample("ipmi_up", {{"collector", "sel"}}, bmc.events.ok() ? 1 : 0);
  if (bmc.power.ok())
    out.number("ipmi_chassis_power_state", "gauge", "1 where the machine is switched on.",
               *bmc.power == PowerState::kOn ? 1 : 0);
  if (bmc.events.ok())
    out.number("ipmi_sel_entries_count", "gauge", "Entries of the System Event Log.",
               static_cast<double>(bmc.events->size()));
  if (bmc.log.ok() && bmc.log->free_bytes)
    out.number("ipmi_sel_free_space_bytes", "gauge", "Room in the System Event Log; 65535 is that or more.",
               static_cast<double>(*bmc.log->free_bytes));
  if (bmc.device.ok()) {
    out.announce("ipmi_bmc_info", "gauge", "What the BMC is; always 1.");
    out.sample("ipmi_bmc_info",
               {{"firmware_revision", bmc.device->firmware}, {"manufacturer_id", bmc.device->manufacturer}}, 1);
  }
  Sensors(items(bmc.sensors), out).add();
}

}  // namespace railbed
