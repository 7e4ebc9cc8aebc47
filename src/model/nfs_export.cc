#include "model/nfs_export.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/storage_export.h"

namespace railbed {
namespace {

// Returns the last of two opposite options. /var/lib/nfs/etab repeats those of each way to log in behind its "sec=".
bool is_set(const NfsExport& line, std::string_view option, std::string_view opposite) {
  bool set = false;
  for (const std::string& one : line.options)
    if (one == option || one == opposite) set = one == option;
  return set;
}

std::string options_otherwise(const StorageExport& one, const NfsExport& line, const std::string& client) {
  if (is_set(line, "ro", "rw") != one.read_only)
    return fmt::format("{} may {}", client, one.read_only ? "write" : "only read");
  if (is_set(line, "no_root_squash", "root_squash") != one.no_root_squash)
    return fmt::format("root of {} is {} there", client, one.no_root_squash ? "nobody" : "root");
  return "";
}

std::string clients_otherwise(const Cluster& cluster, const StorageExport& one,
                              const std::vector<const NfsExport*>& lines) {
  std::vector<IpAddress> wanted;
  for (const std::string& client : one.clients) {
    const auto address = client_address(cluster, one, client);
    if (!address) continue;
    wanted.push_back(*address);
    const auto line = std::ranges::find_if(
        lines, [&](const NfsExport* found) { return IpAddress::parse(found->client) == address; });
    if (line == lines.end()) return fmt::format("it is not exported to {} ({})", client, address->to_text());
    if (std::string other = options_otherwise(one, **line, client); !other.empty()) return other;
  }
  for (const NfsExport* const line : lines) {
    const auto address = IpAddress::parse(line->client);
    if (!address || std::ranges::find(wanted, *address) == wanted.end())
      return fmt::format("it is exported to {}, too", printable(line->client));
  }
  return "";
}

}  // namespace

std::vector<const StorageExport*> directories_of(const Cluster& cluster, std::string_view server) {
  std::vector<const StorageExport*> found;
  for (const StorageExport& one : cluster.storage)
    if (is_nfs(one.protocol) && one.server == server) found.push_back(&one);
  return found;
}

std::vector<const StorageExport*> mounts_of(const Cluster& cluster, std::string_view client) {
  std::vector<const StorageExport*> found;
  for (const StorageExport& one : cluster.storage)
    if (is_nfs(one.protocol) && std::ranges::find(one.clients, client) != one.clients.end())
      found.push_back(&one);
  return found;
}

std::string nfs_source(const StorageExport& one) {
  const std::string address = one.address ? one.address->to_text() : "?";
  return fmt::format(fmt::runtime(one.address && !one.address->is_v4() ? "[{}]:{}" : "{}:{}"), address,
                     one.path);
}

std::optional<IpAddress> client_address(const Cluster& cluster, const StorageExport& one,
                                        std::string_view client) {
  const Rail* const rail = find_rail(cluster, one.rail);
  const RailPort* const port = rail == nullptr ? nullptr : find_port(*rail, client);
  return port == nullptr ? std::nullopt : port->address;
}

bool knows_exports(const NfsFacts& nfs) {
  return (nfs.exports.ok() || nfs.exports.absent()) && (nfs.listeners.ok() || nfs.listeners.absent());
}

std::string exported_otherwise(const Cluster& cluster, const StorageExport& one, const NfsFacts& nfs) {
  if (items(nfs.listeners).empty()) return "no NFS server runs";
  std::vector<const NfsExport*> lines;
  for (const NfsExport& line : items(nfs.exports))
    if (line.path == one.path) lines.push_back(&line);
  if (lines.empty()) return "it is not exported";
  const NfsListener wanted{std::string(transport_of(one)), port_of(one)};
  if (std::ranges::find(*nfs.listeners, wanted) == nfs.listeners->end())
    return fmt::format("the NFS server does not listen at port {} by {}", wanted.port, wanted.transport);
  return clients_otherwise(cluster, one, lines);
}

DirectoryMount mount_of(const StorageExport& one, const std::vector<NfsMount>& mounts) {
  DirectoryMount seen;
  // The last of several mounts at one point hides the others.
  for (const NfsMount& mount : mounts)
    if (mount.point == one.mount) seen.mount = &mount;
  if (seen.mount == nullptr) return seen;
  const auto colon = seen.mount->source.rfind(":/");
  if (colon == std::string::npos || seen.mount->source.substr(colon + 1) != one.path) {
    seen.mount = nullptr;
    return seen;
  }
  const std::string& protocol = seen.mount->protocol;
  seen.knows_way = !protocol.empty() && !seen.mount->address.empty();
  seen.right_transport = protocol == transport_of(one) || protocol == fmt::format("{}6", transport_of(one));
  seen.right_address = one.address && IpAddress::parse(seen.mount->address) == one.address;
  seen.way = fmt::format("{} by {}", seen.mount->address, protocol);
  return seen;
}

}  // namespace railbed
