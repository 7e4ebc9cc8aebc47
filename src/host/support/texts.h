// Parsers for the outputs of tools. Each puts facts into a report's tree where the collectors look. The text
// is untrusted: lines that do not have the tool's format are skipped.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/support/outputs.h"
#include "host/support/report_tree.h"

namespace railbed {

// Normalizes a PCI address: "00000000:1B:00.0", "1b:00.0" → "0000:1b:00.0". Empty if it is not a PCI address.
std::string full_pci_address(std::string_view text);

// lspci -v, -vv, -vvv, -mm or -vmm, with or without -nn: identity, driver, NUMA node, link, Device Control, ACS, and
// the bridges above. `all`: the output is of the whole machine. `tree`: the output of lspci -t for the whole machine,
// which shows these bridges as well; may be empty.
void add_lspci(std::string_view text, bool all, ReportTree& report, std::string_view tree = {});
std::size_t count_lspci(std::string_view text);  // functions in such a list
bool is_lspci_tree(std::string_view text);
// nvidia-smi -q, as text or XML (-x), or the table of nvidia-smi. `named` is the output of
// `nvidia-smi nvlink -s` with the links, of `nvidia-smi -L`, or both; may be empty.
void add_nvidia_smi(std::string_view query, std::string_view named, ReportTree& report);
// Texts of nvidia-smi topo; empty if there is none.
struct TopologyTexts {
  std::string_view ways = {};    // -m or -mp: the way between each two devices
  bool has_nvlinks = false;      // `ways` is of -m, which shows NVLinks
  std::string_view read = {};    // -p2p r
  std::string_view nvlink = {};  // -p2p n
};
bool is_nvidia_topology(std::string_view text);
// Peers of GPUs and their NUMA nodes. `addresses`: of nvidia-smi or nvidia-smi -q, since topo names GPUs by index.
void add_nvidia_topology(const TopologyTexts& texts, const std::map<int, std::string>& addresses,
                         ReportTree& report);
// Errors in any output of nvidia-smi: GPUs that are lost, NVML that fails, a driver that is not loaded. Call
// this after the copies of /proc are added.
void add_nvidia_smi_errors(std::string_view text, ReportTree& report);
// Records that the driver is not loaded if the report lists the kernel's modules without it.
void add_missing_driver(ReportTree& report);
// ip [-d] address, as text or as JSON; `details`: with -d.
void add_ip_address(std::string_view text, bool details, ReportTree& report);
void add_ip_route(std::string_view text, ReportTree& report);
// ethtool IF, ethtool -i IF. Of an interface that the report does not list, nothing is added; call these after the lists.
void add_ethtool(const std::string& interface, std::string_view text, ReportTree& report);
void add_ethtool_driver(const std::string& interface, std::string_view text, ReportTree& report);
// ethtool [-I] [--json] --show-fec IF: the text names its interface. Call this after the lists.
bool is_fec_text(std::string_view text);
void add_ethtool_fec(std::string_view text, ReportTree& report);
// Call these after the interfaces are added: a port's GIDs show which of them it carries.
void add_ibstatus(std::string_view text, ReportTree& report);
void add_ibstat(std::string_view text, ReportTree& report);
void add_ibv_devinfo(std::string_view text, ReportTree& report);
void add_rdma_link(std::string_view text, ReportTree& report);     // rdma link, with or without -j
void add_ibdev2netdev(std::string_view text, ReportTree& report);  // with or without -v
void add_show_gids(std::string_view text, ReportTree& report);
// An output of mlxlink (mstlink). `device`: that of -d, empty if unknown.
struct LinkText {
  std::string device;
  int port = 1;
  std::string_view text;
};
// Returns a text with the lines that mlxlink prints without --json in the place of each JSON document in it.
std::string mlxlink_lines(std::string_view text);
// Adds the state of each port's physical layer, its rate and its signal.
void add_mlxlink(const std::vector<LinkText>& sent, ReportTree& report);
// mlxconfig (mstconfig) and mlxfwmanager (mlxup): firmware, PSID and settings of adapters. Call this after the RDMA
// devices are added. `device`: that of -d, for an output that names none.
struct AdapterText {
  std::string device;
  std::string_view text;
};
void add_adapters(const std::vector<AdapterText>& texts, ReportTree& report);
// Returns the only adapter that such an output names; empty if it names none or several.
std::string adapter_device_in(std::string_view text);
// Returns the command of ipmitool that printed a text: "sensor", "sdr", "sdr elist", "sel list", "sel info", "fru print",
// "lan print", "mc info" or "chassis status"; empty if it is none of them. The kind is the same, but "sdr" for both sdr.
std::string_view ipmitool_command(std::string_view text);
std::string_view ipmitool_kind(std::string_view text);
struct IpmitoolOutput {
  std::string_view text;
  bool in_part = false;  // of a filter, or of a choice such as `sdr type Fan`
};
// Keeps the outputs as those of `ipmitool KIND`, and one that is a part as that of `ipmitool KIND (part)`;
// bmc/ipmitool_text.h reads them.
void add_ipmitool(const std::vector<IpmitoolOutput>& outputs, ReportTree& report);
inline constexpr std::string_view kIpmitoolPart = " (part)";
// Returns "diag", "health" or "nvlink" for what dcgmi diag (JSON or table), dcgmi health -c or dcgmi nvlink -s prints,
// "nvlink -e" or "topo" for these, of which nothing is read, and empty for other texts.
std::string_view dcgm_kind(std::string_view text);
// The results of all outputs of dcgmi together.
void add_gpu_tests(const std::vector<std::string_view>& texts, ReportTree& report);
// Returns true for what gdscheck -p prints, be it the program or its older script.
bool is_gdscheck(std::string_view text);
void add_gdscheck(std::string_view text, ReportTree& report);
// Returns the text without the lines of gdscheck's tables, which name as unsupported what a machine merely does not have.
std::string without_gdscheck_tables(std::string_view text);
// The times that a report states, in Unix seconds.
struct LogClock {
  std::optional<double> boot;
  std::optional<double> read_at;  // when the log was read
  std::optional<int> zone;        // the machine's time zone, in seconds east of UTC
};
struct LogText {
  std::string name;  // "dmesg -T"
  std::string_view text;
  bool extract = false;  // holds selected lines only
};
// The kernel's log by one or several texts in any form of dmesg, journalctl and syslog. A time that the report
// does not state is left unknown, see utc_text().
void add_kernel_log(const std::vector<LogText>& texts, const LogClock& clock, ReportTree& report);
// Returns true if one of the first lines has the form of the kernel's log.
bool holds_kernel_log(std::string_view text);
// Returns the latest timestamp in seconds since boot; 0 if there is none.
double last_stamp(std::string_view dmesg);
// Parses the output of date(1) to Unix seconds. Returns nullopt if it names no zone, or one of several, and
// `zone` (seconds east of UTC) is not known.
std::optional<double> date_in(std::string_view text, std::optional<int> zone = std::nullopt);
// Returns the uptime in seconds, as `uptime` prints it: to the minute.
std::optional<double> uptime_in(std::string_view text);
void add_uptime(std::string_view text, ReportTree& report);  // as /proc/uptime, to the minute
void add_sysctl(std::string_view text, ReportTree& report);
void add_uname(std::string_view text, ReportTree& report);
void add_lsmod(std::string_view text, ReportTree& report);
void add_lscpu(std::string_view text, ReportTree& report);
void add_numactl(std::string_view text, ReportTree& report);
void add_online(ReportTree& report);  // by the report's copy of /proc/cpuinfo
void add_timedatectl(std::string_view text, ReportTree& report);

}  // namespace railbed
