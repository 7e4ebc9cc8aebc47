// More in-process calls behind Host::call: adapters, drives and the kernel. Results are JSON text.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

// "ethernet IF": link modes and flow control of a port. Modes come from ETHTOOL_GLINKSETTINGS, global pause
// from ETHTOOL_GPAUSEPARAM, priorities from the netlink message that `dcb` uses (DCB_CMD_IEEE_GET); none
// needs root.
struct EthernetAnswer {
  std::string pause_error;  // why the pause settings are unknown; empty otherwise
  bool pause_receive = false;
  bool pause_transmit = false;
  std::string dcb_error;            // same; inbox drivers without DCB report "Operation not supported"
  int pfc_capability = 0;           // how many priorities may be lossless
  std::vector<int> pfc_priorities;  // the lossless priorities
  std::map<std::string, int> dscp;  // DSCP → priority; empty if the port does not trust DSCP
  std::string modes_error;          // why the link modes are unknown; empty otherwise
  bool autonegotiates = false;
  int supported_mbps = 0;   // fastest mode of port, firmware and transceiver; 0 if none is stated
  int advertised_mbps = 0;  // fastest mode that is offered to the other end
  int peer_mbps = 0;        // fastest mode that the other end offered; many drivers do not report it
  FIELDS(EthernetAnswer, modes_error, autonegotiates, supported_mbps, advertised_mbps, peer_mbps, pause_error,
         pause_receive, pause_transmit, dcb_error, pfc_capability, pfc_priorities, dscp);
};

// "fec IF": the forward error correction of an Ethernet port, as `ethtool -I --show-fec IF` reads it: by
// ETHTOOL_MSG_FEC_GET (Linux 5.13), else by ETHTOOL_GFECPARAM, which has no counters. Neither needs root.
enum class FecMode {
  kAuto,
  kNone,  // no correction, or none that the driver states
  kOff,
  kRs,     // Reed-Solomon: RS(528,514) or RS(544,514)
  kBaseR,  // FireCode
  kLlrs,   // Reed-Solomon of low latency
  kOther   // a mode that is not known here
};
constexpr auto enum_names(FecMode) {
  return std::array<std::string_view, 7>{"Auto", "None", "Off", "RS", "BaseR", "LLRS", "other"};
}
constexpr std::string_view fec_mode_text(FecMode mode) {
  return enum_names(mode)[static_cast<std::size_t>(mode)];
}
struct FecCounter {
  std::uint64_t total = 0;
  std::vector<std::uint64_t> lanes = {};  // empty if the driver counts the port as a whole
  FIELDS(FecCounter, total, lanes);
};
struct FecState {
  std::vector<FecMode> configured = {};  // what the port may use; some drivers state all that they support
  FecMode active = FecMode::kNone;       // None: the driver states none, as of a link that is down
  // Since the driver was loaded, or since the firmware's reset; nullopt if the driver does not report it.
  std::optional<FecCounter> corrected_blocks = {};
  std::optional<FecCounter> uncorrectable_blocks = {};
  std::optional<FecCounter> corrected_bits = {};
  FIELDS(FecState, configured, active, corrected_blocks, uncorrectable_blocks, corrected_bits);
};
inline constexpr std::size_t kMostFecLanes = 16;
// Parses the attributes of an ETHTOOL_MSG_FEC_GET_REPLY.
FecState parse_fec_reply(std::string_view attributes);

// "nvme", or "nvme NAME" for one controller: page 2 of its log, SMART / Health (NVM Express Base Specification, "Get Log
// Page"). Needs root.
struct NvmeAnswer {
  std::string name;          // nvme0
  std::string error;         // why the page could not be read; empty otherwise
  int critical_warning = 0;  // bits: 1 spare, 2 temperature, 4 reliability, 8 read only, 16 backup
  int spare_percent = 0;
  int spare_threshold_percent = 0;
  int used_percent = 0;  // of the rated endurance; may exceed 100
  std::uint64_t media_errors = 0;
  int celsius = 0;
  std::uint64_t unsafe_shutdowns = 0;
  std::uint64_t log_entries = 0;        // of its error log, over its life
  std::uint64_t hot_minutes = 0;        // above its warning or its critical temperature
  std::uint64_t throttled_seconds = 0;  // slowed down by its own thermal management
  FIELDS(NvmeAnswer, name, error, critical_warning, spare_percent, spare_threshold_percent, used_percent,
         media_errors, celsius, unsafe_shutdowns, log_entries, hot_minutes, throttled_seconds);
};
// Parses the 512 bytes of that page. A shorter page sets `error`.
NvmeAnswer parse_health_page(std::string_view page);

// "modes FOLDER" returns an object of permission bits by name, for entries that are not folders.

// "stuck": processes in uninterruptible sleep (state D) in three looks over 100 ms.
struct StuckAnswer {
  int pid = 0;
  std::string name;   // /proc/PID/comm
  std::string waits;  // /proc/PID/wchan: the kernel's function; "0" to users who are not root
  FIELDS(StuckAnswer, pid, name, waits);
};

// "addresses": IPv4 and IPv6 addresses, interface by interface, in the form of iproute2's `ip -j address
// show`.
struct InterfaceAddressInfo {
  std::string local;
  int prefixlen = 0;
  FIELDS(InterfaceAddressInfo, local, prefixlen);
};
struct InterfaceAddresses {
  std::string ifname;
  std::vector<InterfaceAddressInfo> addr_info;
  FIELDS(InterfaceAddresses, ifname, addr_info);
};

// "default-routes" returns an array: the interfaces of IPv4's default routes, the preferred one first. This
// parses the text of /proc/net/route:
std::vector<std::string> default_routes_in(std::string_view table);

// "queues": the queue disciplines that `tc -j qdisc show` prints, kind only.
struct QueueAnswer {
  std::string dev;   // the interface
  std::string kind;  // fq_codel, noqueue, tbf
  FIELDS(QueueAnswer, dev, kind);
};

// "nf-tables" returns an array: the names of nftables' tables, those of iptables-nft included. Root only.

// "kernel-options NAME,NAME" returns an object: the value (y, m or other) of each of these options that the
// running kernel was built with, from /proc/config.gz. This parses the text of such a file:
std::map<std::string, std::string> kernel_options_in(std::string_view config,
                                                     std::span<const std::string_view> names);

Reading<std::string> call_addresses();
Reading<std::string> call_default_routes();
Reading<std::string> call_queues();
Reading<std::string> call_nf_tables();
Reading<std::string> call_kernel_options(const std::vector<std::string_view>& names);
Reading<std::string> call_ethernet(const std::string& interface);
Reading<std::string> call_fec(const std::string& interface);
Reading<std::string> call_statistics(const std::string& interface);
Reading<std::string> call_nvme(const std::string& only = {});
Reading<std::string> call_modes(const std::string& folder);
Reading<std::string> call_changeable(const std::string& path);
Reading<std::string> call_stuck();

}  // namespace railbed
