// What SMASH CLP prints (DMTF DSP0214, "Server Management Command Line Protocol"), as data, and what OpenSSH
// says where no session comes about. Everything may come from a BMC that lies: any text leads to data or to
// nothing, and no text is longer than kMaxBmcText.
//
// The standard leaves much to makers. What is known of their words:
//  * ATEN and Insyde, in Supermicro's boards: prompt "->", sections "Targets :", no status block;
//  fence-agents'
//    fence_ipmi_ssh reads PowerState of /system1/pwrmgtsvc1 (1 is on) and sends `stop -force`.
//  * HPE iLO ("iLO scripting and command line guide"): prompt "</>hpiLO->", status blocks, `enabledstate` of
//    /system1, sensors as /system1/sensorN, /system1/fanN; fence_ilo_ssh.
//  * Dell (DRAC 5 and iDRAC 6 user's guides, "SM-CLP command line interface"): prompt "/admin1->", the system
//    is /admin1/system1; newer ones greet with racadm's prompt, which is no SMASH CLP.
//  * American Megatrends, in Intel's RMM 3 ("user guide", 8.3): CurrentPowerStatus of system1, "ON" or "OFF".
// Numbers are those of DMTF's CIM schema: CIM_AssociatedPowerManagementService.PowerState,
// CIM_EnabledLogicalElement.EnabledState, CIM_ManagedSystemElement.HealthState and OperationalStatus,
// CIM_Sensor.SensorType, CIM_NumericSensor.BaseUnits and UnitModifier.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/reading.h"
#include "base/shell.h"
#include "facts/bmc.h"

namespace railbed {

inline constexpr std::size_t kMaxClpEntries = 1024;  // of a section of one answer
inline constexpr std::size_t kMaxClpSensors = 512;

// What one command was answered with.
struct ClpAnswer {
  std::vector<std::string> targets;  // names below it, that may stand in a command again
  std::vector<std::pair<std::string, std::string>> properties;
  std::vector<std::string> verbs;
  std::optional<int> status;  // 0 completed, 1 goes on; none: this BMC prints no status
  std::string error;          // status_tag and error_tag in words
  std::string said;           // what stands in no section
};

// Without what a terminal would obey: colours, carriage returns, backspaces; lines stay lines.
std::string plain_lines(std::string_view raw);
// The prompt that a text ends with: "->", "/admin1->", "</>hpiLO->".
std::optional<std::string> find_clp_prompt(std::string_view raw);
// The last line where it is not ended and could be the prompt of something else; empty: there is none.
std::string last_clp_line(std::string_view raw);

ClpAnswer parse_clp(std::string_view raw, std::string_view command);
// Why it did not do what it was told; nothing where it did, or only showed something.
std::optional<Miss> clp_refusal(const ClpAnswer& answer);
// It did not understand the command, and so did nothing.
bool is_unknown_to_clp(const ClpAnswer& answer);
// The value of a property, by whatever case its name has; empty: none.
std::string_view clp_property(const ClpAnswer& answer, std::string_view name);
bool has_clp_verb(const ClpAnswer& answer, std::string_view verb);

// Of a power management service: its EnabledState would be its own.
std::optional<PowerState> clp_service_power(const ClpAnswer& answer);
std::optional<PowerState> clp_system_power(const ClpAnswer& answer);
// Which of a system's targets are sensors, and which are folders of them.
bool is_clp_sensor(std::string_view target);
bool is_clp_sensor_folder(std::string_view target);
BmcSensor parse_clp_sensor(const ClpAnswer& answer, std::string_view target);

// Why ssh gave no session. `asked`: it had asked for the password, and got it. `login` is what a person would
// type after "ssh".
Miss why_no_session(std::string_view said, bool asked, const ShellCommand& login);
// Those of `wanted` that are in a list of `ssh -Q`, as a value of ssh's options: "+one,two"; empty: none.
std::string known_algorithms(std::string_view list, const std::vector<std::string_view>& wanted);

}  // namespace railbed
