#include "predict/shape_from_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "facts/facts.h"
#include "hardware/ceilings.h"
#include "hardware/gpu_ceilings.h"
#include "hardware/nic.h"
#include "hardware/pci_link.h"
#include "inventory/cluster.h"
#include "nccl/choice.h"
#include "results/collective.h"

namespace railbed {
namespace {

constexpr std::string_view kFromFacts = "facts";
constexpr std::string_view kFromFile = "cluster.yaml";

const ClusterPart* find_part(const Cluster& cluster, PartKind kind) {
  const auto found = std::ranges::find(cluster.parts, kind, &ClusterPart::kind);
  return found == cluster.parts.end() ? nullptr : &*found;
}

// Sets a property's line in `said`; a later one replaces an earlier one.
class Saying {
 public:
  explicit Saying(ClusterShape& shape) : shape_(shape) {}
  void operator()(const std::string& what, std::string value, std::string_view from) {
    std::erase_if(shape_.said, [&](const ShapeSaying& saying) { return saying.what == what; });
    shape_.said.push_back({what, std::move(value), std::string(from)});
  }

 private:
  ClusterShape& shape_;
};

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

// Sets the adapters that NCCL would choose there by its own rules.
void add_chosen_nics(ShapeWords& words, const Facts& facts, const nccl::Choices& choices) {
  if (choices.network == "Socket") return add_sockets(words, facts, choices.interfaces);
  if (choices.nics.empty()) return;
  BitRate slowest = choices.nics.front().rate;
  for (const nccl::NicChoice& choice : choices.nics) slowest = std::min(slowest, choice.rate);
  const auto used = std::ranges::find(choices.ports, true, &nccl::PortChoice::used);
  const bool roce = used != choices.ports.end() && used->link == "RoCE";
  if (slowest.gigabits() < 1) return;
  words.nic =
      nic_words(static_cast<int>(choices.nics.size()), slowest, roce ? NicKind::kRoce : NicKind::kInfiniband);
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

// Returns the slowest speed of the rails, else that of the adapter among the parts.
std::optional<BitRate> planned_rate(const Cluster& cluster) {
  std::optional<BitRate> slowest;
  for (const Rail& rail : cluster.rails)
    if (rail.speed && (!slowest || *rail.speed < *slowest)) slowest = rail.speed;
  if (slowest) return slowest;
  const ClusterPart* adapter = find_part(cluster, PartKind::kAdapter);
  if (adapter == nullptr) return std::nullopt;
  if (adapter->speed) return adapter->speed;
  const NicModel* model = find_nic_named(adapter->model);
  if (model == nullptr) return std::nullopt;
  return std::max(model->infiniband, model->ethernet);
}

ShapeWords words_of(const Cluster& cluster) {
  ShapeWords words;
  const ClusterPart* gpu = find_part(cluster, PartKind::kGpu);
  if (gpu != nullptr) {
    words.gpu = gpu->model;
    words.gpus = gpu->quantity;
    words.pcie_generation = gpu->pcie.value_or(0);
  }
  if (!cluster.nodes.empty()) {
    const Expectations& expect = cluster.nodes.front().expect;
    if (expect.gpu_model) words.gpu = *expect.gpu_model;
    if (expect.gpus) words.gpus = *expect.gpus;
    words.nccl = expect.nccl.value_or("");
  }
  if (const ClusterPart* adapter = find_part(cluster, PartKind::kAdapter); adapter != nullptr) {
    words.nic_pcie_generation = adapter->pcie.value_or(0);
    words.nic_pcie_lanes = adapter->lanes.value_or(0);
  }
  if (const auto rate = planned_rate(cluster); rate && !cluster.rails.empty())
    words.nic = nic_words(static_cast<int>(cluster.rails.size()), *rate, kind_of(cluster.rails[0].fabric));
  return words;
}

void override_words(ShapeWords& words, const ShapeWords& by) {
  if (!by.gpu.empty()) words.gpu = by.gpu;
  if (by.gpus > 0) words.gpus = by.gpus;
  if (by.nodes > 0) words.nodes = by.nodes;
  if (!by.nic.empty()) words.nic = by.nic;
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

}  // namespace

Result<ClusterShape> shape_from_nodes(const Cluster& cluster, const std::map<std::string, Facts>& facts,
                                      const ShapeWords& by) {
  const auto seen = std::ranges::find_if(facts, [](const auto& one) { return has_gpus(one.second); });
  const bool looked = seen != facts.end();
  const nccl::Choices choices = looked ? nccl::predict(seen->second, std::nullopt) : nccl::Choices{};
  ShapeWords words = looked ? words_of(seen->second, choices) : words_of(cluster);
  const ShapeWords found = words;
  words.nodes = static_cast<int>(std::max(cluster.nodes.size(), facts.size()));
  override_words(words, by);
  if (words.gpu.empty())
    return fail(ErrorKind::kBadInput,
                "nothing says what GPUs there are: name them (--gpu H100), or say expect.gpu_model in "
                "cluster.yaml, or give facts of a node that has some");
  if (words.nodes > 1 && words.nic.empty() && looked)
    return fail(ErrorKind::kBadInput,
                "no adapter of these nodes states its speed: name them, as --nic 8x400ib");
  auto shape = shape_from_words(words);
  if (!shape) return shape;
  say_sources(*shape, found, by, looked ? kFromFacts : kFromFile);
  if (looked && by.nic.empty() && by.nic_pcie_lanes == 0) {
    shape->nic_pcie = narrowest_pcie(seen->second, choices);
    if (shape->nic_pcie.bits_per_second > 0)
      Saying{*shape}("adapters' slots",
                     fmt::format("{:.1f} GB/s, the narrowest hop", shape->nic_pcie.gigabytes()), kFromFacts);
  }
  return shape;
}

void fit_to_report(ClusterShape& shape, const CollectiveReport& report) {
  if (!report.version.empty()) shape.nccl = report.version;
  std::set<std::string> nodes;
  for (const CollectiveRank& rank : report.ranks) nodes.insert(rank.node);
  if (nodes.empty()) return;
  shape.nodes = static_cast<int>(nodes.size());
  shape.gpus = std::max(1, static_cast<int>(report.ranks.size() / nodes.size()));
}

}  // namespace railbed
