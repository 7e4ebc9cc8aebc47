#include "bench/path/rdma_path.h"

#include <algorithm>

#include "base/json.h"
#include "facts/collectors.h"
#include "facts/network/rdma.h"
#include "host/calls.h"
#include "host/uverbs.h"

namespace railbed {
namespace {

std::string verbs_trouble(Host& host, const std::string& device) {
  const auto said = host.call("verbs");
  if (!said) return said.miss().why;
  const auto answer = json::read<VerbsAnswer>(*said);
  if (!answer) return answer.error().text;
  const auto found = std::ranges::find(answer->devices, device, &VerbsDevice::name);
  if (found != answer->devices.end()) return found->error;
  return "libibverbs does not list " + device + ": its provider is not installed";
}

std::optional<bool> holds_gid(const RdmaPort& port, const std::optional<IpAddress>& address) {
  if (!port.gids || !address) return std::nullopt;
  return std::ranges::any_of(*port.gids, [&](const Gid& gid) { return gid.gid && *gid.gid == *address; });
}

}  // namespace

PathRdma look_at_rdma(Host& host, const Net& net, const std::string& interface,
                      const std::optional<IpAddress>& address) {
  const Rdma rdma = collect_rdma(host);
  const RdmaPortRef ref = rdma_port_of(rdma, net, interface);
  if (!ref) return {};
  PathRdma seen;
  seen.device = ref.device->name;
  seen.driver = ref.device->driver.value_or("");
  seen.link_layer = ref.port->link_layer.value_or("");
  seen.state = ref.port->state.value_or("");
  seen.has_gid = holds_gid(*ref.port, address);
  const UverbsNode node = uverbs_node_of(host, seen.device);
  seen.node = node.name;
  seen.node_error = node.error;
  if (!seen.node.empty() && seen.node_error.empty()) seen.verbs_error = verbs_trouble(host, seen.device);
  return seen;
}

PathCm look_at_cm(Host& host, const Net& net, const std::string& interface) {
  PathCm seen;
  seen.node_error = cm_node_error();
  if (const auto modules = collect_kernel(host).present_modules; modules.ok())
    seen.module = std::ranges::find(*modules, "rdma_ucm") != modules->end();
  const Rdma rdma = collect_rdma(host);
  if (const RdmaPortRef ref = rdma_port_of(rdma, net, interface))
    seen.roce_mode = ref.port->roce_mode.value_or("");
  return seen;
}

}  // namespace railbed
