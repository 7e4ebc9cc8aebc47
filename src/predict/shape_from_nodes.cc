#include "predict/shape_from_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "facts/facts.h"
#include "hardware/ceilings.h"
#include "hardware/gpu_ceilings.h"
#include "hardware/nic.h"
#include "hardware/part_model.h"
#include "hardware/processor.h"
#include "hardware/spark.h"
#include "inventory/cluster.h"
#include "nccl/choice.h"
#include "predict/forecast_range.h"
#include "results/collective.h"

namespace railbed {
namespace {

constexpr std::string_view kFromFacts = "facts";
constexpr std::string_view kFromFile = "cluster.yaml";

// Returns the first part of a kind on a node; null if there is none.
const ClusterPart* find_part(const Cluster& cluster, PartKind kind, std::string_view node) {
  const auto found = std::ranges::find_if(cluster.parts, [&](const ClusterPart& part) {
    return part.kind == kind &&
           (part.nodes.empty() || std::ranges::find(part.nodes, node) != part.nodes.end());
  });
  return found == cluster.parts.end() ? nullptr : &*found;
}

std::string_view kind_word(NicKind kind) {
  constexpr std::string_view kWords[] = {"ib", "roce", "efa", "libfabric", "tcp"};
  return kWords[static_cast<std::size_t>(kind)];
}
std::string nic_words(int count, BitRate rate, NicKind kind) {
  return fmt::format("{}x{:.0f}{}", count, rate.gigabits(), kind_word(kind));
}

void add_sockets(ShapeWords& words, const Facts& facts, const std::vector<std::string>& interfaces) {
  BitRate slowest;
  int count = 0;
  for (const NetInterface& interface : items(facts.net.interfaces)) {
    if (std::ranges::find(interfaces, interface.name) == interfaces.end() ||
        interface.speed_mbps.value_or(0) <= 0)
      continue;
    const BitRate rate = BitRate::gigabits(*interface.speed_mbps / 1e3);
    slowest = count++ == 0 ? rate : std::min(slowest, rate);
  }
  if (count > 0 && slowest.gigabits() >= 1) words.nic = nic_words(count, slowest, NicKind::kTcp);
}

// A port that carries data: its rate, and the slot and function of its adapter.
struct UsedPort {
  BitRate rate;
  std::string slot;      // "0000:01:00"
  std::string function;  // "1"
};

// Returns the ports that NCCL would use, of fused adapters each port.
std::vector<UsedPort> used_ports(const Facts& facts, const nccl::Choices& choices) {
  std::vector<UsedPort> ports;
  for (const nccl::PortChoice& choice : choices.ports) {
    if (!choice.used) continue;
    const auto& devices = items(facts.rdma.devices);
    const auto device = std::ranges::find(devices, choice.device, &RdmaDevice::name);
    const std::string address = device == devices.end() ? "" : device->pci_address.value_or("");
    const auto dot = std::min(address.rfind('.'), address.size());
    ports.push_back({choice.rate, address.substr(0, dot), address.substr(dot)});
  }
  return ports;
}

// Sets the adapters that NCCL would choose there by its own rules.
void add_chosen_nics(ShapeWords& words, const Facts& facts, const nccl::Choices& choices) {
  if (choices.network == "Socket") return add_sockets(words, facts, choices.interfaces);
  const std::vector<UsedPort> ports = used_ports(facts, choices);
  if (ports.empty()) return;
  std::map<std::string, int> by_slot;
  std::map<std::string, int> by_function;
  BitRate slowest = ports.front().rate;
  for (const UsedPort& port : ports) {
    slowest = std::min(slowest, port.rate);
    if (port.slot.empty()) continue;
    words.ports_of_card = std::max(words.ports_of_card, ++by_slot[port.slot]);
    ++by_function[port.function];
  }
  const Gpu& gpu = items(facts.gpus.devices).front();
  const GpuProduct* product = find_gpu_product(gpu.model.value_or(""));
  if (product != nullptr && product->market == GpuMarket::kUnified) {
    words.functions = true;
    // Functions of one number are paths to one cable, and share its rate.
    for (const auto& [function, paths] : by_function)
      if (paths > 1) slowest = slowest * (1.0 / paths);
  }
  const auto used = std::ranges::find(choices.ports, true, &nccl::PortChoice::used);
  const bool roce = used != choices.ports.end() && used->link == "RoCE";
  if (slowest.gigabits() < 1) return;
  words.nic = nic_words(static_cast<int>(ports.size()), slowest, roce ? NicKind::kRoce : NicKind::kInfiniband);
  words.staged =
      std::ranges::none_of(choices.pairs, [](const nccl::PairChoice& choice) { return choice.gpudirect; });
}

BitRate narrowest_pcie(const Facts& facts, const nccl::Choices& choices) {
  BitRate narrowest;
  for (const nccl::NicChoice& choice : choices.nics) {
    const auto limit = facts.pci ? pcie_limit(*facts.pci, choice.pci_address, "") : std::nullopt;
    if (limit && (narrowest.bits_per_second <= 0 || limit->rate < narrowest)) narrowest = limit->rate;
  }
  return narrowest;
}

bool has_gpus(const Facts& facts) { return !items(facts.gpus.devices).empty(); }

// Returns the PCIe generation that the card and its slot support. The current link may show less while the
// card is idle.
int slot_generation_of(const Facts& facts, const std::string& address) {
  if (!facts.pci) return 0;
  const PciDevice* device = find_pci(*facts.pci, address);
  if (device == nullptr || !device->link_max) return 0;
  double speed = device->link_max->gigatransfers;
  const PciDevice* above = find_pci(*facts.pci, device->parent.value_or(""));
  if (above != nullptr && above->link_max) speed = std::min(speed, above->link_max->gigatransfers);
  return speed >= 60 ? 6 : speed >= 30 ? 5 : speed >= 15 ? 4 : 3;
}

ShapeWords words_of(const Facts& facts, const nccl::Choices& choices) {
  ShapeWords words;
  words.looked = true;
  const Gpu& gpu = items(facts.gpus.devices).front();
  words.gpu = gpu.model.value_or("");
  words.gpus = static_cast<int>(items(facts.gpus.devices).size());
  if (!nvlink_limit(facts, gpu.pci_address, ""))
    words.pcie_generation = slot_generation_of(facts, gpu.pci_address);
  const std::string processor = facts.system.cpu.model.value_or("");
  words.amd = processor.find("AMD") != std::string::npos;
  if (facts.nccl.library) words.nccl = facts.nccl.library->version;
  const auto* nvls = effective(facts.nccl, "NCCL_NVLS_ENABLE");
  words.no_nvls = nvls != nullptr && nvls->value == "0";
  add_chosen_nics(words, facts, choices);
  return words;
}

NicKind kind_of(Fabric fabric) {
  if (fabric == Fabric::kInfiniband) return NicKind::kInfiniband;
  return fabric == Fabric::kRoce ? NicKind::kRoce : NicKind::kTcp;
}

std::optional<BitRate> rate_of_part(const ClusterPart& part, Fabric fabric) {
  const bool infiniband = fabric == Fabric::kInfiniband;
  if (part.speed) return part.speed;
  if (part.kind == PartKind::kSwitch)
    if (const SwitchModel* model = find_switch_model(part.model)) return model->speed;
  if (part.kind == PartKind::kCable)
    if (const CableModel* model = find_cable_model(part.model)) return model->speed;
  if (part.kind != PartKind::kAdapter) return std::nullopt;
  if (const AdapterModel* model = find_adapter_model(part.model))
    return infiniband ? model->infiniband : model->ethernet;
  const NicModel* nic = find_nic_named(part.model);
  if (nic == nullptr) return std::nullopt;
  return infiniband ? nic->infiniband : nic->ethernet;
}

// Returns the slowest of the rails' speeds and of what the parts on them can do.
std::optional<BitRate> planned_rate(const Cluster& cluster, std::string_view node) {
  std::optional<BitRate> slowest;
  const auto add = [&](std::optional<BitRate> rate) {
    if (rate && rate->bits_per_second > 0 && (!slowest || *rate < *slowest)) slowest = rate;
  };
  for (const Rail& rail : cluster.rails) {
    add(rail.speed);
    for (const ClusterPart& part : cluster.parts) {
      const bool on_rail = part.rails.empty() || std::ranges::find(part.rails, rail.name) != part.rails.end();
      if ((part.kind == PartKind::kSwitch || part.kind == PartKind::kCable) && on_rail)
        add(rate_of_part(part, rail.fabric));
    }
    if (const ClusterPart* adapter = find_part(cluster, PartKind::kAdapter, node))
      add(rate_of_part(*adapter, rail.fabric));
  }
  return slowest;
}

// Sets a GB10's adapters: each rail is one function of its ConnectX-7. Interfaces "enp1s0f0np0" and
// "enP2p1s0f0np0" are the two halves of port 0.
void add_functions(ShapeWords& words, const Cluster& cluster, std::string_view node,
                   const std::optional<BitRate>& planned) {
  const BitRate port_rate = std::min(planned.value_or(kSparkPortRate), kSparkPortRate);
  std::map<std::string, int> by_half;
  std::map<std::string, int> by_port;
  for (const Rail& rail : cluster.rails) {
    const RailPort* port = find_port(rail, node);
    const std::string name = port == nullptr ? "" : port->interface;
    const auto at = name.find("s0f");
    if (at == std::string::npos) continue;
    words.ports_of_card = std::max(words.ports_of_card, ++by_half[name.substr(0, at)]);
    ++by_port[name.substr(at)];
  }
  int paths = 1;
  for (const auto& [port, functions] : by_port) paths = std::max(paths, functions);
  words.functions = true;
  words.nic = nic_words(static_cast<int>(cluster.rails.size()), port_rate * (1.0 / paths), NicKind::kRoce);
}

// Returns the name that says most: the expectation may be a part of the product's name.
std::string gpu_of(const ClusterPart* part, const Expectations& expect) {
  if (part == nullptr) return expect.gpu_model.value_or("");
  if (!expect.gpu_model) return part->model;
  return lower(part->model).find(lower(*expect.gpu_model)) != std::string::npos ? part->model : *expect.gpu_model;
}

void add_planned_adapter(ShapeWords& words, const Cluster& cluster, const Node& node) {
  const ClusterPart* adapter = find_part(cluster, PartKind::kAdapter, node.name);
  if (adapter == nullptr) return;
  words.adapter = adapter->model;
  words.nic_pcie_generation = adapter->pcie.value_or(0);
  words.nic_pcie_lanes = adapter->lanes.value_or(0);
  const int rails = static_cast<int>(cluster.rails.size());
  words.ports_of_card = std::max(1, (rails + adapter->quantity - 1) / std::max(1, adapter->quantity));
  const ClusterPart* server = find_part(cluster, PartKind::kServer, node.name);
  if (server == nullptr || words.nic_pcie_generation > 0) return;
  words.nic_pcie_generation = server->pcie.value_or(pcie_generation(server->processor).value_or(0));
}

ShapeWords words_of(const Cluster& cluster, const Node& node) {
  ShapeWords words;
  const ClusterPart* gpu = find_part(cluster, PartKind::kGpu, node.name);
  words.gpu = gpu_of(gpu, node.expect);
  words.gpus = node.expect.gpus.value_or(gpu != nullptr ? gpu->quantity : 0);
  if (gpu != nullptr) words.pcie_generation = gpu->pcie.value_or(0);
  words.nccl = node.expect.nccl.value_or("");
  if (const ClusterPart* server = find_part(cluster, PartKind::kServer, node.name))
    words.amd = server->processor.find("EPYC") != std::string::npos;
  if (cluster.rails.empty()) return words;
  add_planned_adapter(words, cluster, node);
  const auto rate = planned_rate(cluster, node.name);
  const GpuProduct* product = find_gpu_product(words.gpu);
  if (product != nullptr && product->market == GpuMarket::kUnified)
    add_functions(words, cluster, node.name, rate);
  else if (rate)
    words.nic = nic_words(static_cast<int>(cluster.rails.size()), *rate, kind_of(cluster.rails[0].fabric));
  return words;
}

void override_words(ShapeWords& words, const ShapeWords& by) {
  if (!by.gpu.empty()) words.gpu = by.gpu;
  if (by.gpus > 0) words.gpus = by.gpus;
  if (by.nodes > 0) words.nodes = by.nodes;
  if (!by.nic.empty()) {
    words.nic = by.nic;
    words.ports_of_card = by.ports_of_card;
    words.functions = by.functions;
  }
  if (!by.adapter.empty()) words.adapter = by.adapter;
  if (by.pcie_generation > 0) words.pcie_generation = by.pcie_generation;
  if (by.nic_pcie_generation > 0) words.nic_pcie_generation = by.nic_pcie_generation;
  if (by.nic_pcie_lanes > 0) words.nic_pcie_lanes = by.nic_pcie_lanes;
  if (by.domain_nodes > 0) words.domain_nodes = by.domain_nodes;
  if (!by.nccl.empty()) words.nccl = by.nccl;
  words.staged |= by.staged;
  words.peers |= by.peers;
  words.no_nvls |= by.no_nvls;
  words.amd |= by.amd;
}

// Replaces the source "command line" of properties that the user did not type.
void say_sources(ClusterShape& shape, const ShapeWords& seen, const ShapeWords& by, std::string_view from) {
  for (ShapeSaying& saying : shape.said) {
    if (saying.from != "command line") continue;
    const bool typed =
        (saying.what == "GPU" && !by.gpu.empty()) || (saying.what == "GPUs a node" && by.gpus > 0) ||
        (saying.what == "nodes" && by.nodes > 0) || (saying.what == "adapters" && !by.nic.empty());
    const bool was_seen = saying.what != "GPU" || !seen.gpu.empty();
    if (!typed && was_seen) saying.from = from;
  }
}

// What is known of one node, and where from.
struct NodeWords {
  std::string node;
  ShapeWords words;
  const Facts* facts = nullptr;  // null: cluster.yaml alone
  nccl::Choices choices;
};

// Returns one entry for each node with facts of GPUs; without such facts one for each node of the file.
std::vector<NodeWords> words_of_nodes(const Cluster& cluster, const std::map<std::string, Facts>& facts) {
  std::vector<NodeWords> all;
  for (const auto& [node, known] : facts) {
    if (!has_gpus(known)) continue;
    NodeWords one{node, {}, &known, nccl::predict(known, std::nullopt)};
    one.words = words_of(known, one.choices);
    all.push_back(std::move(one));
  }
  if (!all.empty()) return all;
  for (const Node& node : cluster.nodes) all.push_back({node.name, words_of(cluster, node), nullptr, {}});
  if (all.empty()) all.push_back({});
  return all;
}

Result<ClusterShape> shape_of(const NodeWords& one, const ShapeWords& by, int nodes) {
  ShapeWords words = one.words;
  words.nodes = nodes;
  override_words(words, by);
  if (words.gpu.empty())
    return fail(ErrorKind::kBadInput,
                "nothing says what GPUs there are: name them (--gpu H100), or say expect.gpu_model in "
                "cluster.yaml, or give facts of a node that has some");
  if (words.nodes > 1 && words.nic.empty() && one.facts != nullptr)
    return fail(ErrorKind::kBadInput,
                "no adapter of these nodes states its speed: name them, as --nic 8x400ib");
  auto shape = shape_from_words(words);
  if (!shape) return shape;
  say_sources(*shape, one.words, by, one.facts != nullptr ? kFromFacts : kFromFile);
  if (one.facts != nullptr && by.nic.empty() && by.nic_pcie_lanes == 0) {
    const BitRate narrowest = narrowest_pcie(*one.facts, one.choices);
    shape->nic_pcie = narrowest * (1.0 / std::max(1, shape->ports_of_card));
    if (narrowest.bits_per_second > 0)
      say(*shape, "adapters' slots", fmt::format("{:.1f} GB/s, the narrowest hop", narrowest.gigabytes()),
          kFromFacts);
  }
  if (by.gpus > 0 && by.nic.empty()) use_near_adapters(*shape, by.gpus, one.words.gpus);
  return shape;
}

// The properties that decide a forecast, for comparison of nodes.
std::string properties_of(const ClusterShape& shape) {
  return fmt::format("{} x {}, {} x {:g} Gb/s, slot {:.1f}, {}", shape.gpus, shape.gpu, shape.nics,
                     shape.nic_rate.gigabits(), shape.nic_pcie.gigabytes(), shape.gpudirect);
}

double pace_of(const ClusterShape& shape) {
  ClusterShape several = shape;
  if (several.ranks() < 2) several.nodes = 2;
  constexpr std::uint64_t kReference = std::uint64_t{1} << 30;
  return forecast_collective(slowest_shape(several), Collective::kAllReduce, kReference).busbw;
}

}  // namespace

Result<ClusterShape> shape_from_nodes(const Cluster& cluster, const std::map<std::string, Facts>& facts,
                                      const ShapeWords& by) {
  const int nodes = static_cast<int>(std::max(cluster.nodes.size(), facts.size()));
  std::map<std::string, std::pair<ClusterShape, std::string>> kinds;  // by properties; with a node's name
  for (const NodeWords& one : words_of_nodes(cluster, facts)) {
    ASSIGN_OR_RETURN(const auto shape, shape_of(one, by, nodes));
    kinds.try_emplace(properties_of(shape), shape, one.node);
  }
  const auto* slowest = &kinds.begin()->second;
  double pace = kinds.size() > 1 ? pace_of(slowest->first) : 0;
  for (const auto& [properties, kind] : kinds) {
    const double own = kinds.size() > 1 ? pace_of(kind.first) : 0;
    if (own >= pace) continue;
    slowest = &kind;
    pace = own;
  }
  ClusterShape shape = slowest->first;
  if (kinds.size() < 2) return shape;
  shape.notes.push_back(
      fmt::format("the nodes differ; the forecast is that of the slowest, {}: {} {}, {} port{} of {:g} Gb/s",
                  printable(slowest->second), shape.gpus, printable(shape.gpu), shape.nics, shape.nics == 1 ? "" : "s",
                  shape.nic_rate.gigabits()));
  return shape;
}

void fit_to_report(ClusterShape& shape, const CollectiveReport& report) {
  if (!report.version.empty()) shape.nccl = report.version;
  std::set<std::string> nodes;
  for (const CollectiveRank& rank : report.ranks) nodes.insert(rank.node);
  if (nodes.empty()) return;
  shape.nodes = static_cast<int>(nodes.size());
  const int before = shape.gpus;
  shape.gpus = std::max(1, static_cast<int>(report.ranks.size() / nodes.size()));
  if (shape.gpus < before) use_near_adapters(shape, shape.gpus, before);
}

}  // namespace railbed
