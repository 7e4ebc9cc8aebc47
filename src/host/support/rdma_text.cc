// Parses ibstatus, ibstat, ibv_devinfo -v, mlxlink, rdma link, ibdev2netdev and show_gids into files of
// /sys/class/infiniband and into the results of libibverbs. Only ibdev2netdev -v names the PCI function of a device. Its
// GIDs reveal it: the kernel derives the first GID of an Ethernet port from its interface's MAC address, and IPoIB's
// hardware address ends in the port's GUID. An interface whose function is known reveals it, too.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/fields.h"
#include "base/ip.h"
#include "base/json.h"
#include "base/text.h"
#include "host/calls.h"
#include "host/sent_answers.h"
#include "host/support/texts.h"

namespace railbed {
namespace {

const std::string kRdma = "/sys/class/infiniband";
const std::string kInterfaces = "/sys/class/net";
constexpr std::size_t kMostDevices = 1024;

bool is_device(std::string_view name) {
  return is_plain_word(name, 63) && name.find('/') == name.npos && !name.starts_with('.');
}

std::string port_folder(std::string_view device, std::string_view port) {
  return fmt::format("{}/{}/ports/{}", kRdma, device, port);
}

void begin_device(std::string_view device, ReportTree& report) {
  report.whole(kRdma);
  report.whole(fmt::format("{}/{}/ports", kRdma, device));
}

std::string_view unquoted(std::string_view text) {
  text = trim(text);
  while (text.starts_with('\'')) text.remove_prefix(1);
  return text.substr(0, text.find('\''));
}

// Return the kernel's numbers and words (drivers/infiniband/core/sysfs.c) for those of ibstat and
// ibv_devinfo.
std::string_view state_text(std::string_view word) {
  constexpr std::pair<std::string_view, std::string_view> kStates[] = {
      {"Down", "1: DOWN"}, {"Initializing", "2: INIT"}, {"Armed", "3: ARMED"}, {"Active", "4: ACTIVE"},
      {"DOWN", "1: DOWN"}, {"INIT", "2: INIT"},         {"ARMED", "3: ARMED"}, {"ACTIVE", "4: ACTIVE"}};
  for (const auto& [theirs, ours] : kStates)
    if (word == theirs) return ours;
  return {};
}

std::string_view physical_text(std::string_view word) {
  constexpr std::pair<std::string_view, std::string_view> kStates[] = {
      {"Sleep", "1: Sleep"},
      {"Polling", "2: Polling"},
      {"Disabled", "3: Disabled"},
      {"LinkUp", "5: LinkUp"},
      {"SLEEP", "1: Sleep"},
      {"POLLING", "2: Polling"},
      {"DISABLED", "3: Disabled"},
      {"LINK_UP", "5: LinkUp"},
      {"LinkErrorRecovery", "6: LinkErrorRecovery"},
      {"LINK_ERROR_RECOVER", "6: LinkErrorRecovery"},  // of rdma(8)
      {"LINK_ERROR_RECOVERY", "6: LinkErrorRecovery"}};
  for (const auto& [theirs, ours] : kStates)
    if (word == theirs) return ours;
  return {};
}

void line_if(std::string_view path, std::string_view value, ReportTree& report) {
  if (!value.empty()) report.line(path, value);
}

// Returns "b83f:d203:00a1:b2c3" for that text and for "0xb83fd20300a1b2c3"; empty if it is not a GUID.
std::string guid_text(std::string_view text) {
  std::string digits;
  for (const char c : lower(text.starts_with("0x") ? text.substr(2) : text))
    if (c != ':') digits += c;
  if (digits.size() != 16 || digits.find_first_not_of("0123456789abcdef") != digits.npos) return "";
  return fmt::format("{}:{}:{}:{}", digits.substr(0, 4), digits.substr(4, 4), digits.substr(8, 4),
                     digits.substr(12));
}

void add_status_line(const std::string& folder, std::string_view key, std::string_view value,
                     ReportTree& report) {
  if (key == "state") line_if(folder + "/state", value, report);
  if (key == "phys state") line_if(folder + "/phys_state", value, report);
  if (key == "rate") line_if(folder + "/rate", value, report);
  if (key == "link_layer") line_if(folder + "/link_layer", value, report);
  if (key == "base lid") line_if(folder + "/lid", value, report);
  if (key == "sm lid") line_if(folder + "/sm_lid", value, report);
}

void add_stat_port_line(const std::string& folder, std::string_view key, std::string_view value,
                        ReportTree& report) {
  const auto number = parse_number<int>(value);
  if (key == "State") line_if(folder + "/state", state_text(value), report);
  if (key == "Physical state") line_if(folder + "/phys_state", physical_text(value), report);
  if (key == "Rate" && number) report.line(folder + "/rate", fmt::format("{} Gb/sec", *number));
  if (key == "Link layer") line_if(folder + "/link_layer", value, report);
  if (key == "Base lid" && number) report.line(folder + "/lid", fmt::format("{:#x}", *number));
  if (key == "SM lid" && number) report.line(folder + "/sm_lid", fmt::format("{:#x}", *number));
}

void add_stat_device_line(const std::string& folder, std::string_view key, std::string_view value,
                          ReportTree& report) {
  if (key == "CA type") line_if(folder + "/hca_type", value, report);
  if (key == "Firmware version") line_if(folder + "/fw_ver", value, report);
  if (key == "Node GUID") line_if(folder + "/node_guid", guid_text(value), report);
  if (key == "System image GUID") line_if(folder + "/sys_image_guid", guid_text(value), report);
}

// Returns whether the interface with this hardware address has this GID: an Ethernet interface by the
// identifier of its link-local address, IPoIB by the last eight bytes.
bool is_of(const IpAddress& gid, std::string_view address) {
  std::vector<std::uint8_t> bytes;
  for (const auto part : split(address, ':')) {
    const auto byte = parse_number<std::uint8_t>(part, 16);
    if (!byte) return false;
    bytes.push_back(*byte);
  }
  std::array<std::uint8_t, 8> identifier{};
  if (bytes.size() == 6)  // EUI-64, RFC 4291 appendix A
    identifier = {static_cast<std::uint8_t>(bytes[0] ^ 2),
                  bytes[1],
                  bytes[2],
                  0xff,
                  0xfe,
                  bytes[3],
                  bytes[4],
                  bytes[5]};
  else if (bytes.size() == 20)
    std::copy(bytes.end() - 8, bytes.end(), identifier.begin());
  else
    return false;
  return std::equal(identifier.begin(), identifier.end(), gid.bytes().begin() + 8);
}

// Returns the only interface with a PCI device whose hardware address gives this GID; empty if none or
// several do.
std::string carrier_of_gid(const IpAddress& gid, const ReportTree& report) {
  std::string found;
  for (const std::string& name : report.names(kInterfaces)) {
    const std::string folder = kInterfaces + "/" + name;
    const std::string device = report.resolved(folder + "/device");
    if (full_pci_address(std::string_view(device).substr(device.rfind('/') + 1)).empty()) continue;
    if (!is_of(gid, trim(report.text(folder + "/address")))) continue;
    if (!found.empty()) return "";
    found = name;
  }
  return found;
}

// Reads "GID[  0]:		fe80:…:b2c3, RoCE v1"; a GID of InfiniBand has no type.
void add_gid(const std::string& device, const std::string& folder, std::string_view key,
             std::string_view value, ReportTree& report) {
  const auto index = parse_number<int>(trim(key.substr(4, key.find(']') - 4)));
  const auto comma = value.find(',');
  const auto gid = IpAddress::parse(trim(value.substr(0, comma)));
  if (!index || *index < 0 || *index > 4095 || !gid) return;
  report.whole(folder + "/gids");
  report.line(fmt::format("{}/gids/{}", folder, *index), trim(value.substr(0, comma)));
  const auto type = comma == std::string_view::npos ? "" : trim(value.substr(comma + 1));
  const std::string type_file = fmt::format("{}/gid_attrs/types/{}", folder, *index);
  if (type == "RoCE v2" || type == "IB/RoCE v1") report.line(type_file, type);
  if (type == "RoCE v1") report.line(type_file, "IB/RoCE v1");
  const std::string carrier = *index <= 1 ? carrier_of_gid(*gid, report) : "";
  if (carrier.empty()) return;
  report.line(fmt::format("{}/gid_attrs/ndevs/{}", folder, *index), carrier);
  report.link(kRdma + "/" + device + "/device", report.resolved(kInterfaces + "/" + carrier + "/device"));
}

// Returns 4096 for "4096 (5)".
int before_space(std::string_view value) {
  return parse_number<int>(value.substr(0, value.find(' '))).value_or(0);
}

std::string_view in_words(std::string_view value, std::string_view prefix) {
  const auto word = value.substr(0, value.find(' '));
  return word.starts_with(prefix) ? word.substr(prefix.size()) : word;
}

void add_info_port_line(const std::string& folder, std::string_view key, std::string_view value,
                        VerbsPort& port, ReportTree& report) {
  if (key == "state") line_if(folder + "/state", state_text(in_words(value, "PORT_")), report);
  if (key == "phys_state") line_if(folder + "/phys_state", physical_text(in_words(value, "")), report);
  if (key == "link_layer") line_if(folder + "/link_layer", port.link_layer = value, report);
  const auto number = parse_number<int>(value);
  if (key == "port_lid" && number) report.line(folder + "/lid", fmt::format("{:#x}", *number));
  if (key == "sm_lid" && number) report.line(folder + "/sm_lid", fmt::format("{:#x}", *number));
  if (key == "max_mtu") port.max_mtu = before_space(value);
  if (key == "active_mtu") port.active_mtu = before_space(value);
  if (key == "gid_tbl_len") port.gid_table_length = before_space(value);
}

// Gb/s of a lane, as ibv_devinfo rounds them.
constexpr std::pair<double, std::string_view> kSpeeds[] = {
    {2.5, "SDR"}, {5, "DDR"}, {10, "QDR"}, {14, "FDR"}, {25, "EDR"}, {50, "HDR"}, {100, "NDR"}, {200, "XDR"}};

// Returns the kernel's text of a rate (drivers/infiniband/core/sysfs.c) for "4X (2)" and "25.0 Gbps (32)"; empty if
// one of them is not a number.
std::string rate_text(std::string_view width, std::string_view speed) {
  const auto lanes = parse_number<int>(width.substr(0, width.find('X')));
  const auto gigabits = parse_real(speed.substr(0, speed.find(' ')));
  if (!lanes || *lanes < 1 || *lanes > 12 || !gigabits || !(*gigabits > 0) || *gigabits > 1000) return "";
  std::string_view name;
  for (const auto& [rate, word] : kSpeeds)
    if (rate == *gigabits) name = word;
  // An FDR lane carries 14.0625 Gb/s, which ibv_devinfo rounds.
  const double lane = name == "FDR" ? 14.0625 : *gigabits;
  return fmt::format("{:.6g} Gb/sec ({}X{}{})", lane * *lanes, *lanes, name.empty() ? "" : " ", name);
}

void add_info_device_line(const std::string& folder, std::string_view key, std::string_view value,
                          ReportTree& report) {
  if (key == "fw_ver") line_if(folder + "/fw_ver", value, report);
  if (key == "board_id") line_if(folder + "/board_id", value, report);
  if (key == "node_guid") line_if(folder + "/node_guid", guid_text(value), report);
  if (key == "sys_image_guid") line_if(folder + "/sys_image_guid", guid_text(value), report);
}

// One port of `rdma -j link`; the text is converted to it.
struct RdmaLink {
  std::string ifname;  // of the device
  int port = 0;
  std::string state;
  std::string physical_state;
  std::string netdev;
  std::optional<int> lid;
  std::optional<int> sm_lid;
  FIELDS(RdmaLink, ifname, port, state, physical_state, netdev, lid, sm_lid);
};

// Takes the PCI function of a device from its interface, if the report has that of the interface.
void tie_to_interface(std::string_view device, std::string_view interface, ReportTree& report) {
  if (!is_device(interface)) return;
  const std::string function = report.resolved(fmt::format("{}/{}/device", kInterfaces, interface));
  if (!full_pci_address(std::string_view(function).substr(function.rfind('/') + 1)).empty())
    report.link(fmt::format("{}/{}/device", kRdma, device), function);
}

// Reads "mlx5_0/1", after which older versions have a colon; false if it is none.
bool read_link_name(std::string_view word, RdmaLink& link) {
  if (word.ends_with(':')) word.remove_suffix(1);
  const auto slash = word.rfind('/');
  const auto port = slash == word.npos ? std::nullopt : parse_number<int>(word.substr(slash + 1));
  if (!port || *port < 1 || *port > 255 || !is_device(word.substr(0, slash))) return false;
  link.ifname = word.substr(0, slash);
  link.port = *port;
  return true;
}

// Reads "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens1", or of older versions "1/1: mlx5_0/1: state …".
std::optional<RdmaLink> rdma_link_in(std::string_view line) {
  const auto parts = words(line);
  RdmaLink link;
  if (parts.size() < 4 || !read_link_name(parts[1], link)) return std::nullopt;
  for (std::size_t i = 2; i + 1 < parts.size(); i += 2) {
    if (parts[i] == "state") link.state = parts[i + 1];
    if (parts[i] == "physical_state") link.physical_state = parts[i + 1];
    if (parts[i] == "netdev") link.netdev = parts[i + 1];
    if (parts[i] == "lid") link.lid = parse_number<int>(parts[i + 1]);
    if (parts[i] == "sm_lid") link.sm_lid = parse_number<int>(parts[i + 1]);
  }
  return link.state.empty() ? std::nullopt : std::optional(std::move(link));
}

void add_rdma_port(const RdmaLink& link, ReportTree& report) {
  if (!is_device(link.ifname) || link.port < 1 || link.port > 255) return;
  begin_device(link.ifname, report);
  const std::string folder = port_folder(link.ifname, fmt::format("{}", link.port));
  line_if(folder + "/state", state_text(link.state), report);
  line_if(folder + "/phys_state", physical_text(link.physical_state), report);
  // A port of InfiniBand alone has LIDs.
  if (link.lid) report.line(folder + "/link_layer", "InfiniBand");
  if (link.lid) report.line(folder + "/lid", fmt::format("{:#x}", *link.lid));
  if (link.sm_lid) report.line(folder + "/sm_lid", fmt::format("{:#x}", *link.sm_lid));
  tie_to_interface(link.ifname, link.netdev, report);
}

// Returns the kernel's text for the state of the port's physical layer as mlxlink prints it (mstflint,
// mlxlink_maps.cpp, _pmFsmState); empty for a state that the kernel does not have.
std::string_view mlxlink_state(std::string_view state) {
  constexpr std::pair<std::string_view, std::string_view> kStates[] = {{"Active", "5: LinkUp"},
                                                                       {"Physical LinkUp", "5: LinkUp"},
                                                                       {"Polling", "2: Polling"},
                                                                       {"Disable", "3: Disabled"},
                                                                       {"Sleep", "1: Sleep"}};
  for (const auto& [theirs, ours] : kStates)
    if (state == theirs) return ours;
  return {};
}

// Returns the kernel's text of a rate for "IB-NDR" and "4x", or for Ethernet's "100G" or "100GbE".
std::string mlxlink_rate(std::string_view speed, std::string_view width) {
  constexpr std::string_view kInfiniBand = "IB-";
  if (speed.starts_with(kInfiniBand)) {
    const auto lanes = width.substr(0, width.find('x'));
    for (const auto& [rate, name] : kSpeeds)
      if (speed.substr(kInfiniBand.size()) == name)
        return rate_text(fmt::format("{}X", lanes), fmt::format("{} Gbps", rate));
    return "";
  }
  const auto gigabits = speed.ends_with("G") || speed.ends_with("GbE")
                            ? parse_number<int>(speed.substr(0, speed.find('G')))
                            : std::nullopt;
  return gigabits && *gigabits > 0 && *gigabits <= 10'000 ? fmt::format("{} Gb/sec", *gigabits) : "";
}

// Returns the text between quotes, or the text itself: mlxlink --json prints each of its values on a line of its own,
// as "Speed" : "IB-EDR",
std::string_view json_value(std::string_view text) {
  if (!text.starts_with('"')) return text;
  return text.substr(1, text.find('"', 1) - 1);
}

// Reads "1E-8". mlxlink prints "15E-255" for none.
std::optional<double> bit_error_ratio(std::string_view text) {
  constexpr double kNone = 1e-200;
  const auto ratio = parse_real(text);
  if (!ratio || !(*ratio >= 0) || *ratio > 1) return std::nullopt;
  return *ratio < kNone ? 0 : *ratio;
}

// Reads "3183333,242074", or with --json [ "3183333", "242074" ].
std::vector<std::uint64_t> lane_counts(std::string_view text) {
  std::vector<std::uint64_t> counts;
  while (!text.empty() && counts.size() < kMostSentLanes) {
    const auto digits = text.find_first_of("0123456789");
    if (digits == text.npos) break;
    text.remove_prefix(digits);
    const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto count = parse_number<std::uint64_t>(text.substr(0, end));
    if (!count) return {};
    counts.push_back(*count);
    text.remove_prefix(end);
  }
  return counts;
}

// Reads "1.886,1.989,2.281,1.976 [-10.41..6]". Passive copper prints "0 [0..0]", or N/A: no reading.
std::optional<ModuleReading> module_reading(std::string_view key, std::string_view value) {
  constexpr std::string_view kNames[] = {"Temperature [C]", "Voltage [mV]", "Bias Current [mA]",
                                         "Rx Power Current [dBm]", "Tx Power Current [dBm]"};
  if (std::ranges::find(kNames, key) == std::end(kNames)) return std::nullopt;
  const auto bracket = value.find(" [");
  const auto dots = value.find("..");
  if (bracket == value.npos || dots == value.npos || dots < bracket || !value.ends_with(']'))
    return std::nullopt;
  const auto low = parse_real(value.substr(bracket + 2, dots - bracket - 2));
  const auto high = parse_real(value.substr(dots + 2, value.size() - dots - 3));
  if (!low || !high || *low >= *high) return std::nullopt;
  const auto unit = key.find(" [");
  ModuleReading reading{.name = std::string(key.substr(0, unit)),
                        .unit = std::string(key.substr(unit + 2, key.size() - unit - 3)),
                        .low = *low,
                        .high = *high};
  for (const auto text : split(value.substr(0, bracket), ',')) {
    const auto number = parse_real(text);
    if (!number || reading.values.size() == kMostSentLanes) return std::nullopt;
    reading.values.push_back(*number);
  }
  return reading;
}

// Adds the flags that are set: "Rx LOS [per lane] : 0,0,1,0" is "Rx LOS of lane 2".
void add_module_faults(std::string_view key, std::string_view value, std::vector<std::string>& faults) {
  constexpr std::string_view kFlags[] = {"Module FW Fault",       "DataPath FW Fault",
                                         "Tx Fault [per lane]",   "Tx LOS [per lane]",
                                         "Rx LOS [per lane]",     "Tx CDR LOL [per lane]",
                                         "Rx CDR LOL [per lane]", "Tx Adaptive EQ Fault [per lane]"};
  if (std::ranges::find(kFlags, key) == std::end(kFlags)) return;
  const auto name = key.substr(0, key.find(" ["));
  const auto lanes = lane_counts(value);
  for (std::size_t lane = 0; lane < lanes.size(); ++lane)
    if (lanes[lane] == 1)
      faults.push_back(name == key ? std::string(name) : fmt::format("{} of lane {}", name, lane));
}

struct MlxlinkText {
  SignalAnswer signal = {};  // without device and port
  std::string state = {};
  std::string width = {};
};

// Lane flags of a cable without a laser mean nothing, and neither do those of a lane without light, which is another port's.
void leave_out_dark_lanes(SignalAnswer& signal) {
  constexpr double kDark = -30;  // dBm
  if (signal.module.empty()) signal.faults.clear();
  for (const ModuleReading& reading : signal.module)
    for (std::size_t lane = 0; reading.name == "Rx Power Current" && lane < reading.values.size(); ++lane)
      if (reading.values[lane] <= kDark)
        std::erase_if(signal.faults, [&](const std::string& fault) {
          return fault.ends_with(fmt::format(" of lane {}", lane));
        });
}

// Reads both forms: "Raw Physical BER : 1E-8", and of --json "Raw Physical BER" : "1E-8", with lists in an object of
// their own, as "Raw Physical Errors Per Lane" : { "values" : [ ... ] }. The first of each name counts: what another
// program printed below has "Physical state" as well.
MlxlinkText read_mlxlink(std::string_view text) {
  MlxlinkText read;
  SignalAnswer& signal = read.signal;
  std::set<std::string_view> known;
  std::string_view physical, opcode, recommendation, list;
  for (const auto line : lines(text)) {
    const auto pair = key_value(line, ':');
    if (!pair) continue;
    const auto name = json_value(pair->first);
    const auto key = name == "values" ? list : name;
    const auto value = json_value(pair->second);
    const auto count = parse_number<std::uint64_t>(value);
    list = value.starts_with('{') ? key : "";
    if (!list.empty() || !known.insert(key).second) continue;
    if (key == "State") read.state = value;
    if (key == "Physical state") physical = value;
    if (key == "Width") read.width = value;
    if (key == "Speed") signal.speed = value.substr(0, kMostSentText);
    if (key == "FEC") signal.fec = value.substr(0, kMostSentText);
    if (key == "Status Opcode") opcode = value;
    if (key == "Recommendation") recommendation = value.substr(0, kMostSentText);
    if (key == "Time Since Last Clear [Min]") signal.minutes = parse_real(value);
    if (key == "Raw Physical BER") signal.raw_ber = bit_error_ratio(value);
    if (key == "Raw Physical Errors Per Lane") signal.raw_errors = lane_counts(pair->second);
    if (key == "Effective Physical BER") signal.effective_ber = bit_error_ratio(value);
    if (key == "Effective Physical Errors") signal.effective_errors = count;
    if (key == "Symbol BER") signal.symbol_ber = bit_error_ratio(value);
    if (key == "Symbol Errors") signal.symbol_errors = count;
    if (key == "Link Down Counter") signal.link_downs = count;
    if (auto reading = module_reading(key, value); reading && signal.module.size() < kMostSentReadings)
      signal.module.push_back(std::move(*reading));
    if (signal.faults.size() < kMostSentLanes) add_module_faults(key, pair->second, signal.faults);
  }
  signal.up = read.state.empty() ? physical == "LinkUp" : mlxlink_state(read.state) == "5: LinkUp";
  // A cable that is not of NVIDIA is named so while it carries a sound link.
  const bool sound = opcode == "0" || recommendation.starts_with("No issue") ||
                     (signal.up && recommendation.starts_with("Stamping of non-"));
  if (!recommendation.empty() && recommendation != "N/A") signal.trouble = sound ? "" : recommendation;
  leave_out_dark_lanes(signal);
  return read;
}

// Keeps the later output of a port. While the link is up it is completed from the earlier one: it may have been printed
// without counters, or without the module.
void keep_signal(SignalAnswer signal, std::vector<SignalAnswer>& signals) {
  const auto known = std::ranges::find_if(signals, [&](const SignalAnswer& other) {
    return !signal.device.empty() && other.device == signal.device && other.port == signal.port;
  });
  if (known == signals.end()) {
    if (signals.size() < kMostSentSignals) signals.push_back(std::move(signal));
    return;
  }
  SignalAnswer& before = *known;
  if (signal.up && !signal.raw_ber && !signal.effective_ber && !signal.symbol_ber) {
    signal.minutes = before.minutes;
    signal.raw_ber = before.raw_ber;
    signal.raw_errors = std::move(before.raw_errors);
    signal.effective_ber = before.effective_ber;
    signal.effective_errors = before.effective_errors;
    signal.symbol_ber = before.symbol_ber;
    signal.symbol_errors = before.symbol_errors;
    signal.link_downs = before.link_downs;
  }
  if (signal.up && signal.module.empty()) {
    signal.module = std::move(before.module);
    signal.faults = std::move(before.faults);
  }
  before = std::move(signal);
}

// Returns the RDMA device for mlxlink's -d: itself, or that of a PCI function; empty if the report has none.
std::string rdma_device(const std::string& named, const ReportTree& report) {
  const std::string address = full_pci_address(named);
  if (address.empty()) return is_device(named) && named.starts_with("mlx") ? named : "";
  for (const std::string& name : report.names(kRdma))
    if (report.resolved(kRdma + "/" + name + "/device").ends_with("/" + address)) return name;
  return "";
}

// Returns "mlx5_0" of the line "=== mlx5_0 ===" that a loop prints above an output; empty if it is no such line.
std::string adapter_named(std::string_view line) {
  constexpr std::string_view kSigns = "=-#*: \t";
  const auto begin = line.find_first_not_of(kSigns);
  if (begin == line.npos) return "";
  const auto name = line.substr(begin, line.find_last_not_of(kSigns) + 1 - begin);
  return name.starts_with("mlx") && is_device(name) ? std::string(name) : "";
}

// Returns the outputs in a text, which has several if a loop over the adapters wrote it. The line above each may name its
// adapter. A name that stands twice, or below the outputs, names none.
std::vector<LinkText> mlxlink_outputs(const LinkText& text) {
  std::vector<LinkText> found;
  std::string label;
  for (const auto line : lines(text.text)) {
    if (trim(line) != "Operational Info") {
      if (!trim(line).empty()) label = adapter_named(line);
      continue;
    }
    const auto at = static_cast<std::size_t>(line.data() - text.text.data());
    if (!found.empty())
      found.back().text = found.back().text.substr(0, found.back().text.size() - (text.text.size() - at));
    if (found.size() == kMostSentSignals) break;
    found.push_back({label, text.port, text.text.substr(at)});
    label.clear();
  }
  if (found.empty() || (found.size() == 1 && !text.device.empty())) return {text};
  std::map<std::string, int> named;
  for (const LinkText& one : found) ++named[one.device];
  const bool below = found.size() > 1 && found.front().device.empty();
  for (LinkText& one : found)
    if (below || named.at(one.device) > 1) one.device.clear();
  return found;
}

}  // namespace

void add_mlxlink(const std::vector<LinkText>& sent, ReportTree& report) {
  std::vector<LinkText> texts;
  std::deque<std::string> plain;  // which `texts` refer to
  for (const LinkText& one : sent) {
    plain.push_back(mlxlink_lines(one.text));
    std::ranges::move(mlxlink_outputs({one.device, one.port, plain.back()}), std::back_inserter(texts));
  }
  std::vector<SignalAnswer> signals;
  for (const LinkText& text : texts) {
    MlxlinkText read = read_mlxlink(text.text);
    const std::string name = rdma_device(text.device, report);
    if (name.empty()) {
      report.leave_out(fmt::format("state and rate in `mlxlink`: {}; name it as mlxlink -d mlx5_0 does",
                                   text.device.empty()
                                       ? "nothing states which adapter it is of"
                                       : "nothing shows which RDMA device " + text.device + " is"));
    } else {
      const std::string folder = port_folder(name, fmt::format("{}", text.port));
      line_if(folder + "/phys_state", mlxlink_state(read.state), report);
      line_if(folder + "/rate", mlxlink_rate(read.signal.speed, read.width), report);
    }
    read.signal.device = !name.empty() ? name : text.device.substr(0, kMostSentText);
    read.signal.port = text.port;
    keep_signal(std::move(read.signal), signals);
  }
  if (!signals.empty()) report.call("signals", json::dump(json::encode(signals)));
}

// Reads "Infiniband device 'mlx5_0' port 1 status:" and then the texts of the kernel's files.
void add_ibstatus(std::string_view text, ReportTree& report) {
  std::string folder;
  for (const auto line : lines(text)) {
    constexpr std::string_view kHead = "Infiniband device ";
    if (line.starts_with(kHead)) {
      const auto device = unquoted(line.substr(kHead.size()));
      const auto at = line.find(" port ");
      const auto port = at == line.npos ? std::string_view() : words(line.substr(at + 6))[0];
      folder = is_device(device) && parse_number<int>(port) ? port_folder(device, port) : "";
      if (!folder.empty()) begin_device(device, report);
    } else if (const auto pair = key_value(line, ':'); pair && !folder.empty()) {
      add_status_line(folder, pair->first, pair->second, report);
    }
  }
}

void add_ibstat(std::string_view text, ReportTree& report) {
  std::string device;
  std::string folder;  // of the current port; empty before the first
  for (const auto line : lines(text)) {
    if (line.starts_with("CA '")) {
      device = unquoted(line.substr(3));
      folder.clear();
      if (!is_device(device)) device.clear();
      if (!device.empty()) begin_device(device, report);
    }
    const auto pair = key_value(line, ':');
    if (!pair || device.empty()) continue;
    if (pair->first.starts_with("Port ") && parse_number<int>(pair->first.substr(5)))
      folder = port_folder(device, pair->first.substr(5));
    else if (folder.empty())
      add_stat_device_line(kRdma + "/" + device, pair->first, pair->second, report);
    else
      add_stat_port_line(folder, pair->first, pair->second, report);
  }
}

void add_ibv_devinfo(std::string_view text, ReportTree& report) {
  VerbsAnswer answer{"libibverbs.so.1", "", {}};
  std::string folder;
  std::string_view width;  // of the current port: "4X (2)"
  for (const auto line : lines(text)) {
    const auto pair = key_value(line, ':');
    if (!pair) continue;
    const auto& [key, value] = *pair;
    if (key == "hca_id") {
      folder.clear();
      if (!is_device(value) || answer.devices.size() >= kMostDevices) break;
      answer.devices.push_back({std::string(value), "", "", {}});
      begin_device(value, report);
    }
    if (answer.devices.empty()) continue;
    VerbsDevice& device = answer.devices.back();
    if (key == "active_width") width = value;
    if (key == "active_speed" && !folder.empty()) line_if(folder + "/rate", rate_text(width, value), report);
    if (key == "port" && parse_number<int>(value)) {
      width = {};
      device.ports.emplace_back().number = *parse_number<int>(value);
      folder = port_folder(device.name, value);
    } else if (folder.empty()) {
      add_info_device_line(kRdma + "/" + device.name, key, value, report);
    } else if (key.starts_with("GID[")) {
      add_gid(device.name, folder, key, value, report);
    } else {
      add_info_port_line(folder, key, value, device.ports.back(), report);
    }
  }
  if (!answer.devices.empty()) report.call("verbs", json::dump(json::encode(answer)));
}

// Reads `rdma link`, as text or as JSON (-j).
void add_rdma_link(std::string_view text, ReportTree& report) {
  if (trim(text).starts_with('[')) {
    const auto links = json::read<std::vector<RdmaLink>>(text);
    if (links && links->size() <= kMostDevices)
      for (const RdmaLink& link : *links) add_rdma_port(link, report);
    return;
  }
  std::size_t count = 0;
  for (const auto line : lines(text))
    if (const auto link = rdma_link_in(line); link && ++count <= kMostDevices) add_rdma_port(*link, report);
}

// Reads "mlx5_0 port 1 ==> ens1 (Up)", and with -v "0000:17:00.0 mlx5_0 (MT4123 - MCX653105A-HDAT) ConnectX-6 … fw
// 20.28.1002 port 1 (ACTIVE) ==> ens1 (Up)". (Up) is the interface's state.
void add_ibdev2netdev(std::string_view text, ReportTree& report) {
  std::size_t count = 0;
  for (const auto line : lines(text)) {
    const auto arrow = line.find(" ==> ");
    const auto at = line.substr(0, arrow).rfind(" port ");
    if (arrow == line.npos || at == line.npos) continue;
    const auto before = words(line.substr(0, at));
    const auto behind = words(line.substr(at + 6, arrow - at - 6));
    const auto interface = words(line.substr(arrow + 5));
    if (before.empty() || behind.empty() || !parse_number<int>(behind[0])) continue;
    const std::string function = full_pci_address(before[0]);
    if (!function.empty() && before.size() < 2) continue;
    const auto device = function.empty() ? before[0] : before[1];
    if (!is_device(device) || ++count > kMostDevices) continue;
    begin_device(device, report);
    const std::string folder = port_folder(device, behind[0]);
    if (!function.empty())
      report.link(fmt::format("{}/{}/device", kRdma, device), "/sys/bus/pci/devices/" + function);
    else if (!interface.empty())
      tie_to_interface(device, interface[0], report);
    if (before.size() > 2 && before[before.size() - 2] == "fw")
      report.line(fmt::format("{}/{}/fw_ver", kRdma, device), before.back());
    // "(ACTIVE)", "(DOWN  )"
    if (behind.size() > 1 && behind[1].starts_with('('))
      line_if(folder + "/state", state_text(behind[1].substr(1, behind[1].find(')') - 1)), report);
  }
}

// Reads "mlx5_0  1  3  0000:…:ffff:0a1f:0402  10.31.4.2  v2  ens1"; the address is there for one of IPv4, and the
// interface for RoCE. Empty entries of the table are left out.
void add_show_gids(std::string_view text, ReportTree& report) {
  constexpr std::size_t kMostGids = 65'536;
  std::size_t count = 0;
  for (const auto line : lines(text)) {
    const auto parts = words(line);
    if (parts.size() < 5 || !is_device(parts[0])) continue;
    const auto port = parse_number<int>(parts[1]);
    const auto index = parse_number<int>(parts[2]);
    const auto gid = IpAddress::parse(parts[3]);
    const auto version = std::ranges::find_if(
        parts.begin() + 4, parts.end(), [](std::string_view part) { return part == "v1" || part == "v2"; });
    if (!port || *port < 1 || *port > 255 || !index || *index < 0 || *index > 4095 || !gid) continue;
    if (version == parts.end() || ++count > kMostGids) continue;
    begin_device(parts[0], report);
    const std::string folder = port_folder(parts[0], parts[1]);
    report.whole(folder + "/gids");
    report.line(fmt::format("{}/gids/{}", folder, *index), parts[3]);
    report.line(fmt::format("{}/gid_attrs/types/{}", folder, *index),
                *version == "v2" ? "RoCE v2" : "IB/RoCE v1");
    if (version + 1 == parts.end() || !is_device(*(version + 1))) continue;
    report.line(fmt::format("{}/gid_attrs/ndevs/{}", folder, *index), *(version + 1));
    tie_to_interface(parts[0], *(version + 1), report);
  }
}

}  // namespace railbed
