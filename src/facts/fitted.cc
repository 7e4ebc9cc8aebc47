#include "facts/fitted.h"

#include "host/host.h"

namespace railbed {
namespace {

bool holds_anything(Host& host, std::string_view folder) { return !host.list(folder).value_or({}).empty(); }

}  // namespace

bool has_rdma_devices(Host& host) { return holds_anything(host, "/sys/class/infiniband"); }
bool has_nvidia_gpus(Host& host) { return holds_anything(host, "/proc/driver/nvidia/gpus"); }

}  // namespace railbed
