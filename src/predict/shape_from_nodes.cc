#include "predict/shape_from_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "facts/facts.h"
#include "hardware/ceilings.h"
#include "hardware/gpu_ceilings.h"
#include "hardware/gpu_product.h"
#include "hardware/nic.h"
#include "hardware/part_model.h"
#include "hardware/pci_link.h"
#include "hardware/processor.h"
#include "hardware/spark.h"
#include "inventory/cluster.h"
#include "model/part_speed.h"
#include "nccl/choice.h"
#include "predict/forecast_range.h"
#include "predict/open_questions.h"
#include "results/collective.h"

namespace railbed {
namespace {

constexpr std::string_view kFromFacts = "facts";
constexpr std::string_view kFromFile = "cluster.yaml";

// What cluster.yaml has for one node.
struct FileNode {
  const Node* node = nullptr;
  std::vector<const ClusterPart*> parts;
  std::vector<std::pair<const Rail*, const RailPort*>> rails;

  const ClusterPart* part(PartKind kind) const {
    const auto found = std::ranges::find(parts, kind, &ClusterPart::kind);
    return found == parts.end() ? nullptr : *found;
  }
};

// Returns the nodes in the order of the file, without file servers. Rails for storage are left out, and rails of
// Ethernet where a node has others, for RDMA.
std::vector<FileNode> nodes_of(const Cluster& cluster) {
  std::vector<FileNode> all;
  std::unordered_map<std::string_view, std::size_t> places;
  const auto servers = storage_servers(cluster);
  for (const Node& node : cluster.nodes) {
    if (servers.contains(node.name)) continue;
    places.emplace(node.name, all.size());
    all.push_back({&node, {}, {}});
  }
  for (const ClusterPart& part : cluster.parts) {
    if (part.nodes.empty())
      for (FileNode& one : all) one.parts.push_back(&part);
    for (const std::string& name : part.nodes)
      if (const auto at = places.find(name); at != places.end()) all[at->second].parts.push_back(&part);
  }
  for (const Rail& rail : cluster.rails) {
    if (rail.purpose == RailPurpose::kStorage) continue;
    for (const RailPort& port : rail.ports)
      if (const auto at = places.find(port.node); at != places.end())
        all[at->second].rails.emplace_back(&rail, &port);
  }
  const auto is_ethernet = [](const auto& end) { return end.first->fabric == Fabric::kEthernet; };
  for (FileNode& one : all)
    if (!std::ranges::all_of(one.rails, is_ethernet)) std::erase_if(one.rails, is_ethernet);
  return all;
}

std::string_view kind_word(NicKind kind) {
  constexpr std::string_view kWords[] = {"ib",        "roce",  "efa",       "efa1",
                                         "slingshot", "tcpxo", "libfabric", "tcp"};
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
  words.nic =
      nic_words(static_cast<int>(ports.size()), slowest, roce ? NicKind::kRoce : NicKind::kInfiniband);
  words.staged =
      std::ranges::none_of(choices.pairs, [](const nccl::PairChoice& choice) { return choice.gpudirect; });
}

BitRate narrowest_pcie(const Facts& facts, const nccl::Choices& choices) {
  BitRate narrowest;
  for (const nccl::NicChoice& choice : choices.nics) {
    PciePath path = pcie_path_of(items(facts.pci), choice.pci_address, "");
    path.max_payload = path.max_payload.value_or(kUsualPayload);
    const auto limit = pcie_path_limit(path, PcieWay::kToMemory, false);
    if (!limit) continue;
    const BitRate usual = limit->least.value_or(limit->rate);
    if (narrowest.bits_per_second <= 0 || usual < narrowest) narrowest = usual;
  }
  return narrowest;
}

bool has_gpus(const Facts& facts) { return !items(facts.gpus.devices).empty(); }

// Returns the PCIe generation that the card and its slot support. The current link may show less while the
// card is idle.
int slot_generation_of(const Facts& facts, const std::string& address) {
  if (!facts.pci) return 0;
  const PciDevice* device = find_pci(*facts.pci, address);
  const RealLink link = device == nullptr ? RealLink{} : real_link(*facts.pci, *device);
  return link.possible ? pcie_generation_of(link.possible->gigatransfers) : 0;
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

// Returns the slowest of the rails' speeds and of what the parts on them can do.
std::optional<BitRate> planned_rate(const Cluster& cluster, const FileNode& file) {
  std::optional<BitRate> slowest;
  const auto add = [&](std::optional<BitRate> rate) {
    if (rate && rate->bits_per_second > 0 && (!slowest || *rate < *slowest)) slowest = rate;
  };
  for (const auto& [rail, port] : file.rails) {
    add(rail->speed);
    for (const ClusterPart& part : cluster.parts) {
      if (!is_on_rail(part, rail->name)) continue;
      if (part.kind == PartKind::kSwitch) add(switch_speed(part));
      if (part.kind == PartKind::kCable) add(cable_speed(part));
    }
    if (const ClusterPart* adapter = file.part(PartKind::kAdapter))
      add(adapter_speed(*adapter, rail->fabric));
  }
  return slowest;
}

// Sets a GB10's adapters: each rail is one function of its ConnectX-7. Interfaces "enp1s0f0np0" and
// "enP2p1s0f0np0" are the two halves of port 0.
void add_functions(ShapeWords& words, const FileNode& file, const std::optional<BitRate>& planned) {
  const BitRate port_rate = std::min(planned.value_or(kSparkPortRate), kSparkPortRate);
  std::map<std::string, int> by_half;
  std::map<std::string, int> by_port;
  for (const auto& [rail, port] : file.rails) {
    const auto at = port->interface.find("s0f");
    if (at == std::string::npos) continue;
    words.ports_of_card = std::max(words.ports_of_card, ++by_half[port->interface.substr(0, at)]);
    ++by_port[port->interface.substr(at)];
  }
  int paths = 1;
  for (const auto& [port, functions] : by_port) paths = std::max(paths, functions);
  words.functions = !by_half.empty();
  words.nic = nic_words(static_cast<int>(file.rails.size()), port_rate * (1.0 / paths), NicKind::kRoce);
}

// Sets the GPUs' name: the part's, as the expectation may be a piece of a name. Two names that contradict each other
// are both kept.
void add_planned_gpu(ShapeWords& words, const FileNode& file) {
  const Expectations& expect = file.node->expect;
  const ClusterPart* part = file.part(PartKind::kGpu);
  words.gpus = expect.gpus.value_or(part != nullptr ? part->quantity : 0);
  words.gpu = expect.gpu_model.value_or(part != nullptr ? part->model : "");
  if (part == nullptr) return;
  const bool has_slot = part->lanes || part->slot_watts || part->pcie;
  const std::vector<std::string> forms = gpu_forms(part->model);
  std::string model = part->model;
  if (has_slot && !forms.empty() && gpu_form(model) == GpuForm::kUnsaid) model = forms.back();
  if (gpu_form(model) != GpuForm::kBoard) words.pcie_generation = part->pcie.value_or(0);
  if (has_slot && !forms.empty() && gpu_form(model) == GpuForm::kBoard) {
    words.gpu_else = forms.back();
    words.notes.push_back(
        fmt::format("cluster.yaml contradicts itself: {} is a GPU of a board, and parts give it a slot",
                    printable(part->model)));
  }
  if (find_gpu_product(model) == nullptr) {
    if (expect.gpu_model)
      words.notes.push_back(
          fmt::format("parts: {} is in no table of GPUs and changes nothing", printable(part->model)));
    return;
  }
  const GpuProduct* expected = find_gpu_product(words.gpu);
  const bool same_line = lower(model).find(lower(words.gpu)) != std::string::npos ||
                         (!forms.empty() && forms == gpu_forms(words.gpu));
  const GpuForm form = gpu_form(words.gpu);
  const bool same_form =
      form == GpuForm::kUnsaid || gpu_form(model) == GpuForm::kUnsaid || form == gpu_form(model);
  if (expected == nullptr || (same_line && same_form)) {
    if (form == GpuForm::kUnsaid || gpu_form(model) != GpuForm::kUnsaid) words.gpu = model;
    return;
  }
  words.gpu_else = model;
  words.pcie_generation = 0;
  words.notes.push_back(fmt::format("cluster.yaml contradicts itself: it expects {}, and parts name {}",
                                    printable(words.gpu), printable(model)));
}

void add_planned_adapter(ShapeWords& words, const FileNode& file) {
  const ClusterPart* server = file.part(PartKind::kServer);
  if (server != nullptr)
    words.nic_pcie_generation = server->pcie.value_or(pcie_generation(server->processor).value_or(0));
  const ClusterPart* adapter = file.part(PartKind::kAdapter);
  if (adapter == nullptr) return;
  words.adapter = adapter->model;
  words.nic_pcie_generation = adapter->pcie.value_or(words.nic_pcie_generation);
  words.nic_pcie_lanes = adapter->lanes.value_or(0);
  if (find_nic_of_part(adapter->model) == nullptr)
    words.notes.push_back(fmt::format("parts: {} is in no table of adapters, so what it can do is not known",
                                      printable(adapter->model)));
  const int rails = static_cast<int>(file.rails.size());
  words.ports_of_card = std::max(1, (rails + adapter->quantity - 1) / std::max(1, adapter->quantity));
}

ShapeWords words_of(const Cluster& cluster, const FileNode& file) {
  ShapeWords words;
  add_planned_gpu(words, file);
  words.nccl = file.node->expect.nccl.value_or("");
  if (const ClusterPart* server = file.part(PartKind::kServer))
    words.amd = server->processor.find("EPYC") != std::string::npos;
  if (file.rails.empty()) return words;
  add_planned_adapter(words, file);
  const auto rate = planned_rate(cluster, file);
  const GpuProduct* product = find_gpu_product(words.gpu);
  if (product != nullptr && product->market == GpuMarket::kUnified)
    add_functions(words, file, rate);
  else if (rate)
    words.nic =
        nic_words(static_cast<int>(file.rails.size()), *rate, kind_of(file.rails.front().first->fabric));
  return words;
}

void override_words(ShapeWords& words, const ShapeWords& by) {
  if (!by.gpu.empty()) {
    words.gpu = by.gpu;
    words.gpu_else.clear();
  }
  if (by.gpus > 0) {
    words.of_gpus = words.gpus;
    words.gpus = by.gpus;
  }
  if (by.nodes > 0) words.nodes = by.nodes;
  if (!by.nic.empty()) {
    words.nic = by.nic;
    words.of_gpus = 0;
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

// What is known of one kind of node, and where from.
struct KindWords {
  std::string node;  // the first of this kind
  ShapeWords words;
  const Facts* facts = nullptr;  // null: cluster.yaml alone
  nccl::Choices choices = {};
};

// Returns the kinds of nodes: of those with facts of GPUs each, else those of the file that differ. Nodes of the file
// that name no GPU are left out if others do; `nodes` is the number that remains.
std::vector<KindWords> kinds_of(const Cluster& cluster, const std::map<std::string, Facts>& facts,
                                bool gpu_given, int& nodes) {
  std::vector<KindWords> all;
  for (const auto& [node, known] : facts) {
    if (!has_gpus(known)) continue;
    KindWords one{node, {}, &known, nccl::predict(known, std::nullopt)};
    one.words = words_of(known, one.choices);
    all.push_back(std::move(one));
  }
  nodes = static_cast<int>(std::max(cluster.nodes.size() - storage_servers(cluster).size(), facts.size()));
  if (!all.empty()) return all;
  int without = 0;
  std::string bare;
  std::set<ShapeWords> seen;
  for (const FileNode& file : nodes_of(cluster)) {
    const ShapeWords words = words_of(cluster, file);
    if (words.gpu.empty() && !gpu_given && ++without > 0) bare = file.node->name;
    if (seen.insert(words).second) all.push_back({file.node->name, words});
  }
  if (all.empty()) all.push_back({});
  if (without == 0 || all.size() == 1) return all;
  std::erase_if(all, [](const KindWords& one) { return one.words.gpu.empty(); });
  if (all.empty()) return {KindWords{}};
  nodes -= without;
  for (KindWords& one : all)
    one.words.notes.push_back(fmt::format("{} of the nodes name{} no GPU and {} left out, as {}", without,
                                          without == 1 ? "s" : "", without == 1 ? "is" : "are",
                                          printable(bare)));
  return all;
}

Result<ClusterShape> shape_of_kind(const KindWords& one, const ShapeWords& by, int nodes) {
  ShapeWords words = one.words;
  words.nodes = nodes;
  override_words(words, by);
  if (words.gpu.empty())
    return fail(ErrorKind::kBadInput,
                "nothing says what GPUs there are: name them (--gpu H100), or say expect.gpu_model in "
                "cluster.yaml, or give facts of a node that has some");
  if (by.gpu.empty() && one.facts == nullptr && find_gpu_product(words.gpu) == nullptr)
    return fail(
        ErrorKind::kBadInput,
        fmt::format("cluster.yaml names {} as the GPUs of {}, and no GPU of the table has that name: write "
                    "another model, or --gpu H100",
                    words.gpu, one.node));
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
  return shape;
}

// Returns the properties that decide a forecast.
std::string properties_of(const ClusterShape& shape) {
  std::string text = fmt::format("{} x {}, {} {:.0f}, {} x {:g} Gb/s, slot {:.1f}, {}", shape.gpus, shape.gpu,
                                 static_cast<int>(shape.link), shape.link_rate.gigabytes(), shape.nics,
                                 shape.nic_rate.gigabits(), shape.nic_pcie.gigabytes(), shape.gpudirect);
  for (const OpenQuestion& question : shape.open) text += ", " + question.what;
  return text;
}

double pace_of(const ClusterShape& shape) {
  ClusterShape several = slowest_shape(shape);
  if (several.ranks() < 2) several.nodes = 2;
  return forecast_collective(several, Collective::kAllReduce, kReferenceBytes).busbw;
}

struct NodeKind {
  ClusterShape shape;
  std::string node;  // the first of this kind
  double pace = 0;
};
constexpr std::size_t kMostKinds = 64;  // the slowest are kept
constexpr std::size_t kKindsNamed = 4;

std::string kind_text(const NodeKind& kind) {
  const ClusterShape& shape = kind.shape;
  return fmt::format("{} has {} x {} and {} x {:g} Gb/s{}", printable(kind.node), shape.gpus,
                     printable(shape.gpu), shape.nics, shape.nic_rate.gigabits(),
                     shape.gpudirect || shape.nics == 0 ? "" : " without GPUDirect");
}

// Returns the slowest shape with a note of the others.
ClusterShape slowest_of(std::vector<NodeKind> kinds) {
  if (kinds.size() == 1) return std::move(kinds.front().shape);
  for (NodeKind& kind : kinds) kind.pace = pace_of(kind.shape);
  std::ranges::stable_sort(kinds, {}, &NodeKind::pace);
  std::string text = fmt::format("the nodes differ; the forecast is that of nodes like the slowest: {}",
                                 kind_text(kinds.front()));
  for (std::size_t i = 1; i < std::min(kinds.size(), kKindsNamed); ++i) text += "; " + kind_text(kinds[i]);
  if (kinds.size() > kKindsNamed) text += fmt::format("; {} further kinds", kinds.size() - kKindsNamed);
  ClusterShape shape = std::move(kinds.front().shape);
  shape.notes.push_back(std::move(text));
  for (std::size_t i = 1; i < std::min(kinds.size(), kMostKinds); ++i)
    shape.others.push_back(std::move(kinds[i].shape));
  return shape;
}

}  // namespace

Result<ClusterShape> shape_from_nodes(const Cluster& cluster, const std::map<std::string, Facts>& facts,
                                      const ShapeWords& by) {
  int nodes = 0;
  std::vector<NodeKind> kinds;
  std::set<std::string> seen;
  for (const KindWords& one : kinds_of(cluster, facts, !by.gpu.empty(), nodes)) {
    ASSIGN_OR_RETURN(auto shape, shape_of_kind(one, by, nodes));
    if (seen.insert(properties_of(shape)).second) kinds.push_back({std::move(shape), one.node});
  }
  return slowest_of(std::move(kinds));
}

void settle_gpu(ClusterShape& shape, const CollectiveReport& report) {
  const auto question = std::ranges::find(shape.open, kFormQuestion, &OpenQuestion::what);
  if (question == shape.open.end() || report.ranks.empty()) return;
  const std::string& name = report.ranks.front().gpu.name;
  if (find_gpu_product(name) == nullptr) return;
  shape = answered(std::move(shape), {.value = name, .gpu = name});
  std::erase_if(shape.open, [](const OpenQuestion& one) { return one.what == kFormQuestion; });
}

void fit_to_report(ClusterShape& shape, const CollectiveReport& report) {
  if (!report.version.empty()) shape.nccl = report.version;
  settle_gpu(shape, report);
  std::set<std::string> nodes;
  for (const CollectiveRank& rank : report.ranks) nodes.insert(rank.node);
  if (nodes.empty()) return;
  shape.nodes = static_cast<int>(nodes.size());
  const int before = shape.gpus;
  shape.gpus = std::max(1, static_cast<int>(report.ranks.size() / nodes.size()));
  if (shape.gpus < before) use_near_adapters(shape, before);
  for (ClusterShape& other : shape.others) fit_to_report(other, report);
}

}  // namespace railbed
