// The directories of cluster.yaml (`storage:` with NFS) as both ends show them: what is exported, and what is mounted.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.h"
#include "inventory/cluster.h"

namespace railbed {

// Returns the directories that the node exports, or mounts. The pointers point into the cluster.
std::vector<const StorageExport*> directories_of(const Cluster& cluster, std::string_view server);
std::vector<const StorageExport*> mounts_of(const Cluster& cluster, std::string_view client);

// Returns "10.0.0.1:/srv/home", or "[fd00::1]:/srv/home", as mount(8) takes it.
std::string nfs_source(const StorageExport& one);

// Returns the client's address on the export's rail, from which it mounts; nullopt if it has none.
std::optional<IpAddress> client_address(const Cluster& cluster, const StorageExport& one,
                                        std::string_view client);

// Returns how what the server exports differs from the description; empty if it is as described. Call it only where
// knows_exports() is true.
std::string exported_otherwise(const Cluster& cluster, const StorageExport& one, const NfsFacts& nfs);
bool knows_exports(const NfsFacts& nfs);

// How a client has mounted a directory.
struct DirectoryMount {
  const NfsMount* mount = nullptr;  // null: no directory of this path is mounted there
  bool knows_way = false;           // false: the kernel does not show protocol and address
  bool right_transport = false;
  bool right_address = false;
  std::string way = {};  // "10.0.0.1 by rdma"
};
DirectoryMount mount_of(const StorageExport& one, const std::vector<NfsMount>& mounts);

}  // namespace railbed
