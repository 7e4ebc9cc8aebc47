// Links of each GPU: PCI Express, NVLink, NVSwitch's fabric, its peers.
#include <fmt/format.h>

#include <algorithm>

#include "base/wording.h"
#include "verify/areas.h"
#include "verify/gpu_view.h"

namespace railbed {
namespace {

constexpr std::string_view kEnclosure = "in an enclosure at a cable of Thunderbolt or USB4";

// Returns the upper end of the GPU's link if it states what it can do; null if that is not known.
const PciDevice* slot_of(const std::vector<RealLink>& links) {
  const PciDevice* slot = links.empty() ? nullptr : links.front().upper;
  return slot == nullptr || !slot->link_max.ok() ? nullptr : slot;
}

// Returns true if the slot is a port of a switch, whose generation no setting raises.
bool is_switch_port(const NodeView& node, const PciDevice& slot) {
  const PciDevice* above = slot.parent.ok() ? find_pci(node.pci(), *slot.parent) : nullptr;
  return above != nullptr && is_bridge(*above);
}

ShellCommand show_link(const std::string& address) {
  return command("lspci -vv -s {} | grep -i lnk", address);
}

void pcie_width(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    if (gpu.without_pcie()) return verdict.not_applicable(std::string(kUsesNoPcie));
    const int* width = said(verdict, gpu.nvml.pcie_width);
    if (width == nullptr) return;
    const int* most = said(verdict, gpu.nvml.pcie_width_max);
    if (most == nullptr) return;
    if (*width >= *most) return verdict.pass(fmt::format("x{}", *width));
    const auto links = gpu.links();
    if (is_tunnelled(links)) return verdict.pass(fmt::format("x{} {}", *width, kEnclosure));
    Complaint complaint{
        .message = fmt::format("{} has {} of {} PCI Express lanes", gpu.where(), *width, *most),
        .expected = fmt::format("x{}", *most),
        .observed = fmt::format("x{}", *width),
        .remedy = {"Reseat the card or its riser; a link does not give up lanes to save power.",
                   {show_link(gpu.address())},
                   true}};
    const PciDevice* slot = slot_of(links);
    if (slot != nullptr) verdict.seen(slot->link_max);
    if (slot != nullptr && slot->link_max->width <= *width) {
      complaint.message += fmt::format(": its slot ({}) has no more", slot->address);
      complaint.remedy = {
          "Move it to a slot of more lanes, if half the bandwidth matters to your jobs; where the "
          "board shares lanes between slots, its BIOS or its manual says how.",
          {show_link(slot->address)},
          true};
      return verdict.warn(std::move(complaint));
    }
    // A board for NVSwitch has all lanes. Of any other the slot may set the width, as in most virtual machines.
    if (slot == nullptr && (gpu.model == nullptr || !gpu.model->nvswitch))
      return verdict.unknown(fmt::format(
          "{} of {} PCI Express lanes; the bridge above it, which is not shown here, tells whether the slot has more "
          "(lspci -vv)",
          *width, *most));
    verdict.fail(std::move(complaint));
  });
}

void pcie_slot(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    if (gpu.without_pcie()) return verdict.not_applicable(std::string(kUsesNoPcie));
    const int* can = said(verdict, gpu.nvml.pcie_generation_gpu);
    if (can == nullptr) return;
    const int* most = said(verdict, gpu.nvml.pcie_generation_max);
    if (most == nullptr) return;
    if (*most >= *can) return verdict.pass(fmt::format("Gen{}", *most));
    const auto links = gpu.links();
    if (is_tunnelled(links)) return verdict.pass(fmt::format("Gen{} {}", *most, kEnclosure));
    const PciDevice* slot = slot_of(links);
    if (slot != nullptr && pcie_generation_of(slot->link_max->gigatransfers) <= *most &&
        is_switch_port(gpu.node, *slot))
      return verdict.pass(fmt::format("Gen{}: the switch above it ({}) has no more", *most, slot->address));
    verdict.warn(
        {.message =
             fmt::format("{} could run PCI Express Gen{}, its slot gives Gen{}", gpu.where(), *can, *most),
         .expected = fmt::format("Gen{}", *can),
         .observed = fmt::format("Gen{}", *most),
         .remedy = {"Set the slot's link speed in the BIOS to automatic; else it is the board's limit.",
                    {show_link(gpu.address())},
                    true}});
  });
}

