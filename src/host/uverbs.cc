#include "host/uverbs.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"

namespace railbed {

UverbsNode uverbs_node_of(Host& host, const std::string& device) {
  const std::string folder = "/sys/class/infiniband_verbs";
  const auto nodes = host.list(folder);
  for (const std::string& node : items(nodes)) {
    if (!node.starts_with("uverbs") || host.read_line(folder + "/" + node + "/ibdev").value_or("") != device)
      continue;
    const Fd fd(open(("/dev/infiniband/" + node).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    return {node, fd ? "" : std::strerror(errno)};
  }
  return {};
}

std::string cm_node_error() {
  const Fd fd(open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  return fd ? "" : std::strerror(errno);
}

}  // namespace railbed
