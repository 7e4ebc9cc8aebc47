// GPUs under load (railbed verify --load): weak power, bad cooling and bad cables only show then.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hardware/gpu_slowdown.h"
#include "verify/areas.h"
#include "verify/gpu_view.h"
#include "verify/load_window.h"

namespace railbed {
namespace {

void load_ran(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const auto& load = gpu.node.facts->load;
    if (!load) return verdict.not_applicable("needs --load");
    const auto* loads = verdict.read_if_there(load->gpus, "no load on GPUs was recorded");
    if (loads == nullptr) return;
    const auto found = loads->find(gpu.address());
    if (found == loads->end()) return verdict.not_applicable("NVML does not name it");
    const GpuLoad& did = found->second;
    if (did.error.starts_with("busy")) return verdict.not_applicable(did.error);
    if (did.error.empty()) return verdict.pass(fmt::format("{:.1f} s", did.seconds));
    verdict.fail(
        {.message = fmt::format("{} failed {} under load", gpu.where(),
                                did.seconds > 0 ? fmt::format("after {:.1f} s", did.seconds) : "at once"),
         .expected = "kernels and copies to the end",
         .observed = did.error,
         .remedy = {"Read the kernel log for Xid messages of that moment.", {"dmesg | grep -i xid"}}});
  });
}

// Names the reasons that a sound GPU does not show.
std::string throttle_words(std::uint64_t reasons) {
  std::string words;
  for (const GpuSlowdown& one : kGpuSlowdowns)
    if (!one.sound && (reasons & one.bit) != 0) words += (words.empty() ? "" : ", ") + std::string(one.word);
  return words;
}

void throttle(const Survey& survey, Judge& judge) {
  each_loaded_gpu(survey, judge, [](Case& verdict, const GpuView& gpu, const GpuLoad& load) {
    const std::string words = throttle_words(load.event_reasons);
    if (words.empty()) return verdict.pass(fmt::format("{:#x}", load.event_reasons));
    verdict.fail({.message = fmt::format("{} was slowed down under load: {}", gpu.where(), words),
                  .expected = "no slowdown",
                  .observed = fmt::format("{} ({:#x})", words, load.event_reasons),
                  .remedy = {"Heat: fans, air flow, heat sink. Power brake: power supplies and their cables.",
                             {gpu.smi("-q -d PERFORMANCE,TEMPERATURE,POWER")}}});
  });
}

// Our value: far below the effect of the power cap (H200: 1980 to about 1500 MHz), above the 800 MHz of a
// stuck GPU.
constexpr double kClockShare = 0.5;

// nvml.h, nvmlClocksEventReasonApplicationsClocksSetting. Close to the maximum the setting has no effect; the
// share is ours.
bool is_held_by_setting(const GpuLoad& load, int clock, int most) {
  constexpr std::uint64_t kApplicationClocks = 0x2;
  return (load.event_reasons & kApplicationClocks) != 0 && clock < most * 0.95;
}

void sm_clock(const Survey& survey, Judge& judge) {
  each_loaded_gpu(survey, judge, [](Case& verdict, const GpuView& gpu, const GpuLoad& load) {
    const int* clock = said(verdict, load.sm_clock_median);
    if (clock == nullptr) return;
    const int* most = said(verdict, gpu.nvml.sm_clock_max);
    if (most == nullptr) return;
    if (*clock >= *most * kClockShare && !is_held_by_setting(load, *clock, *most))
      return verdict.pass(fmt::format("{} MHz", *clock));
    if (is_held_by_setting(load, *clock, *most))
      return verdict.warn(
          {.message = fmt::format("a setting holds {} at {} of {} MHz under load: application clocks, "
                                  "somebody's or this card's factory default",
                                  gpu.where(), *clock, *most),
           .expected = fmt::format("{} MHz", *most),
           .observed = fmt::format("{} MHz, event reasons {:#x}", *clock, load.event_reasons),
           .remedy = {"Take back application and locked clocks, or raise them to the maximum.",
                      {gpu.smi("-q -d CLOCK"), gpu.smi("-rac"), gpu.smi("-rgc")}}});
    verdict.fail({.message = fmt::format("{} runs at {} of {} MHz under load: its clock is stuck",
                                         gpu.where(), *clock, *most),
                  .expected = fmt::format("at least {:.0f} MHz", *most * kClockShare),
                  .observed = fmt::format("{} MHz", *clock),
                  .remedy = {"Take back locked clocks; if that changes nothing, reset the GPU.",
                             {gpu.smi("-rgc"), gpu.smi("--gpu-reset")}}});
  });
}

