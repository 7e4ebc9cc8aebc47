// The most that the network adapters of a node carry together.
#pragma once

#include <optional>
#include <string>

#include "results/measurement.h"

namespace railbed {

struct Facts;
struct RdmaDevice;
struct RdmaPort;
struct NicModel;

// By the name that Mellanox' drivers give a device, its PCI id: "MT4103" is 0x1007. Null: not of the table.
const NicModel* nic_of(const RdmaDevice& device);

// The path MTU that a port can use: its active MTU, or less where its adapter can do no more. 0: not known.
int path_mtu_of(const RdmaDevice& device, const RdmaPort& port);

// All active RDMA ports, each way, less packet headers; without any, all interfaces with a link, over TCP.
// Nothing where none states its speed.
std::optional<Limit> network_limit(const Facts& facts, const std::string& node);

}  // namespace railbed
