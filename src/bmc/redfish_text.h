// What a Redfish service answers, as data (DMTF DSP0266, schemas DSP0268). Everything in it may come from a
// BMC that lies: any document leads to data or to nothing. Makers differ in what they leave out, so a member
// of another type than the schema's counts as one that is not there.
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

inline constexpr std::size_t kMaxMembers = 256;  // of a collection that are looked at

// Where a document names another one or an action: "/redfish/v1/Systems/1", without a fragment. Nothing: it
// is no path of a Redfish service.
std::optional<std::string> sound_path(std::string_view text);
// {"Systems": {"@odata.id": "/redfish/v1/Systems"}} at {"Systems"} → "/redfish/v1/Systems".
std::optional<std::string> link_at(const json::Value& document, std::initializer_list<const char*> keys);
// {"Actions": {"#NAME": {"target": "/redfish/…"}}}.
std::optional<std::string> action_of(const json::Value& document, const char* name);
// Links of a collection's members, and "Members@odata.nextLink".
std::vector<std::string> members_of(const json::Value& collection);
std::optional<std::string> next_page(const json::Value& collection);
// Of members that stand in the collection whole, as $expand and logs give them; empty: they are links alone.
std::vector<const json::Value*> whole_members(const json::Value& collection);
// Whether the service root says that it expands collections by "?$expand=.".
bool expands(const json::Value& root);

std::string text_at(const json::Value& document, std::initializer_list<const char*> keys);
std::optional<bool> truth_at(const json::Value& document, std::initializer_list<const char*> keys);
// What a property or a parameter may be; empty: the service does not say.
std::vector<std::string> allowed_at(const json::Value& document, std::initializer_list<const char*> keys);

std::optional<PowerState> power_of(const json::Value& system);
std::string reset_word(PowerAction action);
std::string boot_word(BootDevice device);
// The new "Boot" of a ComputerSystem; an error names what its firmware offers instead.
Result<json::Value> boot_patch(const json::Value& system, const BootOrder& order);

// Of the documents Thermal, Power, Sensor and PowerSupply, whichever this is; what is not there (an empty
// slot) is left out.
void add_sensors(const json::Value& document, std::vector<BmcSensor>& sensors);
std::optional<BmcEvent> event_of(const json::Value& entry);
// Which of a machine's logs is its event log: the higher, the likelier; 0: it is none.
int likeness_to_event_log(const json::Value& log_service);

// "2015-03-13T04:14:33+06:00" → seconds since 1970.
std::optional<double> clock_of(const json::Value& manager);
SerialOverLan serial_of(const json::Value& manager, const json::Value& interface);
bool is_virtual_cd(const json::Value& media);

// Why it refused, by its status and the first sentence of its own (DSP0266, 8.6 "Error responses").
Miss why_refused(int status, std::string_view body);

}  // namespace railbed::redfish
