// The load window (`railbed verify --load`): the counters that changed while the GPUs were busy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"
#include "host/calls.h"
#include "nvidia/gpu_answers.h"

namespace railbed {

class Host;

// The transceiver or cable in a port. `ethtool -m IF`
struct Optics {
  std::optional<double> celsius;  // "Module temperature"
  // Names of the module's alarms and warnings that are on: "Laser rx power low alarm".
  std::vector<std::string> alarms;
  FIELDS(Optics, celsius, alarms);
};
Optics parse_optics(std::string_view text);

// A network interface.
struct InterfaceLoad : InterfaceMoves {
  Reading<Optics> optics;  // at the end of the window, of interfaces with an RDMA adapter
  FIELDS(InterfaceLoad, name, statistics, driver, optics);
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
