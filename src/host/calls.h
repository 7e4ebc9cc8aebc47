// The in-process calls behind Host::call on the live machine, and the JSON that each returns (one struct per
// call). More of them are in device_calls.h, nvidia/gpu_answers.h, process_answer.h and kernel_log.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

// "uname"
struct UnameAnswer {
  std::string machine;  // x86_64, aarch64
  FIELDS(UnameAnswer, machine);
};

// "clock"
struct ClockAnswer {
  std::string utc;            // RFC 3339
  bool synchronised = false;  // adjtimex: STA_UNSYNC is not set
  FIELDS(ClockAnswer, utc, synchronised);
};

// "statvfs PATH"; sizes in bytes
struct StatvfsAnswer {
  std::uint64_t size = 0;
  std::uint64_t available = 0;  // to users other than root
  std::uint64_t inodes = 0;     // 0 if the file system makes them on demand
  std::uint64_t inodes_available = 0;
  bool read_only = false;
  FIELDS(StatvfsAnswer, size, available, inodes, inodes_available, read_only);
};

// "site-check JOB" runs a program of the site's own and returns its ConfinedOutput; JOB is a ConfinedJob as JSON
// (os/confined.h). Only a live machine runs it.

// "environment PREFIX" returns an object of strings: the variables whose name starts with PREFIX, and no
// others.

// "verbs", or "verbs except DEVICE,DEVICE": the state of each device's ports from libibverbs (ibv_query_port)
struct VerbsPort {
  int number = 1;
  std::string error;   // why the query of this port failed; empty otherwise
  int active_mtu = 0;  // bytes
  int max_mtu = 0;
  int gid_table_length = 0;
  std::string link_layer;  // Ethernet, InfiniBand
  FIELDS(VerbsPort, number, error, active_mtu, max_mtu, gid_table_length, link_layer);
};
struct VerbsDevice {
  std::string name;
  std::string error;    // why it could not be opened; empty otherwise
  std::string dma_buf;  // "yes" or "no": the driver accepts DMA-BUF; empty if unknown
  std::vector<VerbsPort> ports;
  FIELDS(VerbsDevice, name, error, dma_buf, ports);
};
struct VerbsAnswer {
  std::string library;  // "libibverbs.so.1"; empty if it could not be opened
  std::string error;    // the loader's message in that case
  std::vector<VerbsDevice> devices;
  FIELDS(VerbsAnswer, library, error, devices);
};

// "changeable PATH" returns an array of paths that users other than root and this user may change: components
// on the way to PATH, its end, and, if that is a folder, the entries in it; at most eight.

// "load SECONDS": the increase of each counter over that many seconds. A counter that cannot be read, or that
// was reset in between, is left out; the others are not affected.
using CounterMoves = std::map<std::string, std::uint64_t>;
struct PortLoad {
  std::string device;  // mlx5_0
  int number = 1;
  CounterMoves counters;     // /sys/class/infiniband/DEV/ports/N/counters
  CounterMoves hw_counters;  // .../hw_counters
  FIELDS(PortLoad, device, number, counters, hw_counters);
};
struct InterfaceMoves {
  std::string name;
  CounterMoves statistics;  // /sys/class/net/IF/statistics, and carrier_changes
  CounterMoves driver;      // ETHTOOL_GSTATS, without the counters of single queues
  CounterMoves fec = {};    // totals of the call "fec IF", by their names there: uncorrectable_blocks
  FIELDS(InterfaceMoves, name, statistics, driver, fec);
};
struct PciLoad {
  std::string address;
  CounterMoves errors;  // /sys/bus/pci/devices/ADDRESS/aer_dev_*: correctable, nonfatal, fatal
  FIELDS(PciLoad, address, errors);
};
struct LoadAnswer {
  double seconds = 0;  // time that really passed
  std::vector<PortLoad> ports;
  std::vector<InterfaceMoves> interfaces;  // with a device, such as a PCI function
  std::vector<PciLoad> pci;
  FIELDS(LoadAnswer, seconds, ports, interfaces, pci);
};
// Returns the increase of a counter; a 32-bit counter may have wrapped around. Returns nullopt if the counter
// was reset: it fell without wrapping.
std::optional<std::uint64_t> moved(std::uint64_t before, std::uint64_t after);
// Runs the call `name` on this machine; kUnsupported if there is no call of that name.
Reading<std::string> call_system(std::string_view name);
// `except` names devices that must not even be opened.
Reading<std::string> call_verbs(const std::vector<std::string>& except);
// Takes `seconds`, from 1 to kMaxLoadSeconds, and blocks for that time.
Reading<std::string> call_load(int seconds);
inline constexpr int kMaxLoadSeconds = 600;

// Returns the driver's counters of an interface (ETHTOOL_GSTATS), without those of single queues; empty if
// the driver has none.
std::map<std::string, std::uint64_t> ethtool_statistics(const std::string& interface);

}  // namespace railbed