void margin(const Survey& survey, Judge& judge) {
  each_loaded_gpu(survey, judge, [](Case& verdict, const GpuView& gpu, const GpuLoad& load) {
    const int* margin = said(verdict, load.temperature_margin_min);
    if (margin == nullptr) return;
    if (*margin > 0) return verdict.pass(fmt::format("{} °C left", *margin));
    verdict.warn(
        {.message = fmt::format("{} used up its temperature margin under load", gpu.where()),
         .expected = "above 0 °C left",
         .observed = fmt::format("{} °C left", *margin),
         .remedy = {"Look at fans, air flow, heat sink and the room.", {gpu.smi("-q -d TEMPERATURE")}}});
  });
}

void load_pcie(const Survey& survey, Judge& judge) {
  each_loaded_gpu(survey, judge, [](Case& verdict, const GpuView& gpu, const GpuLoad& load) {
    const int* now = said(verdict, load.pcie_generation_max);
    if (now == nullptr) return;
    const int* stated = said(verdict, gpu.nvml.pcie_generation_max);
    if (stated == nullptr) return;
    if (gpu.without_pcie()) return verdict.not_applicable(std::string(kUsesNoPcie));
    const auto links = gpu.links();
    const bool slot_known = !links.empty() && links.front().upper != nullptr && links.front().possible;
    const int most =
        slot_known ? std::min(*stated, pcie_generation_of(links.front().possible->gigatransfers)) : *stated;
    if (*now >= most) return verdict.pass(fmt::format("Gen{}", *now));
    // NVML knows the slot by the bridge above. In a virtual machine none is shown, and the slot may be the older.
    if (!slot_known && (gpu.model == nullptr || !gpu.model->nvswitch))
      return verdict.unknown(fmt::format(
          "Gen{} under load, the GPU can do Gen{}; the bridge above it, which is not shown here, tells what the slot "
          "can do (lspci -vv)",
          *now, most));
    verdict.fail({.message = fmt::format("PCI Express of {} stays at Gen{} of Gen{} under load", gpu.where(),
                                         *now, most),
                  .expected = fmt::format("Gen{}", most),
                  .observed = fmt::format("Gen{}", *now),
                  .remedy = {"Reseat the card or its riser; look for corrected errors in the kernel log.",
                             {command("lspci -vv -s {} | grep -i lnk", gpu.address()), "dmesg | grep -i aer"},
                             true}});
  });
}

// Returns the lowest acceptable copy rate in GB/s, scaled from 16 lanes. Gen5: sound H100 and H200 nodes
// exceed it (about 55). Older generations in proportion; our values.
double copy_floor(int generation, int width) {
  const double sixteen = generation >= 5 ? 50 : generation == 4 ? 22 : generation == 3 ? 10 : 4;
  return sixteen * width / 16;
}

void copies(const Survey& survey, Judge& judge) {
  each_loaded_gpu(survey, judge, [](Case& verdict, const GpuView& gpu, const GpuLoad& load) {
    if (!load.to_gpu || !load.from_gpu)
      return verdict.not_applicable("the load was too short for its turn to copy");
    const int* generation = said(verdict, gpu.nvml.pcie_generation_max);
    if (generation == nullptr) return;
    // The lanes that it has: too few of them are the matter of gpu.pcie-width, and a slot may have no more.
    const int* width = said(verdict, gpu.nvml.pcie_width);
    if (width == nullptr) return;
    const auto links = gpu.links();
    if (is_tunnelled(links))
      return verdict.not_applicable("what its cable of Thunderbolt or USB4 carries is not known");
    double floor = copy_floor(*generation, *width);
    if (const auto narrowest = narrowest_link(links)) {
      const PcieLink hop = *narrowest->at_work();
      floor = std::min(floor, copy_floor(pcie_generation_of(hop.gigatransfers), hop.width));
    }
    const std::string text = fmt::format("{:.1f} GB/s to, {:.1f} GB/s from it", *load.to_gpu, *load.from_gpu);
    if (std::min(*load.to_gpu, *load.from_gpu) >= floor) return verdict.pass(text);
    verdict.fail(
        {.message = fmt::format("{} and its host exchange {} over Gen{} x{}", gpu.where(), text, *generation,
                                *width),
         .expected = fmt::format("at least {:.0f} GB/s each way", floor),
         .observed = text,
         .remedy = {
             "Look at the link under load, the IOMMU, and whether the memory is on the GPU's NUMA node.",
             {gpu.smi("-q -d PCIE"), "nvidia-smi topo -m"}}});
  });
}

