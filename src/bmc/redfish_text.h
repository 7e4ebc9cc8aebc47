// Parsers of Redfish documents (DMTF DSP0266, schemas DSP0268). The input may come from a faulty or hostile
// BMC: every document results in data or in nothing. Vendors differ in what they leave out, so a member whose
// type is not the schema's counts as missing.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/reading.h"
#include "bmc/bmc.h"
#include "facts/bmc.h"

namespace railbed::redfish {

inline constexpr std::size_t kMaxMembers = 256;  // members of a collection that are read

// Returns the path of another document or of an action, "/redfish/v1/Systems/1", without its fragment; none
// if it is no path of a Redfish service.
std::optional<std::string> sound_path(std::string_view text);
// Returns the same of a text that may be a whole address, "https://10.0.0.1/redfish/v1/TaskService/Tasks/7", as the
// header Location is. The host is dropped: no other one is ever asked.
std::optional<std::string> path_of(std::string_view text);
// Returns the last word of a path, whether or not a slash ends it.
std::string last_of_path(std::string path);
// True for paths that differ in a slash at their end at most.
bool is_same_path(std::string_view one, std::string_view other);
// Returns the link at `keys`, of an array the first: {"Systems": {"@odata.id": "/redfish/v1/Systems"}} at
// {"Systems"} → "/redfish/v1/Systems".
std::optional<std::string> link_at(const json::Value& document, std::initializer_list<const char*> keys);
// Returns the target of an action: {"Actions": {"#NAME": {"target": "/redfish/…"}}}.
std::optional<std::string> action_of(const json::Value& document, const char* name);
// Return the links of a collection's members, and the link of its next page, "Members@odata.nextLink".
std::vector<std::string> members_of(const json::Value& collection);
std::optional<std::string> next_page(const json::Value& collection);
// Returns the number of a collection's members, as it states or as it holds them, whichever is more.
std::size_t count_of(const json::Value& collection);
// Returns the members that the collection holds in full, as with $expand and in logs; empty if it holds links
// alone. The pointers point into `collection`.
std::vector<const json::Value*> whole_members(const json::Value& collection);
// True if the service root announces that it expands collections by "?$expand=.".
bool expands(const json::Value& root);

// Return the value at `keys`; empty or none if it is missing or of another type. Texts are trimmed, printable
// and at most kMaxBmcText long.
std::string text_at(const json::Value& document, std::initializer_list<const char*> keys);
std::optional<bool> truth_at(const json::Value& document, std::initializer_list<const char*> keys);
// Returns the values that a property or a parameter may have; empty if the service does not list them.
std::vector<std::string> allowed_at(const json::Value& document, std::initializer_list<const char*> keys);

// Returns the allowed values of a parameter in an ActionInfo.
std::vector<std::string> parameter_values(const json::Value& action_info, std::string_view name);

// Returns the machine's power. A system that is powering off or paused counts as on, one that is powering on
// as off.
std::optional<PowerState> power_of(const json::Value& system);
// True unless the document states that it is something else: DGX list a log service among their systems.
bool is_system(const json::Value& document);
// True if the source of the next boot can be overridden.
bool overrides_boot(const json::Value& system);
// True for two machines of one model, stated or not, which can both be switched: several nodes behind one BMC.
bool is_like(const json::Value& one, const json::Value& other);
// True if the system's host name, name or id is this one, whatever the case and the domain.
bool is_named(const json::Value& system, std::string_view name);
// Return the values of ResetType and of BootSourceOverrideTarget that mean the same, the usual one first.
std::vector<std::string_view> reset_words(PowerAction action);
std::vector<std::string_view> boot_words(BootDevice device);
// Returns the first of `words` that the service allows; empty if it allows none. An empty list allows all.
std::string_view first_allowed(const std::vector<std::string_view>& words,
                               const std::vector<std::string>& allowed);
// Returns the new "Boot" of a ComputerSystem. Fails if its firmware does not offer the device; the error
// names the devices that it offers.
Result<json::Value> boot_patch(const json::Value& system, const BootOrder& order);
// True if the document, a system or its pending settings, has the boot order of the patch.
bool holds_boot(const json::Value& document, const json::Value& patch);

// Adds the sensors of a document Thermal, Power, Sensor, PowerSupply, Fan or ThermalMetrics. Absent and disabled ones (an empty
// slot) are left out.
void add_sensors(const json::Value& document, std::vector<BmcSensor>& sensors);
// Adds sensors with a document each, `places`, which may be there already, at `from` and after it, by a name that is the
// same or longer by a word.
void add_others(std::vector<BmcSensor> others, const std::vector<std::string>& places, std::size_t from,
                std::vector<BmcSensor>& sensors);
// Puts the place (its last word) before the name of each sensor whose like, by name, type and units, is at another place,
// too. `places`: each sensor's.
void tell_apart(const std::vector<std::string>& places, std::vector<BmcSensor>& sensors);
// Returns the event of a log entry. An entry that states no severity is judged by its message and direction.
std::optional<BmcEvent> event_of(const json::Value& entry);
// Returns how full a log service is that holds so many entries. A service without a size has no percentage.
BmcLog log_of(const json::Value& log_service, std::size_t entries);
// Rates how likely a log service is the machine's event log, from 0 (it is not) to 4.
int likeness_to_event_log(const json::Value& log_service);
// True if the service states that it is the System Event Log of IPMI.
bool is_sel(const json::Value& log_service);

// Returns the time of the BMC's clock, "2015-03-13T04:14:33+06:00", in seconds since 1970; 0 if it was never set.
std::optional<double> clock_of(const json::Value& manager);
// Returns the serial console of the manager or of the system; nullopt if neither states whether it is on.
std::optional<SerialOverLan> serial_of(const json::Value& manager, const json::Value& system,
                                       const json::Value& interface);
// Rates how likely a manager is the BMC of the system at this path (empty if there is none), from 0 to 4.
int likeness_to_bmc(const json::Value& manager, const std::string& system);
bool is_virtual_cd(const json::Value& media);

// Returns the path of the account whose password has to be changed before anything else, as a refusal demands; empty
// if it names none; nullopt if the refusal has another reason.
std::optional<std::string> password_account(const json::Value& refusal);

// The state of a task (DSP0266, "Asynchronous operations") or of a job.
struct TaskProgress {
  std::string state = {};    // "Running, 40 %"
  std::string message = {};  // its latest message
  bool ended = false;
  bool failed = false;
};
TaskProgress progress_of(const json::Value& task);

// Returns why a request was refused, by its status and the first message in the response (DSP0266, 8.6 "Error
// responses").
Miss why_refused(int status, std::string_view body);

}  // namespace railbed::redfish
