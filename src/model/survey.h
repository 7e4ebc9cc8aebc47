// What the rules walk over: the evidence with expectation and fact of each rail end brought together once.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.h"
#include "hardware/gpu_model.h"
#include "hardware/nic.h"
#include "inventory/cluster.h"
#include "model/evidence.h"
#include "model/things.h"
#include "nccl/choice.h"
#include "nccl/lint.h"

namespace railbed {

// One node's end of one rail. Without a cluster.yaml: an RDMA interface that has an address, `rail` null.
struct RailEnd {
  const std::string* node = nullptr;
  const Facts* facts = nullptr;
  const Rail* rail = nullptr;
  const RailPort* port = nullptr;           // null with rail
  std::string name = {};                    // of the interface
  const NetInterface* interface = nullptr;  // null: there is no such interface
  RdmaPortRef rdma = {};                    // empty: no RDMA device behind it
  const PciDevice* adapter = nullptr;       // null: virtual, or PCI could not be read
  const NicModel* model = nullptr;          // null: not in the table
  Things touches = {};                      // of every finding about this end

  bool infiniband() const;
  bool software_rdma() const { return rail != nullptr && !rail->rdma_driver.empty(); }
  bool wants_rdma() const { return rail == nullptr || rail->fabric != Fabric::kEthernet; }
  bool roce() const { return wants_rdma() && !infiniband(); }
  bool rdma_rail() const { return rail != nullptr && wants_rdma(); }
  // That cluster.yaml gives this end; null: none.
  const IpAddress* address() const { return port != nullptr && port->address ? &*port->address : nullptr; }
  std::string address_text() const;  // "10.0.0.1/24", with its rail's prefix; only where there is one
  std::string where() const;         // "ens6 of gpu01"
  std::string rdma_name() const;     // "mlx5_0/1"; only when rdma is set
  std::string rdma_where() const;    // "mlx5_0/1 of gpu01"; likewise
};

struct NodeView {
  const std::string* name = nullptr;
  const Facts* facts = nullptr;
  const Node* wanted = nullptr;  // null: cluster.yaml does not know the node
  std::vector<RailEnd> ends = {};
  std::vector<const PciDevice*> gpus_on_pci = {};  // looked up once: half of all rules ask
  std::vector<const PciDevice*> adapters_on_pci = {};
  std::vector<const GpuModel*> gpu_models =
      {};  // of facts->gpus.devices, in their order; null: not in the table

  std::vector<nccl::Complaint> nccl_complaints = {};  // of the lint, judged by rules/nccl.cc
  nccl::Choices nccl_choices = {};                    // judged by rules/nccl_choice.cc
  std::size_t nccl_variables = 0;                     // how many are set

  // It has a GPU or an RDMA adapter on PCI: a real machine whose tuning matters.
  bool has_accelerators() const { return !gpus().empty() || !adapters().empty(); }
  // It has an RDMA adapter, or an end that wants RDMA.
  bool needs_rdma() const;
  // All GPUs are of boards that join them by NVSwitch: they wait for the fabric manager.
  bool has_nvswitch() const;
  const Expectations& expect() const;
  const std::vector<PciDevice>& pci() const;  // empty when it could not be read
  const std::vector<const PciDevice*>& gpus() const { return gpus_on_pci; }
  // Mellanox physical functions.
  const std::vector<const PciDevice*>& adapters() const { return adapters_on_pci; }
  // GPUs, then adapters.
  std::vector<const PciDevice*> accelerators() const;
  // What findings are about: "pci:ADDRESS" and all that the ends on this device touch …
  Things touches_of(const std::string& pci_address) const;
  Things touches_of(const PciDevice& device) const { return touches_of(device.address); }
  Things gpu_touches = {};                              // … "gpus" and every GPU on PCI …
  Things nccl_touches = {};                             // … "nccl" and the node's rails
  std::map<std::string_view, Things> pci_touches = {};  // of GPUs and of what carries an end, by address
  std::vector<Things> touches_of_gpus = {};             // of facts->gpus.devices, in their order
};

struct Survey {
  explicit Survey(const Evidence& all);
  const Evidence& evidence;
  std::vector<NodeView> nodes;
  const NodeView* find(std::string_view node) const;
  // All ends of a rail that gave facts.
  const std::vector<const RailEnd*>& ends_of(const Rail& rail) const;

 private:
  std::map<const Rail*, std::vector<const RailEnd*>> ends_;
};

// The unit of one of these names; null: none, or services could not be read.
const Service* find_service(const NodeView& node, std::initializer_list<std::string_view> names);
// systemd has read the unit's file …
bool is_loaded_unit(const NodeView& node, std::string_view name);
// … and starts it at boot.
bool is_enabled_unit(const NodeView& node, std::string_view name);

bool is_roce_v2(const Gid& gid);
// A RoCE v2 GID of the address that cluster.yaml gives this end.
bool is_gid_of(const Gid& gid, const RailEnd& end);

bool module_present(const Facts& facts, std::string_view module);

}  // namespace railbed
