// What each tool prints, put into a report's tree where the collectors look. Each takes text that may be
// anybody's: what does not look as the tool prints it is passed over.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/support/outputs.h"
#include "host/support/report_tree.h"

namespace railbed {

// "00000000:1B:00.0", "1b:00.0" → "0000:1b:00.0"; empty where it is no PCI address.
std::string full_pci_address(std::string_view text);

// lspci -v, -vv, -vvv with or without -nn: identity, driver, NUMA node, link, Device Control, ACS, and what
// stands above. `all`: it was asked of the whole machine.
void add_lspci(std::string_view text, bool all, ReportTree& report);
// nvidia-smi -q, and of `nvidia-smi nvlink -s` (it may be empty) the links.
void add_nvidia_smi(std::string_view query, std::string_view links, ReportTree& report);
// ip [-d] address, as text or as JSON; `details`: with -d.
void add_ip_address(std::string_view text, bool details, ReportTree& report);
void add_ip_route(std::string_view text, ReportTree& report);
// ethtool IF, ethtool -i IF
void add_ethtool(const std::string& interface, std::string_view text, ReportTree& report);
void add_ethtool_driver(const std::string& interface, std::string_view text, ReportTree& report);
// After interfaces: which of them a port carries is told by its GIDs.
void add_ibstatus(std::string_view text, ReportTree& report);
void add_ibstat(std::string_view text, ReportTree& report);
void add_ibv_devinfo(std::string_view text, ReportTree& report);
// dmesg with its stamps. `boot`: Unix seconds. `ends`: when it was read.
void add_dmesg(std::string_view text, double boot, double ends, ReportTree& report);
// The stamp of the last line, in seconds since boot; 0 where there is none.
double last_stamp(std::string_view dmesg);
// "Mon Jan 19 12:00:00 UTC 2026" in Unix seconds; nothing in any other time zone, whose name says too little.
std::optional<double> date_in(std::string_view text);
// How long the machine had been up, in seconds, as `uptime` says it: to the minute.
std::optional<double> uptime_in(std::string_view text);
void add_sysctl(std::string_view text, ReportTree& report);
void add_uname(std::string_view text, ReportTree& report);
void add_lsmod(std::string_view text, ReportTree& report);
void add_lscpu(std::string_view text, ReportTree& report);
void add_timedatectl(std::string_view text, ReportTree& report);

}  // namespace railbed
