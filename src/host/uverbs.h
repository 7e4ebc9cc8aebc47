// The node by which programs reach an RDMA device.
#pragma once

#include <string>

#include "host/host.h"

namespace railbed {

struct UverbsNode {
  std::string
      name;  // in /dev/infiniband: "uverbs0"; empty: /sys/class/infiniband_verbs shows none for the device
  std::string error;  // why this process cannot open it, in the system's words; empty: it can
};
// Of this very machine: the node is opened and closed at once.
UverbsNode uverbs_node_of(Host& host, const std::string& device);

}  // namespace railbed
