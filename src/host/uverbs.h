// The device node through which programs use an RDMA device.
#pragma once

#include <string>

#include "host/host.h"

namespace railbed {

struct UverbsNode {
  // Name in /dev/infiniband: "uverbs0"; empty if /sys/class/infiniband_verbs has none for the device.
  std::string name;
  std::string error;  // why this process cannot open it, the system's message; empty if it can
};
// For the machine that this process runs on: the node is opened and closed at once.
UverbsNode uverbs_node_of(Host& host, const std::string& device);

// Returns why this process cannot open the node of the RDMA connection manager, /dev/infiniband/rdma_cm: the
// system's message; empty if it can. The node is opened and closed at once.
std::string cm_node_error();

}  // namespace railbed
