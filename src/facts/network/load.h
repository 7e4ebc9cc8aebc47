// The load window (`railbed verify --load`): the counters that changed while the GPUs were busy.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"
#include "nvidia/gpu_answers.h"

namespace railbed {

class Host;

// The increase of each counter during the window. Counters that are missing or were reset are left out.
using CounterMoves = std::map<std::string, std::uint64_t>;

// The counters of an RDMA port. P = /sys/class/infiniband/DEVICE/ports/N
struct PortLoad {
  std::string device;  // mlx5_0
  int number = 1;
  CounterMoves counters;     // P/counters
  CounterMoves hw_counters;  // P/hw_counters
  FIELDS(PortLoad, device, number, counters, hw_counters);
};

// The transceiver or cable in a port. `ethtool -m IF`
struct Optics {
  std::optional<double> celsius;  // "Module temperature"
  // Names of the module's alarms and warnings that are on: "Laser rx power low alarm".
  std::vector<std::string> alarms;
  FIELDS(Optics, celsius, alarms);
};
Optics parse_optics(std::string_view text);

// The counters of a network interface. N = /sys/class/net/NAME
struct InterfaceLoad {
  std::string name;
  CounterMoves statistics;  // N/statistics, and N/carrier_changes
  CounterMoves driver;      // `ethtool -S`, without the counters of single queues
  Reading<Optics> optics;   // at the end of the window, of interfaces with an RDMA adapter
  FIELDS(InterfaceLoad, name, statistics, driver, optics);
};

// The error counters of a PCI device. D = /sys/bus/pci/devices/ADDRESS
struct PciLoad {
  std::string address;
  CounterMoves errors;  // D/aer_dev_*: correctable, nonfatal, fatal
  FIELDS(PciLoad, address, errors);
};

// Host call "load SECONDS"
struct Load {
  double seconds = 0;  // the actual duration
  std::vector<PortLoad> ports;
  std::vector<InterfaceLoad> interfaces;  // interfaces on PCI
  std::vector<PciLoad> pci;
  Reading<GpuLoads> gpus;  // Host call "gpu-load SECONDS"
  FIELDS(Load, seconds, ports, interfaces, pci, gpus);
};

// Length in seconds of the window if `verify --load` gets no number, and of the window in captured trees.
inline constexpr int kLoadSeconds = 10;

// Runs the GPUs for `seconds` and returns the change of all counters. Blocks for that time.
Reading<Load> collect_load(Host& host, int seconds);

}  // namespace railbed
