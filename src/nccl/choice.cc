// NCCL's choices, step by step.
//
// * Ports: every ACTIVE RDMA port that NCCL_IB_HCA permits, 32 at most, sorted by PCI address since 2.29.7
//   and before that in libibverbs' order. For each RoCE port one entry of its GID table (choose_gid() in
//   settings.cc).
// * NICs: ports of one card, whose PCI addresses differ only in the function, are fused into one with the sum
//   of their rates: two at most since 2.20, four since 2.24.
// * Network: IB if a port remains, else Socket. NCCL_IB_DISABLE and NCCL_NET take precedence.
// * Interfaces: those that are up and have an address, by the names in NCCL_SOCKET_IFNAME, else from the
//   first group that is not empty in NCCL's order of names.
// * GPUDirect: DMA-BUF before nvidia-peermem. A GPU and a NIC use it if their models support it, a route is
//   open, and they are no farther apart than NCCL_NET_GDR_LEVEL (src/graph/paths.cc, ncclTopoCheckGdr): by
//   default PXB (below one root port). A GPU on NVLink-C2C and a NIC of its own processor are P2C apart,
//   which is the default limit since 2.27.3 (NCCL_NET_GDR_C2C).
#include "nccl/choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "hardware/gpu_model.h"
#include "hardware/gpudirect.h"
#include "hardware/nic.h"
#include "hardware/pci_path.h"
#include "nccl/settings.h"

namespace railbed::nccl {
namespace {

constexpr std::size_t kMostDevices = 32;  // NCCL user guide, NCCL_IB_HCA

struct Predictor {
  const Facts& facts;
  Version version;
  Settings settings;
  Choices out;
  std::vector<const RdmaDevice*> used_devices;  // parallel to out.ports, for the used ones
  std::string route_blocked_by = {};            // the variable that leaves no route for GPUDirect

