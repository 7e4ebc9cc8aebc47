// Parsers of the output of SMASH CLP (DMTF DSP0214, "Server Management Command Line Protocol"), and of
// OpenSSH's messages if no session comes about. The input may come from a faulty or hostile BMC: every text
// results in data or in nothing, and no text in a result is longer than kMaxBmcText.
//
// The standard leaves much to makers. What is known of their words:
//  * ATEN and Insyde, in Supermicro's boards: prompt "->", sections "Targets :", no status block;
//    fence-agents' fence_ipmi_ssh reads PowerState of /system1/pwrmgtsvc1 (1 is on) and sends `stop -force`.
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

inline constexpr std::size_t kMaxClpEntries = 1024;  // in each section of a response
inline constexpr std::size_t kMaxClpSensors = 512;

// The parsed response to one command.
struct ClpAnswer {
  std::vector<std::string> targets;  // names below it, each safe to use in a command
  std::vector<std::pair<std::string, std::string>> properties;
  std::vector<std::string> verbs;
  std::optional<int> status;  // 0 completed, 1 still running; none: this BMC prints no status
  std::string error;          // status_tag and error_tag in words
  std::string said;           // text outside all sections
};

// Returns the text without what a terminal would interpret: colors, carriage returns, backspaces. Line ends
// stay.
std::string plain_lines(std::string_view raw);
// Returns the prompt at the end of a text: "->", "/admin1->", "</>hpiLO->"; none if it does not end with one.
std::optional<std::string> find_clp_prompt(std::string_view raw);
// Returns the unfinished last line, which may be the prompt of something else; empty if there is none or it
// is too long for a prompt.
std::string last_clp_line(std::string_view raw);

// Parses a response. The echo of `command` is left out.
ClpAnswer parse_clp(std::string_view raw, std::string_view command);
// Returns why the BMC did not execute the command; none if it did, or only showed something. The status
// decides; where the BMC prints none, words such as "invalid" in the text do.
std::optional<Miss> clp_refusal(const ClpAnswer& answer);
// True if the BMC did not understand the command, and so did nothing.
bool is_unknown_to_clp(const ClpAnswer& answer);
// Returns the value of a property, whatever the case of its name; empty if there is none. The view points
// into `answer`.
std::string_view clp_property(const ClpAnswer& answer, std::string_view name);
// True if the target has the verb, which is given in lower case.
bool has_clp_verb(const ClpAnswer& answer, std::string_view verb);

// Return the machine's power as a power management service or the system shows it. EnabledState counts only
// for the system: a service's would be its own.
std::optional<PowerState> clp_service_power(const ClpAnswer& answer);
std::optional<PowerState> clp_system_power(const ClpAnswer& answer);
// True if a target of the system is a sensor, or a folder of sensors.
bool is_clp_sensor(std::string_view target);
bool is_clp_sensor_folder(std::string_view target);
BmcSensor parse_clp_sensor(const ClpAnswer& answer, std::string_view target);

// Returns why ssh gave no session, from its messages. `asked`: ssh had prompted for the password and got it.
// `login` is the command with which a person can log in.
Miss why_no_session(std::string_view said, bool asked, const ShellCommand& login);
// Returns those of `wanted` that the output of `ssh -Q` lists, as a value for ssh's options: "+one,two";
// empty if it lists none.
std::string known_algorithms(std::string_view list, const std::vector<std::string_view>& wanted);

}  // namespace railbed
