// What a machine says in process, as JSON text: the answers behind Host::call on the live machine.
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

// "statvfs PATH"; bytes
struct StatvfsAnswer {
  std::uint64_t size = 0;
  std::uint64_t available = 0;  // to users who are not root
  std::uint64_t inodes = 0;     // 0 where the file system makes them as needed
  std::uint64_t inodes_available = 0;
  bool read_only = false;
  FIELDS(StatvfsAnswer, size, available, inodes, inodes_available, read_only);
};

// "environment PREFIX" answers an object of strings: the variables whose name starts with PREFIX, never
// others.

// "verbs", or "verbs except DEVICE,DEVICE": what libibverbs says of each device's ports (ibv_query_port)
struct VerbsPort {
  int number = 1;
  std::string error;   // why this port has no answer; empty otherwise
  int active_mtu = 0;  // bytes
  int max_mtu = 0;
  int gid_table_length = 0;
  std::string link_layer;  // Ethernet, InfiniBand
  FIELDS(VerbsPort, number, error, active_mtu, max_mtu, gid_table_length, link_layer);
};
struct VerbsDevice {
  std::string name;
  std::string error;    // why it could not be opened; empty otherwise
  std::string dma_buf;  // "yes" or "no": its driver takes DMA-BUF; empty: not known
  std::vector<VerbsPort> ports;
  FIELDS(VerbsDevice, name, error, dma_buf, ports);
};
struct VerbsAnswer {
  std::string library;  // "libibverbs.so.1"; empty when it could not be opened
  std::string error;    // the loader's words then
  std::vector<VerbsDevice> devices;
  FIELDS(VerbsAnswer, library, error, devices);
};

// "changeable PATH": an array of what others than root and this user may change, of what is on the way to
// PATH, of itself and, where it is a folder, of what lies in it; eight at most.

// "load SECONDS": how counters moved while so many seconds passed. A counter that cannot be read, or that was
// reset meanwhile, is left out and costs no other.
using Moved = std::map<std::string, std::uint64_t>;
struct PortMoved {
  std::string device;
  int number = 1;
  Moved counters;     // /sys/class/infiniband/DEV/ports/N/counters
  Moved hw_counters;  // .../hw_counters
  FIELDS(PortMoved, device, number, counters, hw_counters);
};
struct InterfaceMoved {
  std::string name;
  Moved statistics;  // /sys/class/net/IF/statistics, and carrier_changes
  Moved driver;      // ETHTOOL_GSTATS, those that are not of a single queue
  FIELDS(InterfaceMoved, name, statistics, driver);
};
struct PciMoved {
  std::string address;
  Moved errors;  // /sys/bus/pci/devices/ADDRESS/aer_dev_*: correctable, nonfatal, fatal
  FIELDS(PciMoved, address, errors);
};
struct LoadAnswer {
  double seconds = 0;  // that really passed
  std::vector<PortMoved> ports;
  std::vector<InterfaceMoved> interfaces;  // those on PCI
  std::vector<PciMoved> pci;
  FIELDS(LoadAnswer, seconds, ports, interfaces, pci);
};
// How far a counter went. Nothing when it was reset: it went back, and not round the end of 32 bits.
std::optional<std::uint64_t> moved(std::uint64_t before, std::uint64_t after);
// "nvml", "nvml p2p", "nvml ADDRESS", "cuda ADDRESS", "gpu-load SECONDS": host/gpu_answers.h. Where the
// NVIDIA driver's libraries may lie, and how long a call may take before it is given up.
struct NvidiaLibraries {
  std::vector<std::string> nvml;
  std::vector<std::string> cuda;
  std::chrono::milliseconds deadline;
};
const NvidiaLibraries& nvidia_libraries();
Reading<std::string> call_nvml(std::string_view name, const NvidiaLibraries& from = nvidia_libraries());
Reading<std::string> call_cuda(std::string_view name, const NvidiaLibraries& from = nvidia_libraries());
Reading<std::string> call_gpu_load(int seconds, const NvidiaLibraries& from = nvidia_libraries());

Reading<std::string> call_system(std::string_view name);
// `except`: devices that must not even be opened.
Reading<std::string> call_verbs(const std::vector<std::string>& except);
// `seconds` from 1 to kMaxLoadSeconds.
Reading<std::string> call_load(int seconds);
inline constexpr int kMaxLoadSeconds = 600;

// What the driver counts for an interface (ETHTOOL_GSTATS); empty where it counts nothing.
std::map<std::string, std::uint64_t> ethtool_statistics(const std::string& interface);

}  // namespace railbed