void bar1(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    if (gpu.model == nullptr || !gpu.model->whole_bar1)
      return verdict.not_applicable("this model does not show all its memory on PCI");
    const auto* size = said(verdict, gpu.nvml.bar1);
    if (size == nullptr) return;
    const auto* memory = said(verdict, gpu.nvml.memory);
    if (memory == nullptr) return;
    const std::string text = to_text(ByteCount{*size});
    if (*size >= *memory) return verdict.pass(text);
    verdict.warn({.message = fmt::format("{} shows {} of its {} on PCI: GPUDirect RDMA can register no more",
                                         gpu.where(), text, to_text(ByteCount{*memory})),
                  .expected = "at least " + to_text(ByteCount{*memory}),
                  .observed = text,
                  .remedy = {"Enable \"Above 4G decoding\" and resizable BAR in the BIOS.",
                             {command("lspci -vv -s {} | grep -i region", gpu.address())},
                             true}});
  });
}

// Returns the GPU's links; null after ending the case if it has or needs none.
const NvmlLinks* links_of(Case& verdict, const GpuView& gpu) {
  if (gpu.nvml.mig.value_or(false)) {
    verdict.not_applicable("MIG is on: its slices have no NVLink");
    return nullptr;
  }
  if (gpu.model == nullptr || gpu.model->nvlinks == 0) {
    verdict.not_applicable("no NVLink is expected of this model");
    return nullptr;
  }
  return said(verdict, gpu.nvml.nvlinks);
}

void nvlink_count(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const auto* links = links_of(verdict, gpu);
    if (links == nullptr) return;
    const auto active = std::ranges::count_if(*links, [](const auto& link) { return link.second.active; });
    if (active >= gpu.model->nvlinks) return verdict.pass(std::to_string(active));
    std::string down;
    for (const auto& [number, link] : *links)
      if (!link.active) down += (down.empty() ? "" : ", ") + number;
    verdict.fail({.message = fmt::format("{} has {} of {} NVLinks up{}", gpu.where(), active,
                                         gpu.model->nvlinks, down.empty() ? "" : "; down: " + down),
                  .expected = std::to_string(gpu.model->nvlinks),
                  .observed = std::to_string(active),
                  .remedy = {"Look for SXid and Xid 74 in the kernel log, then reset all GPUs of the board; "
                             "a link that stays down is hardware.",
                             {command("nvidia-smi nvlink -s -i {}", gpu.address()),
                              "dmesg | grep -i -e sxid -e 'xid.*74'"}}});
  });
}

void nvlink_speed(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const auto* links = links_of(verdict, gpu);
    if (links == nullptr) return;
    const int want = gpu.model->nvlink_mbps;
    const NvmlLinks::value_type* slow = nullptr;
    bool known = false;
    for (const auto& entry : *links) {
      const NvmlLink& link = entry.second;
      if (!link.active || !link.speed_mbps) continue;
      known = true;
      // One percent: NVML rounds.
      if (*link.speed_mbps * 100 < want * 99 && slow == nullptr) slow = &entry;
    }
    if (!known) return verdict.not_applicable("no active link says its speed");
    if (slow == nullptr) return verdict.pass(fmt::format("{} MB/s", want));
    verdict.fail({.message = fmt::format("NVLink {} of {} runs at {} MB/s of {}", slow->first, gpu.where(),
                                         *slow->second.speed_mbps, want),
                  .expected = fmt::format("{} MB/s", want),
                  .observed = fmt::format("{} MB/s", *slow->second.speed_mbps),
                  .remedy = {"Reset all GPUs of the board; a link that stays slow is hardware.",
                             {command("nvidia-smi nvlink -s -i {}", gpu.address())}}});
  });
}

// NVLink's own recoveries. None may have failed since the last reset; single successful ones are judged under
// load.
void nvlink_recovery(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const auto* links = links_of(verdict, gpu);
    if (links == nullptr) return;
    std::uint64_t failed = 0;
    std::uint64_t recovered = 0;
    bool known = false;
    for (const auto& [number, link] : *links)
      for (const auto& [name, count] : link.errors) {
        if (name == "recovery_failed") failed += count;
        if (name == "recovery") recovered += count;
        known = known || name == "recovery_failed" || name == "recovery";
      }
    if (!known) return verdict.not_applicable("its links count no recoveries");
    if (failed == 0 && recovered == 0) return verdict.pass("0");
    const std::string text =
        failed > 0 ? fmt::format("{} failed recoveries", failed) : fmt::format("{} recoveries", recovered);
    verdict.red(
        failed > 0 ? Status::kFail : Status::kWarn,
        {.message = fmt::format("NVLinks of {} had {} since the last reset: traffic stood still meanwhile",
                                gpu.where(), text),
         .expected = "0",
         .observed = text,
         .remedy = {"Watch whether it grows under load; if so, reset the board, then have it looked at.",
                    {command("nvidia-smi nvlink -e -i {}", gpu.address())}}});
  });
}

