// Parsers for the outputs of tools. Each puts facts into a report's tree where the collectors look. The text
// is untrusted: lines that do not have the tool's format are skipped.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/support/outputs.h"
#include "host/support/report_tree.h"

namespace railbed {

// Normalizes a PCI address: "00000000:1B:00.0", "1b:00.0" → "0000:1b:00.0". Empty if it is not a PCI address.
std::string full_pci_address(std::string_view text);

// lspci -v, -vv, -vvv with or without -nn: identity, driver, NUMA node, link, Device Control, ACS, and the
// bridges above. `all`: the output is of the whole machine.
void add_lspci(std::string_view text, bool all, ReportTree& report);
// nvidia-smi -q, and the links from `nvidia-smi nvlink -s` (may be empty).
void add_nvidia_smi(std::string_view query, std::string_view links, ReportTree& report);
// ip [-d] address, as text or as JSON; `details`: with -d.
void add_ip_address(std::string_view text, bool details, ReportTree& report);
void add_ip_route(std::string_view text, ReportTree& report);
// ethtool IF, ethtool -i IF
void add_ethtool(const std::string& interface, std::string_view text, ReportTree& report);
void add_ethtool_driver(const std::string& interface, std::string_view text, ReportTree& report);
// Call these after the interfaces are added: a port's GIDs show which of them it carries.
void add_ibstatus(std::string_view text, ReportTree& report);
void add_ibstat(std::string_view text, ReportTree& report);
void add_ibv_devinfo(std::string_view text, ReportTree& report);
// dmesg with timestamps. `boot` and `ends` (time of reading) are in Unix seconds.
void add_dmesg(std::string_view text, double boot, double ends, ReportTree& report);
// Returns the latest timestamp in seconds since boot; 0 if there is none.
double last_stamp(std::string_view dmesg);
// Parses "Mon Jan 19 12:00:00 UTC 2026" to Unix seconds. Returns nullopt for any other time zone, because its
// name is ambiguous.
std::optional<double> date_in(std::string_view text);
// Returns the uptime in seconds, as `uptime` prints it: to the minute.
std::optional<double> uptime_in(std::string_view text);
void add_sysctl(std::string_view text, ReportTree& report);
void add_uname(std::string_view text, ReportTree& report);
void add_lsmod(std::string_view text, ReportTree& report);
void add_lscpu(std::string_view text, ReportTree& report);
void add_timedatectl(std::string_view text, ReportTree& report);

}  // namespace railbed
