// What adapters, drives and the kernel say in process, as JSON text: more answers behind Host::call.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

// "ethernet IF": link modes and flow control of a port. Modes by ETHTOOL_GLINKSETTINGS, global pause by
// ETHTOOL_GPAUSEPARAM, priorities by the netlink message that `dcb` uses (DCB_CMD_IEEE_GET); none needs root.
struct EthernetAnswer {
  std::string pause_error;  // why there is no answer about pause; empty otherwise
  bool pause_receive = false;
  bool pause_transmit = false;
  std::string dcb_error;            // likewise; inbox drivers without DCB say "Operation not supported"
  int pfc_capability = 0;           // how many priorities may be lossless
  std::vector<int> pfc_priorities;  // those that are
  std::map<std::string, int> dscp;  // DSCP → priority; empty: the port does not trust DSCP
  std::string modes_error;          // why there is no answer about link modes; empty otherwise
  bool autonegotiates = false;
  int supported_mbps = 0;   // of the fastest mode of port, firmware and transceiver; 0: none is stated
  int advertised_mbps = 0;  // of the fastest that is offered to the other end
  int peer_mbps = 0;        // of the fastest that the other end offered; many drivers do not say
  FIELDS(EthernetAnswer, modes_error, autonegotiates, supported_mbps, advertised_mbps, peer_mbps, pause_error,
         pause_receive, pause_transmit, dcb_error, pfc_capability, pfc_priorities, dscp);
};

// "nvme": page 2 of each controller's log, SMART / Health (NVM Express Base Specification, "Get Log Page").
// Asking needs root.
struct NvmeAnswer {
  std::string name;          // nvme0
  std::string error;         // why it gave no page; empty otherwise
  int critical_warning = 0;  // bits: 1 spare, 2 temperature, 4 reliability, 8 read only, 16 backup
  int spare_percent = 0;
  int spare_threshold_percent = 0;
  int used_percent = 0;  // of the rated endurance; may exceed 100
  std::uint64_t media_errors = 0;
  int celsius = 0;
  FIELDS(NvmeAnswer, name, error, critical_warning, spare_percent, spare_threshold_percent, used_percent,
         media_errors, celsius);
};
// The 512 bytes of that page.
NvmeAnswer parse_health_page(std::string_view page);

// "modes FOLDER" answers an object: name → permission bits, for what is not a folder.

// "stuck": processes that cannot be interrupted (state D), the same ones in three looks over 100 ms.
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

// "default-routes" answers an array: the interfaces by which IPv4's default routes leave, the preferred
// first. Of the text of /proc/net/route:
std::vector<std::string> default_routes_in(std::string_view table);

// "queues": the queue disciplines that `tc -j qdisc show` prints, by kind alone.
struct QueueAnswer {
  std::string dev;   // the interface
  std::string kind;  // fq_codel, noqueue, tbf
  FIELDS(QueueAnswer, dev, kind);
};

// "nf-tables" answers an array: the names of nftables' tables, those of iptables-nft among them. Root only.

// "kernel-options NAME,NAME" answers an object: those of these options that the running kernel was built
// with, as /proc/config.gz has them: name → y, m or a value. Of the text of such a file:
std::map<std::string, std::string> kernel_options_in(std::string_view config,
                                                     std::span<const std::string_view> names);

Reading<std::string> call_addresses();
Reading<std::string> call_default_routes();
Reading<std::string> call_queues();
Reading<std::string> call_nf_tables();
Reading<std::string> call_kernel_options(const std::vector<std::string_view>& names);
Reading<std::string> call_ethernet(const std::string& interface);
Reading<std::string> call_statistics(const std::string& interface);
Reading<std::string> call_nvme();
Reading<std::string> call_modes(const std::string& folder);
Reading<std::string> call_changeable(const std::string& path);
Reading<std::string> call_stuck();

}  // namespace railbed
