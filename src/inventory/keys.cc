#include "inventory/keys.h"

#include <cassert>

#include "inventory/cluster.h"

namespace railbed {
namespace {

template <class T>
std::vector<std::string_view> names_of() {
  std::vector<std::string_view> names;
  T::fields([&](std::string_view name, auto) { names.push_back(name); });
  return names;
}

}  // namespace

std::span<const KeyTable> all_key_tables() {
  static const std::vector<KeyTable> tables = {
      {"cluster",
       {"railbed", "cluster", "ssh", "bmc", "fabric", "topology", "mtu", "speed", "vlan", "rdma_driver",
        "expect", "configure", "nodes", "rails", "parts", "checks", "storage"},
       {"railbed", "cluster", "nodes"}},
      {"ssh", {"config", "user"}, {}},
      {"bmc", names_of<BmcAccess>(), {}},
      {"expect", names_of<Expectations>(), {}},
      {"configure", names_of<Configuration>(), {}},
      {"mig", names_of<MigLayout>(), {"instances"}},
      {"gpu_sharing", names_of<GpuSharing>(), {"method"}},
      {"node", {"name", "ssh", "local", "bmc", "expect", "configure"}, {"name"}},
      {"rail",
       {"name", "purpose", "fabric", "topology", "subnet", "mtu", "speed", "vlan", "rdma_driver", "interface",
        "first_address", "nodes", "ports"},
       {"name"}},
      {"port", {"interface", "address"}, {}},
      {"check", names_of<SiteCheck>(), {"name", "run"}},
      {"export",
       {"name", "server", "device", "protocol", "rail", "clients", "shared", "nqn", "path", "mount",
        "read_only", "no_root_squash", "nconnect"},
       {"name", "server", "protocol", "rail", "clients"}},
      {"parts", {"switches", "cables", "servers", "adapters", "gpus"}, {}},
      {"switch", {"name", "model", "ports", "speed", "rails"}, {"model"}},
      {"cable", {"model", "quantity", "speed", "length", "medium", "rails"}, {"model", "quantity"}},
      {"server", {"nodes", "model", "processor", "pcie"}, {"model"}},
      {"adapter", {"nodes", "model", "quantity", "slot", "pcie"}, {"model"}},
      {"gpu", {"nodes", "model", "quantity", "slot", "pcie", "slot_watts"}, {"model"}},
  };
  return tables;
}

const KeyTable& key_table(std::string_view thing) {
  for (const KeyTable& table : all_key_tables())
    if (table.thing == thing) return table;
  assert(false && "no such table");
  return all_key_tables().front();
}

}  // namespace railbed
