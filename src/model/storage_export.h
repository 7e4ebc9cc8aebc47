// The exports of cluster.yaml (`storage:`) as the kernels of both ends show them: the identities that follow from
// cluster.yaml, and what is served and connected.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.h"
#include "inventory/cluster.h"

namespace railbed {

constexpr int kNvmePort = 4420;      // IANA: nvme, NVMe over Fabrics I/O
constexpr int kNfsPort = 2049;       // IANA: nfs
constexpr int kNfsRdmaPort = 20049;  // IANA: nfsrdma

// Returns the block devices that the node serves, or is a client of. The pointers point into the cluster.
std::vector<const StorageExport*> exports_of(const Cluster& cluster, std::string_view server);
std::vector<const StorageExport*> connections_of(const Cluster& cluster, std::string_view client);

// Returns the name of the kernel's transport: "tcp", "rdma".
std::string_view transport_of(const StorageExport& one);
int port_of(const StorageExport& one);
// Returns "10.0.0.1:4420 by tcp".
std::string place_of(const StorageExport& one);

// The identity by which a node connects to exports: a UUID (RFC 9562, version 8) made of its name and the cluster's. The
// server's list of allowed hosts follows from cluster.yaml, and the node keeps its own /etc/nvme/hostnqn for others.
std::string host_uuid(const Cluster& cluster, std::string_view node);
std::string host_nqn(const Cluster& cluster, std::string_view node);  // "nqn.2014-08.org.nvmexpress:uuid:…"
// The UUID of an export's namespace. It stays the same when the server boots: a client's kernel drops a namespace whose
// identifiers have changed. Clients see the device as /dev/disk/by-id/nvme-uuid.UUID.
std::string namespace_uuid(const StorageExport& one);
std::string client_device(const StorageExport& one);  // that path

// Returns how what the server's kernel serves differs from the export; empty if it is as described.
std::string served_otherwise(const Cluster& cluster, const StorageExport& one,
                             const std::vector<NvmeTarget>& targets);

// How a client is connected to an export.
struct StorageConnection {
  const NvmeController* controller = nullptr;  // null: not connected
  std::string server;                          // address to which it is connected; empty if unknown
  bool right_transport = false;
  bool right_address = false;
  bool live = false;
};
// Returns the best of the controllers of the export's subsystem.
StorageConnection connection_to(const StorageExport& one, const std::vector<NvmeController>& controllers);

}  // namespace railbed
