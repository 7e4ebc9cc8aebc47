// Parsers of the output of FreeIPMI's programs. The input may come from a faulty or hostile BMC: every text
// results in data or in nothing, and no text in a result is longer than kMaxBmcText.
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
// ipmi-sel --info: "Number of log entries : 0", "Free space remaining : 16000 bytes", "Events dropped due to lack of space : No".
std::optional<BmcLog> parse_log(std::string_view text);
// ipmi-config --checkout of Rmcpplus_Conf_Privilege: a line "Maximum_Privilege_Cipher_Suite_Id_0 Unused" of each suite
// that the BMC has. Returns nullopt without a line of any suite.
std::optional<BmcLan> parse_lan(std::string_view text);
// bmc-device --get-sel-time: "SEL Time : 11/23/2026 - 20:12:03", in seconds since 1970, taken as UTC.
std::optional<double> parse_sel_time(std::string_view text);
// ipmi-config --checkout of SOL_Conf: lines "Enable_SOL Yes", "Volatile_Bit_Rate 115200".
std::optional<SerialOverLan> parse_serial(std::string_view text);
// Returns the section ("User2") of ipmi-config --checkout that has the line "Username NAME"; none if no
// section of a user has it.
std::optional<std::string> find_user_section(std::string_view text, std::string_view user);

// Returns why a program failed, from its message: "password invalid", "connection timeout". The text of an
// unknown message is passed on.
Miss why_refused(std::string_view said);
// True if the message may mean that the BMC does not support the cipher suite.
bool may_be_the_cipher(std::string_view said);

// Returns a value in quotes for FreeIPMI's configuration files, with backslashes before \, " and #.
std::string in_configuration(std::string_view value);

}  // namespace railbed
