// Parts as they are sold: switches, cables and adapters by their part numbers, and what their standards
// allow.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/units.h"
#include "hardware/nic.h"

namespace railbed {

struct SwitchModel {
  std::string_view name;  // a piece of what it is called: "IS5022"
  int ports;
  BitRate speed;  // of each port
  bool infiniband;
  bool managed;  // it can run a subnet manager itself
  std::string_view source;
};
std::span<const SwitchModel> switch_models();
const SwitchModel* find_switch_model(std::string_view model);

struct CableModel {
  std::string_view name;
  BitRate speed;
  bool passive;
  double metres;  // 0: the part number goes on with it
  std::string_view source;
};
const CableModel* find_cable_model(std::string_view model);

// An adapter by its part number: which one of a generation it is. The rest is in the table of adapters.
struct AdapterModel {
  std::string_view name;  // "MCX455A-ECAT"
  std::string_view nic;   // name in nic.h
  int ports;
  BitRate infiniband;
  BitRate ethernet;
  std::string_view source;
};
const AdapterModel* find_adapter_model(std::string_view model);

// The longest that a passive copper cable may be at a speed, and who says so.
struct CopperLimit {
  BitRate speed;
  double metres;
  std::string_view source;
};
// The row of the next speed that has one; null above the fastest.
const CopperLimit* copper_limit(BitRate speed);

// What an InfiniBand link of four lanes carries after its coding: QDR's 40 Gb/s are 32.
BitRate infiniband_data_rate(BitRate signalled);
// "QDR"; empty where the speed is none of four lanes.
std::string_view infiniband_speed_name(BitRate signalled);

// Giga-transfers a second and lane of a PCIe generation.
double pcie_gigatransfers(int generation);

}  // namespace railbed
