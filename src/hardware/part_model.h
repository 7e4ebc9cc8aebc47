// Parts as products: switches, cables and adapters by their part numbers, and the limits of their standards.
//
// The find functions return the row with the longest name that is part of `model`, whatever the case of its
// letters, or null.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/units.h"
#include "facts/pcie.h"
#include "hardware/nic.h"

namespace railbed {

// A switch.
struct SwitchModel {
  std::string_view name;  // a part of its name: "IS5022"
  int ports;              // ports of the fastest kind
  BitRate speed;          // speed of each of these
  bool infiniband;
  bool managed;  // it can run a subnet manager
  std::string_view source;
  int slower_ports = 0;  // further ports for nodes, at slower_speed
  BitRate slower_speed = {};
  double most_watts = 0;  // its maker's maximum; 0: not in the table
  // Returns the number of ports of this speed or faster. A port that can be split counts once.
  int ports_at(BitRate wanted) const;
};
std::span<const SwitchModel> switch_models();
const SwitchModel* find_switch_model(std::string_view model);

// The networks that a cable is sold for.
enum class CableUse { kBoth, kInfiniband, kEthernet };

// A cable, by the beginning of its part number.
struct CableModel {
  std::string_view name;
  BitRate speed;
  bool passive;
  double metres;  // 0: the part number continues with the length
  std::string_view source;
  CableUse use = CableUse::kBoth;
};
const CableModel* find_cable_model(std::string_view model);
// Returns the slowest passive cable of at least this speed; null if there is none.
const CableModel* cable_for(BitRate speed, bool infiniband);

// The place that an adapter is made for: a PCI Express slot, or one for OCP mezzanines.
enum class AdapterForm { kCard, kOcp };

// An adapter by its part number, which is one variant of a model. Other properties are in the table of
// adapters (nic.h).
struct AdapterModel {
  std::string_view name;  // beginning of its part number: "MCX455A-E"
  std::string_view nic;   // name in nic.h
  int ports;
  BitRate infiniband;
  BitRate ethernet;
  std::string_view source;
  std::string_view order = {};  // part number to order; empty: `name` is not enough to order
  AdapterForm form = AdapterForm::kCard;
  int lanes = 16;  // of its connector
};
const AdapterModel* find_adapter_model(std::string_view model);
std::span<const AdapterModel> adapter_models();
// Returns the adapter's row in nic.h, by its part number or its name; null if neither is known.
const NicModel* find_nic_of_part(std::string_view model);
// Returns the fastest PCIe link of this adapter, by its part number or its name; nullopt if neither is known.
std::optional<PcieLink> find_adapter_link(std::string_view model);

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

inline constexpr int kNewestPcieGeneration = 7;
// Returns the gigatransfers per second and lane of a PCIe generation from 1 to kNewestPcieGeneration.
double pcie_gigatransfers(int generation);

}  // namespace railbed
