// The load window (`railbed verify --load`): what moved on the machine while its GPUs were busy.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"
#include "host/gpu_answers.h"

namespace railbed {

class Host;

// How far each counter went during the window. What the machine does not count, or reset, is not in it.
using CounterMoves = std::map<std::string, std::uint64_t>;

struct PortLoad {
  std::string device;  // mlx5_0
  int number = 1;
  CounterMoves counters;     // P/counters
  CounterMoves hw_counters;  // P/hw_counters
  FIELDS(PortLoad, device, number, counters, hw_counters);
};

// The transceiver or cable in a port. `ethtool -m IF`
struct Optics {
  std::optional<double> celsius;    // "Module temperature"
  std::vector<std::string> alarms;  // flags of the module that are on: "Laser rx power low alarm"
  FIELDS(Optics, celsius, alarms);
};
Optics parse_optics(std::string_view text);

struct InterfaceLoad {
  std::string name;
  CounterMoves statistics;  // N/statistics, and N/carrier_changes
  CounterMoves driver;      // `ethtool -S`, without those of single queues
  Reading<Optics> optics;   // at the end of the window, of interfaces with an RDMA adapter
  FIELDS(InterfaceLoad, name, statistics, driver, optics);
};

struct PciLoad {
  std::string address;
  CounterMoves errors;  // D/aer_dev_*: correctable, nonfatal, fatal
  FIELDS(PciLoad, address, errors);
};

// Host call "load SECONDS"
struct Load {
  double seconds = 0;  // that really passed
  std::vector<PortLoad> ports;
  std::vector<InterfaceLoad> interfaces;  // those on PCI
  std::vector<PciLoad> pci;
  Reading<GpuLoads> gpus;  // Host call "gpu-load SECONDS"
  FIELDS(Load, seconds, ports, interfaces, pci, gpus);
};

// The window of `verify --load` when it is given no number, and the one that captured trees replay.
inline constexpr int kLoadSeconds = 10;

// Takes `seconds`: the GPUs work while the counters run.
Reading<Load> collect_load(Host& host, int seconds);

}  // namespace railbed