  // Returns why NCCL does not use the port; empty if it does.
  std::string why_left_out(const RdmaDevice& device, const RdmaPort& port, const NameList& list) const;
  void choose_ports();
  void fuse();
  void choose_network();
  void choose_interfaces();
  void choose_route();
  std::string_view default_level(const GpuModel* model) const;
  std::string why_never(const Gpu& gpu, const GpuModel* model, const NicModel* card) const;
  bool sends_staged(const GpuModel* model) const;
  void judge_distance(PairChoice& pair, PathClass path, const GpuModel* model) const;
  PairChoice pair_of(const Gpu& gpu, const NicChoice& nic, const NicModel* card, PathClass path) const;
  void choose_pairs();
};

// Returns the devices in NCCL's order: by PCI address since 2.29.7, before that in libibverbs' order, which
// follows the names.
std::vector<const RdmaDevice*> in_order(const Facts& facts, bool by_pci) {
  std::vector<const RdmaDevice*> devices;
  if (!facts.rdma.devices.ok()) return devices;
  for (const RdmaDevice& device : *facts.rdma.devices) devices.push_back(&device);
  if (by_pci)
    std::ranges::stable_sort(devices, [](const RdmaDevice* a, const RdmaDevice* b) {
      // Devices without a PCI address come last.
      const std::string left = a->pci_address.value_or("~");
      const std::string right = b->pci_address.value_or("~");
      return left < right;
    });
  return devices;
}

// True if libibverbs is missing. NCCL opens it at run time and cannot use RDMA without it.
bool lacks_verbs(const Facts& facts) {
  return facts.rdma.verbs_library.ok() && facts.rdma.verbs_library->empty();
}

std::string Predictor::why_left_out(const RdmaDevice& device, const RdmaPort& port,
                                    const NameList& list) const {
  const std::string state = port.state.value_or("unknown");
  if (lacks_verbs(facts)) return "libibverbs cannot be opened";
  if (state != "ACTIVE") return fmt::format("state {}", state);
  if (!list.selects(device.name, port.number)) return "left out by NCCL_IB_HCA";
  if (out.ports.size() >= kMostDevices) return fmt::format("NCCL takes {} devices at most", kMostDevices);
  return "";
}

void Predictor::choose_ports() {
  const NameList list = NameList::parse(settings.value("NCCL_IB_HCA"));
  const bool by_pci =
      version >= Version{2, 29, 7} && settings.number("NCCL_IB_DEVICE_PCI_ORDER").value_or(1) != 0;
  std::vector<PortChoice> left_out;
  for (const RdmaDevice* const device : in_order(facts, by_pci)) {
    if (!device->ports.ok()) continue;
    for (const RdmaPort& port : *device->ports) {
      PortChoice choice{.device = device->name, .port = port.number, .link = "", .why = ""};
      const std::string layer = port.link_layer.value_or("");
      choice.link = layer == "Ethernet" ? "RoCE" : "IB";
      choice.rate = port.rate.value_or({});
      choice.why = why_left_out(*device, port, list);
      choice.used = choice.why.empty();
      if (!choice.used) {
        left_out.push_back(std::move(choice));
        continue;
      }
      choice.why = list.entries.empty() ? "active" : "active, and selected by NCCL_IB_HCA";
      if (choice.link == "RoCE") {
        const GidChoice gid = choose_gid(port, settings, version < Version{2, 21, 0});
        choice.gid_index = gid.index;
        choice.gid = gid.gid != nullptr && gid.gid->gid.ok() ? gid.gid->gid->to_text() : "";
        choice.gid_why = gid.why;
      }
      out.ports.push_back(std::move(choice));
      used_devices.push_back(device);
    }
  }
  std::ranges::move(left_out, std::back_inserter(out.ports));
}

// True for ports of one card: their PCI addresses differ only in the function.
bool same_card(const std::string& a, const std::string& b) {
  return !a.empty() && pci_slot_of(a) == pci_slot_of(b);
}

void Predictor::fuse() {
  const bool on = version >= Version{2, 20, 0} && settings.number("NCCL_IB_MERGE_NICS").value_or(1) != 0 &&
                  settings.value("NCCL_NET_MERGE_LEVEL") != "LOC";
  const std::size_t most = version >= Version{2, 24, 0} ? 4 : 2;
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < used_devices.size(); ++i) {
    const std::string address = used_devices[i]->pci_address.value_or("");
    const auto joins = std::ranges::find_if(groups, [&](const std::vector<std::size_t>& group) {
      const std::size_t first = group.front();
      return on && group.size() < most && same_card(used_devices[first]->pci_address.value_or(""), address) &&
             out.ports[first].link == out.ports[i].link;
    });
    if (joins != groups.end())
      joins->push_back(i);
    else
      groups.push_back({i});
  }
  for (const auto& group : groups) {
    NicChoice nic{.name = "",
                  .rate = {},
                  .pci_address = used_devices[group.front()]->pci_address.value_or(""),
                  .why = ""};
    for (const std::size_t i : group) {
      const PortChoice& port = out.ports[i];
      nic.name += (nic.name.empty() ? "" : "+") + port.device;
      nic.rate.bits_per_second += port.rate.bits_per_second;
    }
    if (group.size() > 1) nic.why = "ports of one card are fused since 2.20 (NCCL_IB_MERGE_NICS)";
    out.nics.push_back(std::move(nic));
  }
}

void Predictor::choose_network() {
  const std::string wanted = lower(settings.value("NCCL_NET"));
  const bool rdma = !used_devices.empty();
  if (settings.number("NCCL_IB_DISABLE").value_or(0) != 0) {
    out.network = wanted == "ib" ? "" : "Socket";
    out.network_why = "NCCL_IB_DISABLE switches RDMA off";
  } else if (wanted == "socket") {
    out.network = "Socket";
    out.network_why = "NCCL_NET=Socket";
  } else if (!wanted.empty() && wanted != "ib") {
    out.network = settings.value("NCCL_NET");
    out.network_why = "NCCL_NET asks for this plugin; NCCL does not start without it";
  } else if (rdma) {
    out.network = "IB";
    out.network_why =
        fmt::format("{} active RDMA port{}", used_devices.size(), used_devices.size() == 1 ? "" : "s");
  } else if (wanted == "ib") {
    out.network_why = "NCCL_NET=IB, and no RDMA port can be used: \"Failed to initialize any NET plugin\"";
  } else {
    out.network = "Socket";
    out.network_why = lacks_verbs(facts)  ? "libibverbs cannot be opened"
                      : out.ports.empty() ? "no RDMA device"
                                          : "no RDMA port can be used";
  }
}

// Returns the selected interfaces that are up and have an address of the family, as NCCL finds them with
// getifaddrs.
std::vector<std::string> running(const Net& net, const NameList& list, const std::string& family) {
  std::vector<std::string> names;
  if (!net.interfaces.ok()) return names;
  for (const NetInterface& interface : *net.interfaces) {
    if (!list.selects(interface.name)) continue;
    if (interface.operational_state.value_or("up") == "down" || !interface.carrier.value_or(true)) continue;
    if (!interface.addresses.ok()) continue;
    const bool fits = std::ranges::any_of(*interface.addresses, [&](const InterfaceAddress& address) {
      return family.empty() || address.address.is_v4() == (family == "AF_INET");
    });
    if (fits) names.push_back(interface.name);
  }
  return names;
}

void Predictor::choose_interfaces() {
  const std::string family = settings.value("NCCL_SOCKET_FAMILY");
  const std::string wanted = settings.value("NCCL_SOCKET_IFNAME");
  if (wanted.size() > 1) {
    out.interfaces = running(facts.net, NameList::parse(wanted), family);
    out.interfaces_why = out.interfaces.empty()
                             ? fmt::format("NCCL_SOCKET_IFNAME={} matches none: NCCL does not start", wanted)
                             : fmt::format("NCCL_SOCKET_IFNAME={}", wanted);
    return;
  }
  // NCCL's own order: ib*, then all but docker*, lo*, virbr*, then those.
  constexpr std::pair<std::string_view, std::string_view> kOrder[] = {
      {"ib", "interfaces named ib* come first"},
      {"^docker,lo,virbr", "all but docker, loopback and virtual bridges"},
      {"docker", "nothing else is up"},
      {"lo", "nothing else is up: other nodes cannot be reached"},
      {"virbr", "nothing else is up"}};
  for (const auto& [names, why] : kOrder) {
    out.interfaces = running(facts.net, NameList::parse(names), family);
    out.interfaces_why = why;
    if (!out.interfaces.empty()) return;
  }
  out.interfaces_why = "no interface is up: \"no socket interface found\"";
}

std::string why_no_route(const GpuDirectRoutes& routes, bool dma_buf_allowed) {
  if (routes.no_peer_memory == routes.no_dma_buf) return routes.no_dma_buf;  // one cause for both
  return fmt::format("{}; DMA-BUF: {}", routes.no_peer_memory,
                     dma_buf_allowed ? routes.no_dma_buf : "switched off");
}

void Predictor::choose_route() {
  const GpuDirectRoutes routes = gpudirect_routes(facts);
  if (routes.peer_memory()) {
    out.gpudirect_route = "peermem";
    out.gpudirect_why = facts.gpus.peer_memory.ok() ? "nvidia-peermem is loaded"
                                                    : "nv_peer_mem is registered with the RDMA core";
  }
  const bool allowed = settings.number("NCCL_DMABUF_ENABLE").value_or(1) != 0 && version >= Version{2, 13, 0};
  if (allowed && routes.dma_buf()) {
    out.gpudirect_route = "DMA-BUF";
    out.gpudirect_why = "open NVIDIA module and a kernel that takes it; the NIC driver has the last word";
  } else if (out.gpudirect_route.empty()) {
    out.gpudirect_why = why_no_route(routes, allowed);
    if (routes.dma_buf() && !allowed) route_blocked_by = "NCCL_DMABUF_ENABLE";
  }
}

// Returns the rank of a level in NCCL's order of distances, -1 if unknown. PHB covers all host bridges of a
// node.
int distance(std::string_view level) {
  constexpr std::string_view kOrder[] = {"LOC", "NVL", "NVB", "C2C", "PIX",
                                         "PXB", "P2C", "PXN", "PHB", "SYS"};
  const auto found = std::ranges::find(kOrder, level);
  return found == std::end(kOrder) ? -1 : static_cast<int>(found - std::begin(kOrder));
}

// Returns the largest permitted distance of GPU and NIC; empty if it is not set to a value that NCCL accepts.
std::string wanted_level(const Settings& settings) {
  const std::string level = settings.value("NCCL_NET_GDR_LEVEL");
  constexpr std::string_view kByInteger[] = {"LOC", "PIX", "PXB", "PHB", "SYS"};
  if (const auto number = parse_number<std::size_t>(level))
    return std::string(kByInteger[std::min<std::size_t>(*number, 4)]);
  return distance(level) >= 0 ? level : "";
}

bool on_c2c(const GpuModel* model) { return model != nullptr && model->c2c; }

std::string_view Predictor::default_level(const GpuModel* model) const {
  const int by_default = version >= Version{2, 27, 3} ? 1 : 0;
  const bool through_c2c = settings.number("NCCL_NET_GDR_C2C").value_or(by_default) != 0;
  return on_c2c(model) && through_c2c ? "P2C" : "PXB";
}

// Returns why the GPU or the adapter does not support GPUDirect at all; empty if both do.
std::string Predictor::why_never(const Gpu& gpu, const GpuModel* model, const NicModel* card) const {
  const std::string why = why_gpu_cannot(gpu, model);
  return why.empty() && card != nullptr ? why_adapter_cannot(facts, *card) : why;
}

// Returns NCCL's name of the distance. NCCL does not distinguish the host bridges of one NUMA node.
std::string_view as_nccl_names(PathClass path, const GpuModel* model) {
  if (path != PathClass::kPhb && path != PathClass::kNode) return to_text(path);
  return on_c2c(model) ? "P2C" : "PHB";
}

// True if NCCL sends from host memory: before Ampere, if PCIe has other traffic, too, that is, with several
// GPUs without NVLink.
bool Predictor::sends_staged(const GpuModel* model) const {
  const auto wanted = settings.number("NCCL_NET_GDR_READ").value_or(-2);
  if (wanted >= 0) return wanted == 0;
  const bool alone = items(facts.gpus.devices).size() == 1;
  return model != nullptr && model->before_ampere() && model->nvlinks == 0 && !alone;
}

// Sets whether the distance permits GPUDirect, with the reason. If only NCCL_NET_GDR_LEVEL prevents it, that
// variable is `blocked_by`.
void Predictor::judge_distance(PairChoice& pair, PathClass path, const GpuModel* model) const {
  const std::string wanted = wanted_level(settings);
  const std::string_view level = wanted.empty() ? default_level(model) : wanted;
  const int apart = distance(as_nccl_names(path, model));
  const std::string_view whose = wanted.empty() ? "NCCL's default" : "NCCL_NET_GDR_LEVEL";
  pair.gpudirect = apart <= distance(level);
  pair.why = pair.gpudirect ? fmt::format("within {} ({})", level, whose)
                            : fmt::format("{} is farther than {} ({})", pair.path, level, whose);
  if (pair.gpudirect && sends_staged(model))
    pair.why += "; for receiving only, it sends from host memory (NCCL_NET_GDR_READ)";
  if (pair.gpudirect) return;
  if (wanted.empty() && apart == distance("PHB"))
    pair.why +=
        fmt::format("; NCCL_NET_GDR_LEVEL=PHB would go direct by {}: measure both", out.gpudirect_route);
  if (!wanted.empty() && apart <= distance(default_level(model))) pair.blocked_by = "NCCL_NET_GDR_LEVEL";
}

PairChoice Predictor::pair_of(const Gpu& gpu, const NicChoice& nic, const NicModel* card,
                              PathClass path) const {
  const GpuModel* const model = find_gpu_model(gpu.model.value_or(""));
  PairChoice pair{.gpu = gpu.pci_address, .nic = nic.name, .path = std::string(to_text(path)), .why = ""};
  pair.why = why_never(gpu, model, card);
  if (!pair.why.empty()) return pair;
  if (!out.gpudirect_route.empty()) {
    judge_distance(pair, path, model);
    return pair;
  }
  pair.why = out.gpudirect_why;
  pair.blocked_by = route_blocked_by;
  return pair;
}

void Predictor::choose_pairs() {
  if (!facts.pci.ok() || !facts.gpus.devices.ok()) return;
  for (const Gpu& gpu : *facts.gpus.devices) {
    const PciDevice* const gpu_pci = find_pci(*facts.pci, gpu.pci_address);
    if (gpu_pci == nullptr) continue;
    const std::size_t first = out.pairs.size();
    PathClass best = PathClass::kSys;
    std::vector<PathClass> paths;
    for (const NicChoice& nic : out.nics) {
      const PciDevice* const nic_pci = find_pci(*facts.pci, nic.pci_address);
      if (nic_pci == nullptr) continue;
      const PathClass path = path_between(*facts.pci, *gpu_pci, *nic_pci);
      best = std::min(best, path);
      paths.push_back(path);
      out.pairs.push_back(pair_of(gpu, nic, find_nic(nic_pci->device.value_or(0)), path));
    }
    for (std::size_t i = 0; i < paths.size(); ++i) out.pairs[first + i].nearest = paths[i] == best;
  }
}

}  // namespace

Choices predict(const Facts& facts, std::optional<Version> version) {
  if (!version) version = installed_version(facts.nccl);
  Predictor predictor{facts, version.value_or(kNewestKnown), Settings(facts.nccl), {}, {}, {}};
  predictor.choose_ports();
  predictor.fuse();
  predictor.choose_network();
  predictor.choose_interfaces();
  predictor.choose_route();
  predictor.choose_pairs();
  return std::move(predictor.out);
}

}  // namespace railbed::nccl
