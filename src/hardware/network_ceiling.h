// The upper limit of the rate of all network adapters of a node together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware/limits.h"
#include "results/measurement.h"

namespace railbed {

struct Facts;
struct RdmaDevice;
struct RdmaPort;
struct NicModel;

// Returns the adapter's row. Mellanox' drivers name a device by its PCI device ID: "MT4103" is 0x1007. Null
// if the table does not have it.
const NicModel* nic_of(const RdmaDevice& device);

// Returns the path MTU in bytes that a port can use: its active MTU, or less if its adapter supports less. 0
// if not known.
int path_mtu_of(const RdmaDevice& device, const RdmaPort& port);

// Returns the cards with active RDMA ports, each with all its functions.
std::vector<AdapterCard> adapter_cards(const Facts& facts, const std::string& node);

// Returns the sum of all active RDMA ports, each way, without packet headers; if there are none, the sum of
// all interfaces with a link, over TCP. Nullopt if none states its speed.
std::optional<Limit> network_limit(const Facts& facts, const std::string& node);

}  // namespace railbed
