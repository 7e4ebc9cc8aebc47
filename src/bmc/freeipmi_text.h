// What FreeIPMI's programs print, as data. Everything in it may come from a BMC that lies: any text leads to
// data or to nothing, and no text is longer than kMaxBmcText.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.h"
#include "facts/bmc.h"

namespace railbed {

inline constexpr std::size_t kMaxBmcText = 256;
inline constexpr std::size_t kMaxBmcSensors = 4096;
inline constexpr std::size_t kMaxBmcEvents = 65536;  // record IDs have 16 bits (IPMI 2.0, 32.1)

// ipmipower --stat: "10.0.0.1: on".
std::optional<PowerState> parse_power(std::string_view text);
// bmc-info --get-device-id: lines "Firmware Revision : 3.15".
std::optional<BmcDevice> parse_device(std::string_view text);
// ipmi-sensors --comma-separated-output --no-header-output --output-sensor-state --output-sensor-thresholds:
// "2,CPU1 Temp,Temperature,Nominal,55.00,C,N/A,N/A,N/A,80.00,85.00,95.00,'OK'".
std::vector<BmcSensor> parse_sensors(std::string_view text);
// ipmi-sel --comma-separated-output --no-header-output --output-event-state:
// "4,Nov-23-2026,20:12:03,DIMM_A1,Memory,Critical,Uncorrectable memory error".
std::vector<BmcEvent> parse_events(std::string_view text);
// bmc-device --get-sel-time: "SEL Time : 11/23/2026 - 20:12:03", as seconds since 1970 were it UTC.
std::optional<double> parse_sel_time(std::string_view text);
// ipmi-config --checkout of SOL_Conf: lines "Enable_SOL Yes", "Volatile_Bit_Rate 115200".
std::optional<SerialOverLan> parse_serial(std::string_view text);
// ipmi-config --checkout of the users: the section in which a line "Username NAME" stands, as "User2".
std::optional<std::string> find_user_section(std::string_view text, std::string_view user);

// Why a program could not ask, from what it said: "password invalid", "connection timeout".
Miss why_refused(std::string_view said);
// It may have been the cipher suite that the BMC does not know.
bool may_be_the_cipher(std::string_view said);

// A value in FreeIPMI's configuration files, in quotes where it needs them.
std::string in_configuration(std::string_view value);

}  // namespace railbed