void replays(const Survey& survey, Judge& judge) {
  each_loaded_gpu(survey, judge, [](Case& verdict, const GpuView& gpu, const GpuLoad& load) {
    const auto* count = said(verdict, load.pcie_replays);
    if (count == nullptr) return;
    const auto allowed = pcie_replays_allowed(gpu.nvml.pcie_generation_max.value_or(1),
                                              gpu.nvml.pcie_width_max.value_or(1), load.seconds);
    if (*count <= allowed) return verdict.pass(std::to_string(*count));
    verdict.warn({.message = fmt::format("PCI Express of {} repeated {} packets in {:.0f} s of load",
                                         gpu.where(), *count, load.seconds),
                  .expected = fmt::format("at most {}", allowed),
                  .observed = std::to_string(*count),
                  .remedy = {"Reseat the card or its riser; a cable or retimer between them may be bad.",
                             {gpu.smi("-q -d PCIE"), "dmesg | grep -i aer"}}});
  });
}

// DCGM's limits: kNvlinkErrorsASecond CRC errors; no recovery.
void nvlink_errors(const Survey& survey, Judge& judge) {
  each_loaded_gpu(survey, judge, [](Case& verdict, const GpuView& gpu, const GpuLoad& load) {
    if (load.nvlink_errors.empty()) return verdict.not_applicable("it has no NVLink that counts errors");
    std::string bad;
    for (const auto& [name, count] : load.nvlink_errors) {
      const bool crc = name == "crc";
      const double allowed = crc ? kNvlinkErrorsASecond * load.seconds : 0;
      if (static_cast<double>(count) > allowed)
        bad += fmt::format("{}{} {}", bad.empty() ? "" : ", ", count, name);
    }
    if (bad.empty()) return verdict.pass("none");
    verdict.warn({.message = fmt::format("NVLinks of {} counted new errors under load: {}", gpu.where(), bad),
                  .expected = "none; fewer than 100 CRC errors a second",
                  .observed = bad,
                  .remedy = {"Reset all GPUs of the board; if they come back, have it looked at.",
                             {command("nvidia-smi nvlink -e -i {}", gpu.address())}}});
  });
}

void ecc(const Survey& survey, Judge& judge) {
  each_loaded_gpu(survey, judge, [](Case& verdict, const GpuView& gpu, const GpuLoad& load) {
    const auto* count = said(verdict, load.ecc_uncorrectable);
    if (count == nullptr) return;
    if (*count == 0) return verdict.pass("0");
    verdict.fail(
        {.message = fmt::format("{} had {} uncorrectable memory errors under load", gpu.where(), *count),
         .expected = "0",
         .observed = std::to_string(*count),
         .remedy = {"Drain the node and reset the GPU; if they come back, replace it.",
                    {gpu.smi("--gpu-reset")}}});
  });
}

}  // namespace

