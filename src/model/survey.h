// The input of rules: evidence that joins the expectation and the facts of each rail end once.
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

// A rail end: one port of one node on one rail. Without a cluster.yaml, an RDMA interface that has an
// address, with a null `rail`.
struct RailEnd {
  const std::string* node = nullptr;
  const Facts* facts = nullptr;
  const Rail* rail = nullptr;
  const RailPort* port = nullptr;           // null if `rail` is null
  std::string name = {};                    // of the interface
  const NetInterface* interface = nullptr;  // null if there is no such interface
  RdmaPortRef rdma = {};                    // empty if there is no RDMA device behind it
  const PciDevice* adapter = nullptr;       // null if virtual, or PCI could not be read
  const NicModel* model = nullptr;          // null if not in the table
  Things touches = {};                      // things of every finding about this end

  bool infiniband() const;
  bool software_rdma() const { return rail != nullptr && !rail->rdma_driver.empty(); }
  bool wants_rdma() const { return rail == nullptr || rail->fabric != Fabric::kEthernet; }
  bool roce() const { return wants_rdma() && !infiniband(); }
  bool rdma_rail() const { return rail != nullptr && wants_rdma(); }
  // Returns true if traffic between GPUs may use this end: false on a rail for storage.
  bool for_gpus() const { return rail == nullptr || rail->purpose == RailPurpose::kCompute; }
  // Returns the address that cluster.yaml gives this end; null if none.
  const IpAddress* address() const { return port != nullptr && port->address ? &*port->address : nullptr; }
  // "10.0.0.1/24", with the rail's prefix (24 without one); needs address()
  std::string address_text() const;
  std::string where() const;       // "ens6 of gpu01"
  std::string rdma_name() const;   // "mlx5_0/1"; needs rdma
  std::string rdma_where() const;  // "mlx5_0/1 of gpu01"; needs rdma
};

// A node with its expectations, its facts, and values derived from them once for all rules.
struct NodeView {
  const std::string* name = nullptr;
  const Facts* facts = nullptr;
  const Node* wanted = nullptr;  // null if cluster.yaml does not list the node
  std::vector<RailEnd> ends = {};
  std::vector<const PciDevice*> gpus_on_pci = {};  // looked up once: half of all rules need them
  std::vector<const PciDevice*> adapters_on_pci = {};
  // of facts->gpus.devices, in their order; null if not in the table
  std::vector<const GpuModel*> gpu_models = {};

  std::vector<nccl::Complaint> nccl_complaints = {};  // from the lint; judged by rules/nccl.cc
  nccl::Choices nccl_choices = {};                    // judged by rules/nccl_choice.cc
  std::size_t nccl_variables = 0;                     // number of variables that are set

  // True if it has a GPU or an RDMA adapter on PCI: a real machine whose tuning matters.
  bool has_accelerators() const { return !gpus().empty() || !adapters().empty(); }
  // True if it has an RDMA adapter, or an end that wants RDMA.
  bool needs_rdma() const;
  // True if it has at least eight GPUs, all on boards that connect them by NVSwitch: they need the fabric
  // manager.
  bool has_nvswitch() const;
  // True for such a board of NVLink 5: its fabric manager works through nvlsm, a subnet manager, and that through
  // ib_umad. A GB200's switches are not on its board.
  bool has_nvlink_manager() const;
  const Expectations& expect() const;
  const std::vector<PciDevice>& pci() const;  // empty if it could not be read
  const std::vector<const PciDevice*>& gpus() const { return gpus_on_pci; }
  // Mellanox network functions, except virtual ones.
  const std::vector<const PciDevice*>& adapters() const { return adapters_on_pci; }
  // Returns the GPUs, then the adapters.
  std::vector<const PciDevice*> accelerators() const;
  // Things that findings touch. For a device: "pci:ADDRESS" and everything that the ends on it touch.
  Things touches_of(const std::string& pci_address) const;
  Things touches_of(const PciDevice& device) const { return touches_of(device.address); }
  Things gpu_touches = {};                              // "gpus" and every GPU on PCI
  Things nccl_touches = {};                             // "nccl" and the node's rails
  std::map<std::string_view, Things> pci_touches = {};  // by address: GPUs, and devices that carry an end
  std::vector<Things> touches_of_gpus = {};             // of facts->gpus.devices, in their order
};

// All nodes with facts, by name. Points into the evidence, which must outlive it.
struct Survey {
  explicit Survey(const Evidence& all);
  const Evidence& evidence;
  std::vector<NodeView> nodes;
  // Returns the node; null if it has no facts.
  const NodeView* find(std::string_view node) const;
  // Returns all ends of a rail whose nodes have facts.
  const std::vector<const RailEnd*>& ends_of(const Rail& rail) const;

 private:
  std::map<const Rail*, std::vector<const RailEnd*>> ends_;
};

// Returns the other end of a cable between two nodes; null if the end has no such cable, or the other node no facts.
const RailEnd* other_end(const Survey& survey, const RailEnd& end);

// Returns the unit with one of these names, preferably one that exists; null if there is none or services
// could not be read.
const Service* find_service(const NodeView& node, std::initializer_list<std::string_view> names);
// Returns true if systemd has loaded the unit's file.
bool is_loaded_unit(const NodeView& node, std::string_view name);
// Returns true if the unit is enabled, so it starts at boot.
bool is_enabled_unit(const NodeView& node, std::string_view name);

bool is_roce_v2(const Gid& gid);
// Returns true for a RoCE v2 GID of the address that cluster.yaml gives this end.
bool is_gid_of(const Gid& gid, const RailEnd& end);

// Returns true if the module is loaded or otherwise present (built in); false if the lists could not be read.
bool module_present(const Facts& facts, std::string_view module);

}  // namespace railbed
