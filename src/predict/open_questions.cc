#include "predict/open_questions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "hardware/ceilings.h"
#include "hardware/nic.h"
#include "hardware/part_model.h"
#include "hardware/spark.h"

namespace railbed {
namespace {

// Product lines whose name alone is that of a card and of a board. The driver names H200, H800 and H20 on a
// board without an addition, and their cards with one.
struct TwoForms {
  std::string_view line;
  std::string_view board;
};
constexpr TwoForms kTwoForms[] = {
    {"P100", "P100-SXM2"}, {"V100", "V100-SXM2"}, {"A100", "A100-SXM4"}, {"A800", "A800-SXM4"}, {"H100", "H100 SXM"}};
constexpr std::string_view kFormWords[] = {"pcie", "sxm",  "nvl",   "cnx",  "hgx",
                                           "dgx",  "hbm3", "v100s", "fhhl", "a100x"};

bool has_rdma(const ClusterShape& shape) {
  return shape.nics > 0 && (shape.nic == NicKind::kInfiniband || shape.nic == NicKind::kRoce);
}

// Returns true if the adapters are as many and as fast as beside a board of eight GPUs: one for each two GPUs, or
// more, of 100 Gb/s.
bool is_laid_out_as_board(const ClusterShape& shape) {
  return shape.gpus >= 8 && 2 * shape.nics >= shape.gpus && shape.nic_rate.gigabits() >= 100;
}

void ask_form(std::vector<OpenQuestion>& open, const ClusterShape& shape, const ShapeWords& words) {
  if (words.pcie_generation > 0 || shape.gpus < 2 || is_laid_out_as_board(shape)) return;
  const std::string small = lower(shape.gpu);
  for (const std::string_view word : kFormWords)
    if (small.find(word) != std::string::npos) return;
  for (const TwoForms& row : kTwoForms) {
    if (!names_gpu(small, lower(row.line))) continue;
    const std::string card = fmt::format("{} PCIe", row.line);
    open.push_back({std::string(kFormQuestion),
                    {{.value = std::string(row.board), .gpu = std::string(row.board)}, {.value = card, .gpu = card}},
                    fmt::format("parts: {{gpus: [{{model: {}}}]}} in cluster.yaml, or --gpu \"{}\"", card, card)});
    return;
  }
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
  if (!shape.gpudirect || !words.adapter.empty() || !may_be_too_old(shape)) return;
  open.push_back({"GPUDirect RDMA",
                  {{.value = "yes", .gpudirect = true}, {.value = "no, as with ConnectX-3", .gpudirect = false}},
                  "the adapters' model, as parts: {adapters: [{model: ConnectX-3 Pro}]} in cluster.yaml or --adapter "
                  "\"ConnectX-3 Pro\"; or --staged"});
}

// Returns the link of the oldest adapter in the table that has ports of this rate.
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
void ask_slots(std::vector<OpenQuestion>& open, const ClusterShape& shape, const ShapeWords& words) {
  if (shape.unified || words.nic_pcie_lanes > 0 || is_laid_out_as_board(shape)) return;
  const NicModel* model = find_nic_of_part(words.adapter);
  PcieLink link = model == nullptr ? least_link(shape) : PcieLink{model->pcie_gigatransfers, model->pcie_width};
  if (link.width == 0) return;
  const bool paired = words.ports_of_card == 0 && shape.nics % 2 == 0;
  const int ports = paired ? 2 : shape.ports_of_card;
  const bool narrow = link.width > 8;
  if (narrow) link.width = 8;
  if (model == nullptr && words.nic_pcie_generation > 0)
    link.gigatransfers = pcie_gigatransfers(words.nic_pcie_generation);
  if (!paired && !narrow) return;
  const BitRate each = pcie_rate(link) * (1.0 / ports);
  open.push_back(
      {"adapters' slots",
       {{.value = "as wide as the ports"},
        {.value = fmt::format("{}{}", describe_link(link), ports > 1 ? fmt::format(" for {} ports", ports) : ""),
         .nic_pcie = each,
         .ports_of_card = ports}},
       fmt::format("parts: {{adapters: [{{model: {}, quantity: {}, slot: x{}}}]}} in cluster.yaml, or --adapter and "
                   "--nic-slot",
                   words.adapter.empty() ? "MODEL" : words.adapter, std::max(1, shape.nics / ports),
                   narrow ? 16 : link.width)});
}

void ask_halves(std::vector<OpenQuestion>& open, const ClusterShape& shape, const ShapeWords& words) {
  if (!shape.unified || words.functions || shape.nic_rate <= kSparkFunctionRate) return;
  open.push_back({"halves of a port",
                  {{.value = "both functions"}, {.value = "one function", .nic_pcie = kSparkFunctionRate}},
                  "two rails in cluster.yaml for one cable, of the interfaces enp1s0f0np0 and enP2p1s0f0np0, or one "
                  "rail; or --nic 2x100roce for both and 1x100roce for one"});
}

}  // namespace

std::vector<OpenQuestion> open_questions(const ClusterShape& shape, const ShapeWords& words) {
  std::vector<OpenQuestion> open;
  ask_form(open, shape, words);
  if (!has_rdma(shape) || shape.domains() < 2) return open;
  ask_gpudirect(open, shape, words);
  ask_slots(open, shape, words);
  ask_halves(open, shape, words);
  return open;
}

}  // namespace railbed