std::span<const Rule> gpu_load_rules() {
  static const Rule kRules[] = {
      {.id = "gpu.load",
       .title = "GPU works to the end of the load",
       .why = "A GPU that falls off the bus when it draws power looks sound until the first job.",
       .source = "CUDA kernels and copies for --load seconds",
       .standard = "no call fails",
       .remedy = "Read the kernel log, then look at the GPU's power and seat.",
       .fixture = "h200-load-failed",
       .explained_by = {"gpu.cuda", "gpu.fabric", "gpu.answers"},
       .check = load_ran},
      {.id = "gpu.load-throttle",
       .title = "no slowdown under load",
       .why = "One slowed GPU slows all that work with it.",
       .source = "nvmlDeviceGetCurrentClocksEventReasons, all bits seen under load",
       .standard = "none of 0x8, 0x20, 0x40, 0x80; nvml.h",
       .remedy = "Look at the cooling and the power supplies.",
       .fixture = "h200-load-throttle",
       .explained_by = {"gpu.slowdown", "gpu.temperature", "gpu.answers"},
       .check = throttle},
      {.id = "gpu.load-clock",
       .title = "clock rises under load",
       .why = "A clock that is locked or stuck low is no error to anybody, only a job that never ends.",
       .source = "nvmlDeviceGetClockInfo (median under load), nvmlDeviceGetMaxClockInfo",
       .standard = "at least half of the maximum, and not held below 95 % of it by application clocks; ours",
       .remedy = "Give the clocks back (nvidia-smi -rgc); if that does not help, reset the GPU.",
       .fixture = "h200-load-clock",
       .explained_by = {"gpu.load-throttle", "gpu.slowdown", "gpu.power-limit", "gpu.answers"},
       .check = sm_clock},
      {.id = "gpu.load-temperature",
       .title = "temperature margin is left under load",
       .why = "The GPU slows down next, in jobs as well as in benchmarks.",
       .source = "nvmlDeviceGetMarginTemperature, least under load",
       .standard = "above 0; nvml.h",
       .remedy = "Look at the cooling.",
       .fixture = "h200-load-temperature",
       .explained_by = {"gpu.load-throttle", "gpu.temperature", "gpu.answers"},
       .check = margin},
      {.id = "gpu.load-pcie",
       .title = "PCI Express trains up under load",
       .why = "Idle links rest at Gen1; one that stays there is slow where it counts.",
       .source = "nvmlDeviceGetCurrPcieLinkGeneration, best under load",
       .standard = "the maximum of GPU and slot",
       .remedy = "Reseat the card or its riser.",
       .fixture = "h200-load-pcie",
       .explained_by = {"pcie.gpu-link", "gpu.answers"},
       .check = load_pcie},
      {.id = "gpu.load-copies",
       .title = "copies between host and GPU are fast",
       .why = "Data loading, checkpoints and everything that is staged pass here.",
       .source = "cuMemcpyHtoDAsync, cuMemcpyDtoHAsync of pinned memory, one GPU at a time",
       .standard = "50 GB/s on Gen5 x16; Gen4 22, Gen3 10: ours",
       .remedy = "Look at the PCIe link, the IOMMU and the NUMA node of the memory.",
       .fixture = "h200-load-copies",
       .explained_by = {"gpu.load-pcie", "gpu.pcie-width", "gpu.pcie-slot", "pcie.gpu-link", "gpu.answers"},
       .check = copies},
      {.id = "gpu.load-replays",
       .title = "PCI Express repeats little under load",
       .why = "A bad contact, cable or retimer causes repeats, long before the link is lost.",
       .source = "nvmlDeviceGetPcieReplayCounter, before and after",
       .standard = "one error in 10^12 bits at full rate (Gen5 x16: 31 a minute); DCGM",
       .remedy = "Reseat the card, then look at its cable and retimer.",
       .fixture = "h200-load-replays",
       .explained_by = {"gpu.load-pcie", "gpu.answers"},
       .check = replays},
      {.id = "gpu.load-nvlink",
       .title = "NVLinks count no new errors under load",
       .why = "Errors that grow with traffic mean that a link is failing.",
       .source = "NVML fields NVLINK_ERROR_DL_*, NVLINK_COUNT_*, before and after",
       .standard = "none; fewer than 100 CRC errors a second (DCGM)",
       .remedy = "Reset the board, then have the hardware looked at.",
       .fixture = "h200-load-nvlink",
       .explained_by = {"gpu.nvlink-count", "gpu.nvlink-recovery", "gpu.answers"},
       .check = nvlink_errors},
      {.id = "gpu.load-ecc",
       .title = "no uncorrectable memory error under load",
       .why = "Memory that fails when it is warm fails in the job.",
       .source = "nvmlDeviceGetTotalEccErrors, before and after",
       .standard = "0",
       .remedy = "Reset the GPU; replace it if they come back.",
       .fixture = "h200-load-ecc",
       .explained_by = {"gpu.ecc-uncorrectable", "gpu.answers"},
       .check = ecc},
  };
  return kRules;
}

}  // namespace railbed
