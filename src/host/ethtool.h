// The ioctl behind ethtool (include/uapi/linux/ethtool.h).
#pragma once

#include <string>

#include "base/fd.h"

namespace railbed {

Fd ethtool_socket();
// Sends a request to an interface's driver. `request` is one of ethtool.h's structs with its cmd set; the
// driver fills it. Returns false with errno set if the driver refuses.
bool ethtool(const Fd& socket, const std::string& interface, void* request);

}  // namespace railbed
