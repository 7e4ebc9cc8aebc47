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

// One lane of a transceiver. Light is in milliwatts, because 0 mW is a value ("0.0000 mW / -inf dBm").
struct OpticsLane {
  int number = 1;                      // as ethtool counts them: from 1, old versions from 0
  std::optional<double> receive = {};  // mW; "Rcvr signal avg optical power(Channel 1)"
  std::optional<double> send = {};     // mW; "Transmit avg optical power (Channel 1)"
  std::optional<double> bias = {};     // mA of the laser; "Laser tx bias current (Channel 1)"
  FIELDS(OpticsLane, number, receive, send, bias);
};
// A module's own limits of one value. Modules without them have 0 there, which is none.
struct OpticsLimits {
  std::optional<double> high_alarm = {};
  std::optional<double> low_alarm = {};
  std::optional<double> high_warning = {};
  std::optional<double> low_warning = {};
  FIELDS(OpticsLimits, high_alarm, low_alarm, high_warning, low_warning);
};
// The transceiver or cable in a port, by SFF-8472, SFF-8636 or CMIS. `ethtool -m IF`
struct Optics {
  std::optional<double> celsius;  // "Module temperature"
  // Names of the module's alarms and warnings that are on: "Laser rx power low alarm".
  std::vector<std::string> alarms;
  std::optional<double> volts = {};    // "Module voltage"
  std::string serial = {};             // "Vendor SN"
  std::vector<OpticsLane> lanes = {};  // by number; empty for copper
  OpticsLimits receive = {};           // mW; "Laser rx power … threshold"
  OpticsLimits send = {};              // mW; "Laser output power … threshold"
  OpticsLimits bias = {};              // mA; "Laser bias current … threshold"
  FIELDS(Optics, celsius, alarms, volts, serial, lanes, receive, send, bias);
};
inline constexpr std::size_t kMostLanes = 16;
// Parses ethtool's text; accepts untrusted text.
Optics parse_optics(std::string_view text);

// A network interface.
struct InterfaceLoad : InterfaceMoves {
  Reading<Optics> optics;  // at the end of the window, of interfaces with an RDMA adapter
  FIELDS(InterfaceLoad, name, statistics, driver, fec, optics);
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