void fabric(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const auto* fabric = said(verdict, gpu.nvml.fabric);
    if (fabric == nullptr) return;
    if (fabric->state == "not supported") return verdict.not_applicable("no NVSwitch fabric");
    const bool ready = fabric->state == "completed" && fabric->status == "NVML_SUCCESS";
    const bool well = fabric->health.empty() || fabric->health == "healthy";
    const std::string text = fmt::format("{}, {}{}{}", fabric->state, fabric->status,
                                         fabric->health.empty() ? "" : ", ", fabric->health);
    if (ready && well) return verdict.pass(text);
    if (!ready && lacks_nvlsm_module(gpu.node))
      return verdict.fail(
          {.message =
               fmt::format("{} has not joined the NVSwitch fabric: ib_umad is not loaded, so nvlsm cannot "
                           "start, and CUDA waits (error 802)",
                           gpu.where()),
           .expected = "completed, NVML_SUCCESS, healthy",
           .observed = text,
           .remedy = load_nvlsm_module()});
    verdict.fail(
        {.message =
             ready ? fmt::format("{} is in the NVSwitch fabric, which is {}", gpu.where(), fabric->health)
                   : fmt::format("{} has not joined the NVSwitch fabric: CUDA does not start on it",
                                 gpu.where()),
         .expected = "completed, NVML_SUCCESS, healthy",
         .observed = text,
         .remedy = {"See why in the fabric manager's log; its version must be the driver's. Then restart it.",
                    {"journalctl -u nvidia-fabricmanager -n 50", "systemctl restart nvidia-fabricmanager"}}});
  });
}

// Returns true if the GPU of this node is cut into slices (MIG), which have no peers.
bool is_sliced(const NodeView& node, std::string_view address) {
  return std::ranges::any_of(items(node.facts->gpus.devices), [&](const Gpu& gpu) {
    return gpu.pci_address == address && gpu.nvml.ok() && gpu.nvml->mig.value_or(false);
  });
}

void peers(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    // The list is NVML's where PCI is unknown, as in a support report.
    if (items(gpu.node.facts->gpus.devices).size() < 2) return verdict.not_applicable("it is the only GPU");
    if (gpu.model == nullptr || gpu.model->nvlinks == 0)
      return verdict.not_applicable("no NVLink is expected of this model");
    if (is_sliced(gpu.node, gpu.address()))
      return verdict.not_applicable("MIG is on: its slices have no peers");
    const auto* matrix = said(verdict, gpu.node.facts->gpus.peers);
    if (matrix == nullptr) return;
    const auto row = matrix->find(gpu.address());
    if (row == matrix->end()) return verdict.not_applicable("NVML does not name it among the peers");
    std::string bad;
    std::string why;
    bool known = true;
    for (const auto& [to, peer] : row->second) {
      if (is_sliced(gpu.node, to)) continue;
      known = known && !peer.read.empty() && !peer.nvlink.empty();
      const bool reads = peer.read == "ok" || peer.read.empty();
      if (reads && (peer.nvlink == "ok" || peer.nvlink.empty())) continue;
      bad += (bad.empty() ? "" : ", ") + to;
      if (why.empty()) why = reads ? "NVLink: " + peer.nvlink : peer.read;
    }
    if (bad.empty() && !known)
      return verdict.unknown(
          "the report holds `nvidia-smi topo` in part: -p2p r, or -p2p n and -m, are missing");
    if (bad.empty()) return verdict.pass(counted(row->second.size(), "peer"));
    verdict.fail(
        {.message = fmt::format("{} cannot reach the memory of {}: NCCL goes through host memory instead",
                                gpu.where(), bad),
         .expected = "ok",
         .observed = why,
         .remedy = {"Look at the topology, MIG, IOMMU and the fabric manager.",
                    {"nvidia-smi topo -p2p r", "nvidia-smi topo -p2p n"}}});
  });
}

}  // namespace

