#include "host/ethtool.h"

#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace railbed {

Fd ethtool_socket() { return Fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }

bool ethtool(const Fd& socket, const std::string& interface, void* request) {
  ifreq asked = {};
  if (interface.size() >= sizeof asked.ifr_name) {
    errno = ENODEV;
    return false;
  }
  std::memcpy(asked.ifr_name, interface.data(), interface.size());
  asked.ifr_data = static_cast<char*>(request);
  return ioctl(socket.get(), SIOCETHTOOL, &asked) == 0;
}

}  // namespace railbed
