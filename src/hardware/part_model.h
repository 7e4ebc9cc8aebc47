// Parts as products: switches, cables and adapters by their part numbers, and the limits of their standards.
//
// The find functions return the row with the longest name that is part of `model`, whatever the case of its
// letters, or null.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/units.h"
#include "hardware/nic.h"

namespace railbed {

// A switch.
struct SwitchModel {
  std::string_view name;  // a part of its name: "IS5022"
  int ports;
  BitRate speed;  // speed of each port
  bool infiniband;
  bool managed;  // it can run a subnet manager
  std::string_view source;
};
std::span<const SwitchModel> switch_models();
const SwitchModel* find_switch_model(std::string_view model);

// A cable, by the beginning of its part number.
struct CableModel {
  std::string_view name;
  BitRate speed;
  bool passive;
  double metres;  // 0: the part number continues with the length
  std::string_view source;
};
const CableModel* find_cable_model(std::string_view model);

// An adapter by its part number, which is one variant of a model. Other properties are in the table of
// adapters (nic.h).
struct AdapterModel {
  std::string_view name;  // "MCX455A-ECAT"
  std::string_view nic;   // name in nic.h
  int ports;
  BitRate infiniband;
  BitRate ethernet;
  std::string_view source;
};
const AdapterModel* find_adapter_model(std::string_view model);

// The longest passive copper cable for a speed, and the source of this limit.
struct CopperLimit {
  BitRate speed;
  double metres;
  std::string_view source;
};
// Returns the row of this speed, or of the next higher one in the table; null above the fastest.
const CopperLimit* copper_limit(BitRate speed);

// Returns the share of data in the signalled rate of an InfiniBand speed, "QDR" or "FDR10": 0.8 for QDR's 8b/10b.
// From EDR on the signalled rates are data rates, as is every other name's.
double infiniband_data_share(std::string_view speed);
// Returns the data rate of an InfiniBand link of four lanes without its coding: QDR's 40 Gb/s are 32.
BitRate infiniband_data_rate(BitRate signalled);
// Returns a name such as "QDR"; empty if no link of four lanes has this speed.
std::string_view infiniband_speed_name(BitRate signalled);

// Returns the gigatransfers per second and lane of a PCIe generation from 1 to 7.
double pcie_gigatransfers(int generation);

}  // namespace railbed