std::span<const Rule> gpu_link_rules() {
  static const Rule kRules[] = {
      {.id = "gpu.pcie-width",
       .title = "GPU has all its PCI Express lanes",
       .why = "Half the lanes are half the bandwidth to host and network.",
       .source = "nvmlDeviceGetCurrPcieLinkWidth, nvmlDeviceGetMaxPcieLinkWidth",
       .standard = "current = maximum; lanes do not rest when idle",
       .remedy = "Reseat the card or its riser.",
       .fixture = "h200-pcie-width",
       .explained_by = {"pcie.gpu-link", "gpu.answers"},
       .check = pcie_width},
      {.id = "gpu.pcie-slot",
       .title = "slot offers the GPU's PCI Express generation",
       .why = "A BIOS setting or riser for an older generation halves the bandwidth for good.",
       .source = "nvmlDeviceGetMaxPcieLinkGeneration, nvmlDeviceGetGpuMaxPcieLinkGeneration",
       .standard = "what the GPU itself can",
       .remedy = "Set the slot's link speed to automatic in the BIOS.",
       .fixture = "h200-pcie-slot",
       .explained_by = {"gpu.pcie-width", "gpu.answers"},
       .check = pcie_slot},
      {.id = "gpu.bar1",
       .title = "BAR1 shows all of the GPU's memory",
       .why = "The network adapter reaches GPU memory through BAR1 alone.",
       .source = "nvmlDeviceGetBAR1MemoryInfo, nvmlDeviceGetMemoryInfo_v2",
       .standard = "BAR1 ≥ memory, for models that can (src/hardware/gpu_model.cc)",
       .remedy = "Switch on Above 4G decoding and resizable BAR in the BIOS.",
       .fixture = "h200-bar1-small",
       .explained_by = {"gpu.answers"},
       .check = bar1},
      {.id = "gpu.nvlink-count",
       .title = "all NVLinks are up",
       .why = "NCCL falls back to fewer channels or to PCI Express without saying so.",
       .source = "nvmlDeviceGetNvLinkState",
       .standard = "the model's number (src/hardware/gpu_model.cc): 18 on H100, H200, B200",
       .remedy = "Read the kernel log, reset the board, then have the hardware looked at.",
       .fixture = "h200-nvlink-down",
       .explained_by = {"gpu.fabric", "gpu.answers"},
       .check = nvlink_count},
      {.id = "gpu.nvlink-speed",
       .title = "NVLinks run at full speed",
       .why = "The slowest link sets the pace of the ring.",
       .source = "NVML field NVLINK_GET_SPEED",
       .standard = "the model's speed (src/hardware/gpu_model.cc): 26562 MB/s on H100 and H200",
       .remedy = "Reset the board, then have the hardware looked at.",
       .fixture = "h200-nvlink-slow",
       .explained_by = {"gpu.answers"},
       .check = nvlink_speed},
      {.id = "gpu.nvlink-recovery",
       .title = "NVLinks needed no recovery",
       .why = "Each recovery stops all traffic of the link; a failed one ends the job.",
       .source = "NVML fields NVLINK_ERROR_DL_RECOVERY, NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS",
       .standard = "0 since the last reset; DCGM",
       .remedy = "Watch it under load, then reset the board, then have the hardware looked at.",
       .fixture = "h200-nvlink-recovery",
       .explained_by = {"gpu.nvlink-count", "gpu.answers"},
       .check = nvlink_recovery},
      {.id = "gpu.fabric",
       .title = "GPU has joined the NVSwitch fabric",
       .why = "Until the fabric manager has placed the GPU, "
              "CUDA says \"system not yet initialized\" while nvidia-smi is green.",
       .source = "nvmlDeviceGetGpuFabricInfoV",
       .standard = "completed, success, healthy; nvml.h",
       .remedy = "Read the fabric manager's log, compare its version with the driver's, then restart it.",
       .fixture = "h200-fabric",
       .explained_by = {"gpu.fabric-manager-version", "gpu.fabric-manager", "gpu.answers"},
       .check = fabric},
      {.id = "gpu.peers",
       .title = "GPUs reach each other's memory",
       .why = "Without peer access NCCL copies through host memory at a tenth of the speed.",
       .source = "nvmlDeviceGetP2PStatus",
       .standard = "ok between all GPUs of models with NVLink",
       .remedy = "Look at the topology, MIG, the IOMMU and the fabric manager.",
       .fixture = "h200-peers",
       .explained_by = {"gpu.fabric", "gpu.nvlink-count", "gpu.mig", "gpu.answers"},
       .check = peers},
  };
  return kRules;
}

}  // namespace railbed
