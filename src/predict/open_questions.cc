#include "predict/open_questions.h"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/gpu_product.h"
#include "hardware/limits.h"
#include "hardware/nic.h"
#include "hardware/part_model.h"
#include "hardware/spark.h"

namespace railbed {
namespace {

bool uses_verbs(const ClusterShape& shape) {
  return shape.nics > 0 && (shape.nic == NicKind::kInfiniband || shape.nic == NicKind::kRoce);
}

// Returns true if a node's adapters are as many and as fast as beside a board of eight GPUs: one for each two GPUs, or
// eight, of 100 Gb/s.
bool is_laid_out_as_board(const ClusterShape& shape, const ShapeWords& words, int nics) {
  const int gpus = std::max(shape.gpus, words.of_gpus);
  return shape.nic_rate.gigabits() >= 100 && (nics >= 8 || (gpus >= 8 && 2 * nics >= gpus));
}

// Returns the products that a name may mean, the fastest first.
std::vector<std::string> meanings_of(const std::string& gpu) {
  const std::vector<std::string> forms = gpu_forms(gpu);
  return gpu_form(gpu) == GpuForm::kUnsaid && !forms.empty() ? forms : std::vector<std::string>{gpu};
}

void ask_form(std::vector<OpenQuestion>& open, const ShapeWords& words, bool board) {
  if (words.pcie_generation > 0) return;
  std::vector<std::string> names = meanings_of(words.gpu);
  if (words.gpu_else.empty() && board) return;
  if (!words.gpu_else.empty())
    for (const std::string& name : meanings_of(words.gpu_else))
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  if (names.size() < 2) return;
  OpenQuestion question{std::string(kFormQuestion), {}, {}};
  for (const std::string& name : names) {
    question.answers.push_back({.value = name, .gpu = name});
    if (words.no_nvls) question.answers.back().nvls = false;
  }
  question.settle =
      fmt::format("the model, as parts: {{gpus: [{{model: {}}}]}} in cluster.yaml or --gpu \"{}\"",
                  names.back(), names.back());
  open.push_back(std::move(question));
}

// Returns true if a port of this rate may belong to an adapter whose driver cannot reach GPU memory.
bool may_be_too_old(const ClusterShape& shape) {
  const double rate = shape.nic_rate.gigabits();
  if (rate == 25 || rate == 50) return false;  // lanes of 25 came with ConnectX-4 Lx
  return std::ranges::any_of(nic_models(), [&](const NicModel& model) {
    const BitRate most = shape.nic == NicKind::kInfiniband ? model.infiniband : model.ethernet;
    return !model.gpudirect && rate <= most.gigabits();
  });
}

void ask_gpudirect(std::vector<OpenQuestion>& open, const ClusterShape& shape, const ShapeWords& words) {
  if (!shape.gpudirect || find_nic_of_part(words.adapter) != nullptr || !may_be_too_old(shape)) return;
  open.push_back(
      {"GPUDirect RDMA",
       {{.value = "yes", .gpudirect = true}, {.value = "no, as with ConnectX-3", .gpudirect = false}},
       "the adapters' model, as parts: {adapters: [{model: ConnectX-3 Pro}]} in cluster.yaml or --adapter "
       "\"ConnectX-3 Pro\"; or --staged"});
}

// Returns the link of the adapter with the slowest one, among those in the table that have ports of this rate.
PcieLink least_link(const ClusterShape& shape) {
  PcieLink least;
  for (const NicModel& model : nic_models()) {
    const BitRate most = shape.nic == NicKind::kInfiniband ? model.infiniband : model.ethernet;
    const PcieLink link{model.pcie_gigatransfers, model.pcie_width};
    if (most >= shape.nic_rate && (least.width == 0 || pcie_rate(link) < pcie_rate(least))) least = link;
  }
  return least;
}

// Without a model the ports may share one card in pairs, on its slot. With one the slot may have eight lanes of
// its sixteen.
void ask_slots(std::vector<OpenQuestion>& open, const ClusterShape& shape, const ShapeWords& words,
               bool board) {
  if (shape.unified || words.nic_pcie_lanes > 0 || board) return;
  const auto card = find_adapter_link(words.adapter);
  PcieLink link = card ? *card : least_link(shape);
  if (link.width == 0) return;
  const AdapterModel* part = find_adapter_model(words.adapter);
  const bool single = part != nullptr && part->ports == 1;
  const bool paired = words.ports_of_card == 0 && shape.nics % 2 == 0 && !single;
  const int ports = paired ? 2 : shape.ports_of_card;
  const bool narrow = link.width > 8;
  if (!paired && !narrow) return;
  if (narrow) link.width = 8;
  if (words.nic_pcie_generation > 0)
    link.gigatransfers = std::min(link.gigatransfers, pcie_gigatransfers(words.nic_pcie_generation));
  const BitRate each = pcie_rate(link) * (1.0 / ports);
  open.push_back(
      {"adapters' slots",
       {{.value = "as wide as the ports"},
        {.value =
             fmt::format("{}{}", describe_link(link), ports > 1 ? fmt::format(" for {} ports", ports) : ""),
         .nic_pcie = each,
         .ports_of_card = ports}},
       fmt::format(
           "parts: {{adapters: [{{model: {}, quantity: {}, slot: x{}}}]}} in cluster.yaml, or --adapter and "
           "--nic-slot",
           card ? words.adapter : "MODEL", std::max(1, shape.nics / ports), narrow ? 16 : link.width)});
}

void ask_halves(std::vector<OpenQuestion>& open, const ClusterShape& shape, const ShapeWords& words) {
  if (!shape.unified || words.functions || shape.nic_rate <= kSparkFunctionRate) return;
  open.push_back(
      {"halves of a port",
       {{.value = "both functions"}, {.value = "one function", .nic_pcie = kSparkFunctionRate}},
       "two rails in cluster.yaml for one cable, of the interfaces enp1s0f0np0 and enP2p1s0f0np0, or one "
       "rail; or --nic 2x100roce for both and 1x100roce for one"});
}

}  // namespace

std::vector<OpenQuestion> open_questions(const ClusterShape& shape, const ShapeWords& words, int nics) {
  std::vector<OpenQuestion> open;
  const bool board = is_laid_out_as_board(shape, words, nics);
  ask_form(open, words, board);
  if (!uses_verbs(shape) || shape.domains() < 2) return open;
  ask_gpudirect(open, shape, words);
  ask_slots(open, shape, words, board);
  ask_halves(open, shape, words);
  return open;
}

}  // namespace railbed
