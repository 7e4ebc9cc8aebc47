#include "predict/cluster_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "hardware/ceilings.h"
#include "hardware/gpu_product.h"
#include "hardware/nic.h"
#include "hardware/part_model.h"
#include "hardware/spark.h"
#include "predict/open_questions.h"
#include "predict/path_limits.h"

namespace railbed {
namespace {

// NVLinks of products whose boards connect their GPUs, from HGX data sheets. Those of the export models: 400 GB/s
// of A800 and H800 are eight links of 50 (NV8 in `nvidia-smi topo -m`), 900 of H20 are all 18. GH200 is wired four
// to a node without NVSwitch.
struct Joined {
  std::string_view name;
  int links;
  bool nvswitch;
};
constexpr Joined kJoined[] = {
    {"P100", 4, false}, {"V100", 6, false},  {"A100", 12, true},  {"A800", 8, true},    {"H100", 18, true},
    {"H200", 18, true}, {"H800", 8, true},   {"H20", 18, true},   {"GH200", 18, false}, {"B200", 18, true},
    {"B300", 18, true}, {"GB200", 18, true}, {"GB300", 18, true},
};
// Returns the GB/s of one NVLink as NCCL counts it (src/graph/topo.h: SM60, 70, 80, 90 and 100_NVLINK_BW).
double nvlink_gigabytes(GpuArchitecture architecture) {
  if (architecture == GpuArchitecture::kPascal) return 18;
  if (architecture >= GpuArchitecture::kBlackwell) return 40.1;
  return architecture == GpuArchitecture::kHopper ? 20.6 : 20;
}

// Returns the row with the longest name that matches the GPU; null for cards and unknown names.
const Joined* find_joined(std::string_view gpu) {
  if (gpu_form(gpu) == GpuForm::kCard) return nullptr;
  const std::string small = lower(gpu);
  const Joined* best = nullptr;
  for (const Joined& row : kJoined)
    if (names_gpu(small, lower(row.name)) && (best == nullptr || row.name.size() > best->name.size()))
      best = &row;
  return best;
}

constexpr std::string_view kSaid = "command line";
constexpr int kB300Capability = 103;  // compute capability 10.3, of GB300, too

struct NicWords {
  int count = 0;
  double gigabits = 0;
  NicKind kind = NicKind::kInfiniband;
};

// Parses "8x400ib": a count, Gb/s, and the kind.
std::optional<NicWords> parse_nic(std::string_view text) {
  constexpr std::pair<std::string_view, NicKind> kKinds[] = {
      {"ib", NicKind::kInfiniband},       {"roce", NicKind::kRoce},   {"efa", NicKind::kEfa},
      {"efa1", NicKind::kEfaV1},          {"efav1", NicKind::kEfaV1}, {"slingshot", NicKind::kSlingshot},
      {"tcpxo", NicKind::kTcpxo},         {"tcpx", NicKind::kTcpxo},  {"cxi", NicKind::kSlingshot},
      {"libfabric", NicKind::kLibfabric}, {"tcp", NicKind::kTcp},
  };
  const auto times = text.find('x');
  if (times == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(times + 1);
  const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const auto count = parse_number<int>(text.substr(0, times));
  const auto rate = parse_number<int>(rest.substr(0, digits));
  const std::string_view word = rest.substr(digits);
  if (!count || !rate || *count < 1 || *count > 256 || *rate < 1 || *rate > 10'000) return std::nullopt;
  for (const auto& [name, kind] : kKinds)
    if (word == name) return NicWords{*count, static_cast<double>(*rate), kind};
  return std::nullopt;
}

// Returns the PCIe link of an adapter in its slot: the lesser of both. Its lanes are 0 where neither the words nor the
// adapter's model have them. An adapter of no known model is taken to be Gen4 x16 as far as the words are silent.
PcieLink slot_link(const ShapeWords& words) {
  PcieLink link{0, words.nic_pcie_lanes};
  if (words.nic_pcie_generation > 0) link.gigatransfers = pcie_gigatransfers(words.nic_pcie_generation);
  if (const auto card = find_adapter_link(words.adapter)) {
    link.gigatransfers =
        link.gigatransfers > 0 ? std::min(link.gigatransfers, card->gigatransfers) : card->gigatransfers;
    link.width = link.width > 0 ? std::min(link.width, card->width) : card->width;
  } else if (link.width > 0 || link.gigatransfers > 0) {
    if (link.gigatransfers <= 0) link.gigatransfers = pcie_gigatransfers(4);
    if (link.width <= 0) link.width = 16;
  }
  return link;
}

void add_slots(ClusterShape& shape, const ShapeWords& words) {
  if (shape.unified && (words.functions || shape.nic_rate <= kSparkFunctionRate)) {
    shape.nic_pcie = kSparkFunctionRate * (1.0 / shape.ports_of_card);
    say(shape, "adapters' slots", "PCIe Gen5 x4 for each half of the ConnectX-7", "hardware of every GB10");
    shape.notes.push_back(fmt::format(
        "{} of the node's ConnectX-7: each has four lanes of its own and carries half of a port; two "
        "rails on one cable are both halves",
        shape.nics == 1 ? "one function" : fmt::format("{} functions", shape.nics)));
    return;
  }
  const PcieLink link = slot_link(words);
  if (link.width == 0) return say(shape, "adapters' slots", "as wide as the adapters", kAssumed);
  shape.nic_pcie = pcie_rate(link) * (1.0 / shape.ports_of_card);
  const bool written = words.nic_pcie_lanes > 0 || words.nic_pcie_generation > 0;
  say(shape, "adapters' slots",
      fmt::format("{}{}", describe_link(link),
                  shape.ports_of_card > 1 ? fmt::format(", shared by {} ports", shape.ports_of_card) : ""),
      written ? kSaid : kAssumed);
}

Result<void> add_nics(ClusterShape& shape, const ShapeWords& words) {
  if (words.nic.empty()) {
    if (shape.nodes < 2 || shape.nodes <= shape.domain_nodes) return {};
    return fail(ErrorKind::kBadInput,
                "several nodes need adapters: --nic 8x400ib (count x Gb/s, and ib, roce, "
                "efa, efa1, slingshot, tcpxo, libfabric or tcp)");
  }
  const auto nic = parse_nic(words.nic);
  if (!nic)
    return fail(ErrorKind::kBadInput,
                fmt::format("--nic {}: write count x Gb/s and ib, roce, efa, efa1, slingshot, tcpxo, "
                            "libfabric or tcp, as 8x400ib",
                            words.nic));
  shape.nics = nic->count;
  shape.nic_rate = BitRate::gigabits(nic->gigabits);
  shape.nic = nic->kind;
  shape.mtu = nic->kind == NicKind::kTcp ? 9000 : 4096;
  say(shape, "adapters", words.nic, kSaid);
  say(shape, "MTU", fmt::format("{}", shape.mtu), kAssumed);
  shape.ports_of_card = std::max(1, words.ports_of_card);
  add_slots(shape, words);
  return {};
}

void add_gpudirect(ClusterShape& shape, const ShapeWords& words) {
  const GpuProduct* product = find_gpu_product(shape.gpu);
  const bool geforce = product != nullptr && product->market == GpuMarket::kGeForce;
  const NicModel* model = find_nic_of_part(words.adapter);
  const bool unable = model != nullptr && !model->gpudirect;
  shape.gpudirect = !words.staged && !geforce && !shape.unified && !unable && shape.nic != NicKind::kTcp;
  if (shape.nics == 0) return;
  const std::string_view from = words.staged                 ? kSaid
                                : geforce || shape.unified   ? "the GPU's product line"
                                : unable                     ? "the adapter's driver reaches host memory only"
                                : shape.nic == NicKind::kTcp ? "TCP passes host memory"
                                                             : kAssumed;
  say(shape, "GPUDirect RDMA", shape.gpudirect ? "yes" : "no", from);
}

}  // namespace

int slot_generation(const ClusterShape& shape) {
  const GpuProduct* product = find_gpu_product(shape.gpu);
  if (product != nullptr && product->capability == kB300Capability) return 6;
  if (shape.architecture >= GpuArchitecture::kHopper) return 5;
  return shape.architecture >= GpuArchitecture::kAmpere ? 4 : 3;
}

BitRate slot_rate(int pcie_generation) {
  // NCCL's effective rates of 16 lanes.
  return BitRate::gigabytes(12.0 * (1 << std::clamp(pcie_generation - 3, 0, 3)) *
                            (pcie_generation < 3 ? 0.5 : 1));
}

void say(ClusterShape& shape, std::string what, std::string value, std::string_view from) {
  std::erase_if(shape.said, [&](const ShapeSaying& saying) { return saying.what == what; });
  shape.said.push_back({std::move(what), std::move(value), std::string(from)});
}

void use_near_adapters(ClusterShape& shape, int of_gpus) {
  if (shape.nics < 2 || shape.unified || shape.nic == NicKind::kTcp || shape.nic_rate.gigabytes() <= 0)
    return;
  const int share = of_gpus > shape.gpus ? (shape.nics * shape.gpus + of_gpus - 1) / of_gpus : shape.nics;
  const int used = std::clamp(std::min(share, used_adapters(shape)), 1, shape.nics);
  if (used == shape.nics) return;
  shape.notes.push_back(fmt::format("{} of {} adapters of a node carry data: those of {}", used, shape.nics,
                                    shape.gpus == 1 ? "the one GPU that takes part"
                                                    : fmt::format("the {} GPUs that take part", shape.gpus)));
  say(shape, "adapters in use", fmt::format("{} of {}", used, shape.nics),
      "as many as these GPUs' slots feed");
  shape.nics = used;
  shape.ports_of_card = std::min(shape.ports_of_card, used);
}

void fill_gpu(ClusterShape& shape, std::string_view gpu, int pcie_generation, bool peers) {
  shape.gpu = gpu;
  const GpuProduct* product = find_gpu_product(gpu);
  if (product != nullptr) shape.architecture = product->architecture;
  shape.unified = product != nullptr && product->market == GpuMarket::kUnified;
  const Joined* joined = find_joined(gpu);
  if (joined != nullptr && pcie_generation == 0) {
    shape.nvlinks = joined->links;
    shape.link = joined->nvswitch ? GpuLink::kNvswitch : GpuLink::kNvlink;
    shape.link_rate = BitRate::gigabytes(joined->links * nvlink_gigabytes(shape.architecture));
    shape.nvls = joined->nvswitch && shape.architecture >= GpuArchitecture::kHopper;
    return;
  }
  const bool geforce = product != nullptr && product->market == GpuMarket::kGeForce;
  shape.nvlinks = 0;
  shape.nvls = false;
  shape.link = geforce && !peers ? GpuLink::kHostMemory : GpuLink::kPcie;
  shape.link_rate = slot_rate(pcie_generation > 0 ? pcie_generation : slot_generation(shape));
}

void say_link(ClusterShape& shape, std::string_view from) {
  if (shape.gpus > 1)
    say(shape, "between GPUs",
        fmt::format("{}, {:.0f} GB/s", enum_names(shape.link)[static_cast<std::size_t>(shape.link)],
                    shape.link_rate.gigabytes()),
        from);
}

Result<ClusterShape> shape_from_words(const ShapeWords& words) {
  ClusterShape shape;
  if (find_gpu_product(words.gpu) == nullptr)
    return fail(ErrorKind::kBadInput,
                fmt::format("--gpu {}: no GPU of the table has that name (A100, H100, H200, B200, RTX 4090, "
                            "...); docs/reference/predict.md",
                            words.gpu));
  fill_gpu(shape, words.gpu, words.pcie_generation, words.peers);
  if (words.no_nvls) shape.nvls = false;
  say(shape, "GPU", words.gpu, kSaid);
  shape.gpus = words.gpus > 0                                                                     ? words.gpus
               : shape.unified                                                                    ? 1
               : shape.architecture >= GpuArchitecture::kBlackwell && words.gpu.starts_with("GB") ? 4
                                                                                                  : 8;
  say(shape, "GPUs a node", fmt::format("{}", shape.gpus), words.gpus > 0 ? kSaid : kAssumed);
  shape.nodes = words.nodes > 0 ? words.nodes : 1;
  say(shape, "nodes", fmt::format("{}", shape.nodes), words.nodes > 0 ? kSaid : kAssumed);
  say_link(shape, words.pcie_generation > 0 ? kSaid : kFromName);
  shape.domain_nodes = std::max(1, words.domain_nodes);
  RETURN_IF_ERROR(add_nics(shape, words));
  add_gpudirect(shape, words);
  const int nics = shape.nics;
  use_near_adapters(shape, words.of_gpus);
  shape.notes.insert(shape.notes.end(), words.notes.begin(), words.notes.end());
  shape.amd = words.amd;
  say(shape, "processor", words.amd ? "AMD" : "Intel", words.amd ? kSaid : kAssumed);
  shape.nccl = words.nccl;
  say(shape, "NCCL", words.nccl.empty() ? "2.30" : words.nccl, words.nccl.empty() ? kAssumed : kSaid);
  if (!words.looked) shape.open = open_questions(shape, words, nics);
  return shape;
}

namespace {

std::string describe_by(const ClusterShape& shape, bool link) {
  std::string text =
      fmt::format("{} node{} x {} {}", shape.nodes, shape.nodes == 1 ? "" : "s", shape.gpus, shape.gpu);
  if (shape.gpus > 1 && link)
    text += fmt::format(" ({})", enum_names(shape.link)[static_cast<std::size_t>(shape.link)]);
  if (shape.nics > 0)
    text += fmt::format(", {} x {:.0f} Gb/s {} a node", shape.nics, shape.nic_rate.gigabits(),
                        enum_names(shape.nic)[static_cast<std::size_t>(shape.nic)]);
  return text;
}

}  // namespace

std::string describe(const ClusterShape& shape) { return describe_by(shape, true); }

std::string describe_known(const ClusterShape& shape) {
  const bool form_open = std::ranges::any_of(
      shape.open, [](const OpenQuestion& question) { return question.what == kFormQuestion; });
  return describe_by(shape, !form_open);
}

}  // namespace railbed
