// Facts of a machine that only outputs of other tools hold: the firmware of adapters, the signals of their ports, and tests
// of GPUs. Only a support report has these Host calls, since railbed starts none of the tools.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace railbed {

inline constexpr std::size_t kMostSentAdapters = 64;
inline constexpr std::size_t kMostSentSettings = 1024;  // of an adapter; mlxconfig 4.3x has some 300
inline constexpr std::size_t kMostSentSignals = 256;
inline constexpr std::size_t kMostSentLanes = 16;
inline constexpr std::size_t kMostSentReadings = 8;  // of one module
inline constexpr std::size_t kMostSentTests = 4096;  // results of one diagnostic
inline constexpr std::size_t kMostSentMessages = 8;  // of one result
inline constexpr std::size_t kMostSentText = 512;    // bytes of a value or a message

// A setting in an adapter's firmware: "LINK_TYPE_P1". Values are mlxconfig's: "ETH(2)", "True(1)", "44"; empty if the
// output has no such column.
struct AdapterSetting {
  std::string name;
  std::string standard;  // "Default"
  std::string current;
  std::string next;  // after the next reset
  FIELDS(AdapterSetting, name, standard, current, next);
};

// "adapters" returns a list of these: what mlxconfig (mstconfig) and mlxfwmanager (mlxup) print of an adapter. A text
// is empty if the output does not state it.
struct AdapterAnswer {
  std::string device;       // as the tool was given it: "0000:17:00.0", "mlx5_0", "/dev/mst/mt4129_pciconf0"
  std::string pci_address;  // "0000:17:00.0", if `device` is one
  std::string type;         // "ConnectX7"
  std::string part_number;  // "MCX715105AS-WEAT_Ax"
  std::string description;
  std::string psid;         // "MT_0000001244"
  std::string firmware;     // in force: "28.42.1000"
  std::string available;    // that mlxfwmanager has at hand
  std::string status;       // "Up to date", "Update required", "No matching image found"
  bool configured = false;  // mlxconfig's output is there, with or without settings
  std::vector<AdapterSetting> settings;
  FIELDS(AdapterAnswer, device, pci_address, type, part_number, description, psid, firmware, available,
         status, configured, settings);
};

// What a module measures, by lane where it has lanes, and its own limits.
struct ModuleReading {
  std::string name = {};  // "Rx Power Current"
  std::string unit = {};  // "dBm"
  std::vector<double> values = {};
  double low = 0;
  double high = 0;
  FIELDS(ModuleReading, name, unit, values, low, high);
};

// "signals" returns a list of these: what mlxlink (mstlink) prints of a port, with --show_counters since its counters were
// cleared, with --show_module of its module. Bit error ratios are shares of the bits received; nullopt is what the output
// does not state.
struct SignalAnswer {
  std::string device = {};  // "mlx5_0", else as the tool was given it; empty if the output does not name it
  int port = 1;
  bool up = false;         // its physical layer has a link
  std::string speed = {};  // "IB-NDR", "400G"
  std::string fec = {};    // "RS-FEC - (544,514) + PLR", "Standard LL RS-FEC - RS(271,257)", "No FEC"
  // The firmware's own diagnosis: "Cable is unplugged"; empty if it observed no issue.
  std::optional<std::string> trouble = {};
  std::optional<double> minutes = {};
  std::optional<double> raw_ber = {};          // before error correction
  std::vector<std::uint64_t> raw_errors = {};  // likewise, bits by lane
  std::optional<double> effective_ber = {};    // after it
  std::optional<std::uint64_t> effective_errors = {};
  std::optional<double> symbol_ber = {};  // after link-level retransmission, too; InfiniBand alone
  std::optional<std::uint64_t> symbol_errors = {};
  std::optional<std::uint64_t> link_downs = {};
  std::vector<ModuleReading> module = {};  // without those that have no limits, as copper
  std::vector<std::string> faults = {};    // "Rx LOS of lane 2", "Module FW Fault"
  FIELDS(SignalAnswer, device, port, up, speed, fec, trouble, minutes, raw_ber, raw_errors, effective_ber,
         effective_errors, symbol_ber, symbol_errors, link_downs, module, faults);
};

// A test of DCGM's on one GPU, or on the whole node.
struct GpuTestAnswer {
  std::string program;  // "dcgmi diag", "dcgmi health"
  std::string name;     // "PCIe", "memory"
  int gpu = -1;         // DCGM's number of the GPU; -1: the node, or all GPUs together
  std::string status;   // "pass", "warn", "fail", "skip", "not run"; else the tool's own word
  bool setting =
      false;  // DCGM calls each cause a setting (error_severity 5, CONFIG), such as persistence mode
  std::vector<std::string> messages;
  FIELDS(GpuTestAnswer, program, name, gpu, status, setting, messages);
};

// "gpu-tests": what dcgmi diag and dcgmi health printed.
struct GpuTestsAnswer {
  std::vector<GpuTestAnswer> tests;
  std::vector<std::string>
      errors;  // why a run has no result: a message of the tool, or an output that is cut off
  FIELDS(GpuTestsAnswer, tests, errors);
};

}  // namespace railbed
