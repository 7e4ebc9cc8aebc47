#include "model/storage_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/sha256.h"
#include "base/text.h"

namespace railbed {
namespace {

// Returns a UUID of version 8 (RFC 9562, 5.8) made of the text.
std::string uuid_of(std::string_view text) {
  std::string digits = sha256_hex(text).substr(0, 32);
  constexpr std::string_view kVariants = "89ab";
  digits[12] = '8';
  digits[16] = kVariants[static_cast<std::size_t>(digits[16]) % 4];
  return fmt::format("{}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4), digits.substr(12, 4),
                     digits.substr(16, 4), digits.substr(20));
}

// Returns a value of "traddr=10.0.0.1,trsvcid=4420"; empty if there is none.
std::string_view part_of(std::string_view address, std::string_view key) {
  for (const std::string_view pair : split(address, ','))
    if (const auto found = key_value(pair, '='); found && found->first == key) return found->second;
  return {};
}

bool is_address(std::string_view text, const StorageExport& one) {
  return one.address && IpAddress::parse(text) == one.address;
}

std::string hosts_otherwise(const Cluster& cluster, const StorageExport& one, const NvmeTarget& target) {
  if (target.any_host) return "it admits any host";
  for (const std::string& client : one.clients)
    if (std::ranges::find(target.hosts, host_nqn(cluster, client)) == target.hosts.end())
      return fmt::format("it does not admit {}", client);
  for (const std::string& host : target.hosts)
    if (std::ranges::none_of(one.clients,
                             [&](const std::string& client) { return host_nqn(cluster, client) == host; }))
      return fmt::format("it admits {}", printable(host));
  return "";
}

}  // namespace

std::vector<const StorageExport*> exports_of(const Cluster& cluster, std::string_view server) {
  std::vector<const StorageExport*> found;
  for (const StorageExport& one : cluster.storage)
    if (!is_nfs(one.protocol) && one.server == server) found.push_back(&one);
  return found;
}

std::vector<const StorageExport*> connections_of(const Cluster& cluster, std::string_view client) {
  std::vector<const StorageExport*> found;
  for (const StorageExport& one : cluster.storage)
    if (!is_nfs(one.protocol) && std::ranges::find(one.clients, client) != one.clients.end())
      found.push_back(&one);
  return found;
}

std::string_view transport_of(const StorageExport& one) { return is_rdma(one.protocol) ? "rdma" : "tcp"; }

int port_of(const StorageExport& one) {
  if (!is_nfs(one.protocol)) return kNvmePort;
  return is_rdma(one.protocol) ? kNfsRdmaPort : kNfsPort;
}

std::string place_of(const StorageExport& one) {
  return fmt::format("{}:{} by {}", one.address ? one.address->to_text() : "?", port_of(one),
                     transport_of(one));
}

std::string host_uuid(const Cluster& cluster, std::string_view node) {
  return uuid_of(fmt::format("railbed host\n{}\n{}", cluster.name, node));
}

std::string host_nqn(const Cluster& cluster, std::string_view node) {
  return "nqn.2014-08.org.nvmexpress:uuid:" + host_uuid(cluster, node);
}

std::string namespace_uuid(const StorageExport& one) {
  return uuid_of(fmt::format("railbed namespace\n{}\n{}", one.nqn, one.device));
}

std::string client_device(const StorageExport& one) {
  return "/dev/disk/by-id/nvme-uuid." + namespace_uuid(one);
}

std::string served_otherwise(const Cluster& cluster, const StorageExport& one,
                             const std::vector<NvmeTarget>& targets) {
  const auto target = std::ranges::find(targets, one.nqn, &NvmeTarget::nqn);
  if (target == targets.end()) return "it is not served";
  const auto device = std::ranges::find(target->namespaces, one.device, &NvmeNamespace::device);
  if (device == target->namespaces.end()) return fmt::format("it has no namespace of {}", one.device);
  if (!device->enabled) return fmt::format("its namespace of {} is disabled", one.device);
  if (target->listeners.empty()) return "no port serves it";
  const bool listens = std::ranges::any_of(target->listeners, [&](const NvmeListener& listener) {
    return listener.transport == transport_of(one) && is_address(listener.address, one) &&
           listener.service == std::to_string(kNvmePort);
  });
  if (!listens) {
    const NvmeListener& other = target->listeners.front();
    return fmt::format("it is served at {}:{} by {}", other.address, other.service, other.transport);
  }
  return hosts_otherwise(cluster, one, *target);
}

StorageConnection connection_to(const StorageExport& one, const std::vector<NvmeController>& controllers) {
  StorageConnection best;
  int best_rank = -1;
  for (const NvmeController& controller : controllers) {
    if (!controller.subsystem.ok() || *controller.subsystem != one.nqn) continue;
    StorageConnection seen{.controller = &controller, .server = {}};
    const std::string address = controller.address.value_or("");
    seen.server = printable(part_of(address, "traddr"));
    seen.right_transport = controller.transport.ok() && *controller.transport == transport_of(one);
    seen.right_address = is_address(seen.server, one);
    seen.live = controller.state.ok() && *controller.state == "live";
    const int rank = (seen.right_transport ? 4 : 0) + (seen.right_address ? 2 : 0) + (seen.live ? 1 : 0);
    if (rank <= best_rank) continue;
    best = seen;
    best_rank = rank;
  }
  return best;
}

}  // namespace railbed
