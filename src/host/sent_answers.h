// Facts of a machine that only outputs of other tools hold: the firmware of adapters, and tests of GPUs. Only a support
// report has these Host calls, since railbed starts none of the tools.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace railbed {

inline constexpr std::size_t kMostSentAdapters = 64;
inline constexpr std::size_t kMostSentSettings = 1024;  // of an adapter; mlxconfig 4.3x has some 300
inline constexpr std::size_t kMostSentTests = 4096;     // results of one diagnostic
inline constexpr std::size_t kMostSentMessages = 8;     // of one result
inline constexpr std::size_t kMostSentText = 512;       // bytes of a value or a message

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
