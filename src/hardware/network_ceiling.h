// The most that the network adapters of a node carry together.
#pragma once

#include <optional>
#include <string>

#include "results/measurement.h"

namespace railbed {

struct Facts;
struct RdmaDevice;
struct RdmaPort;

// The path MTU that a port can use: its active MTU, or less where its adapter can do no more. 0: not known.
int path_mtu_of(const RdmaDevice& device, const RdmaPort& port);

// All active RDMA ports, each way, less packet headers; without any, all interfaces with a link, over TCP.
// Nothing where none states its speed.
std::optional<Limit> network_limit(const Facts& facts, const std::string& node);

}  // namespace railbed
