// What the NVIDIA driver's libraries answer, as JSON in a capture and as facts (facts/gpu.h): one struct a
// call. Each value is a Reading whose source is the library's function; what a driver or GPU does not offer
// is unsupported, never zero. Names and meanings are those of NVML's reference (nvml.h) and of CUDA's
// (cuda.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/reading.h"

namespace railbed {

// "nvml": the library itself
struct NvmlSystem {
  std::string library;                  // the file that was opened
  Reading<std::string> driver_version;  // of the kernel module that answers
  Reading<std::string> nvml_version;    // of the library: "13.580.95.05" ends in its driver's version
  Reading<int> cuda_version;            // 13000 is 13.0: the newest CUDA this driver serves
  Reading<int> gpus;                    // nvmlDeviceGetCount_v2
  static void fields(auto&& field) {
    field("library", &NvmlSystem::library);
    field("driver_version", &NvmlSystem::driver_version);
    field("nvml_version", &NvmlSystem::nvml_version);
    field("cuda_version", &NvmlSystem::cuda_version);
    field("gpus", &NvmlSystem::gpus);
  }
};

// "nvml list": an array of the PCI addresses of the GPUs that NVML can attach

// "nvml p2p": from GPU → to GPU → what stands in the way of reading its memory; by PCI address
struct NvmlPeer {
  std::string read;    // "ok", "gpu not supported", …: nvmlDeviceGetP2PStatus, NVML_P2P_CAPS_INDEX_READ
  std::string nvlink;  // likewise, NVML_P2P_CAPS_INDEX_NVLINK
  static void fields(auto&& field) {
    field("read", &NvmlPeer::read);
    field("nvlink", &NvmlPeer::nvlink);
  }
};
using NvmlPeers = std::map<std::string, std::map<std::string, NvmlPeer>>;

struct NvmlHistogram {  // banks by how many spare rows they have left
  std::uint32_t max = 0;
  std::uint32_t high = 0;
  std::uint32_t partial = 0;
  std::uint32_t low = 0;
  std::uint32_t none = 0;
  static void fields(auto&& field) {
    field("max", &NvmlHistogram::max);
    field("high", &NvmlHistogram::high);
    field("partial", &NvmlHistogram::partial);
    field("low", &NvmlHistogram::low);
    field("none", &NvmlHistogram::none);
  }
};

struct NvmlProcess {
  std::uint32_t pid = 0;
  std::optional<std::uint64_t> memory;  // bytes; nothing when the driver does not say
  static void fields(auto&& field) {
    field("pid", &NvmlProcess::pid);
    field("memory", &NvmlProcess::memory);
  }
};

struct NvmlLink {
  bool active = false;                          // nvmlDeviceGetNvLinkState
  std::optional<int> speed_mbps;                // megabytes a second; field NVLINK_GET_SPEED
  std::map<std::string, std::uint64_t> errors;  // those counters that this generation has
  static void fields(auto&& field) {
    field("active", &NvmlLink::active);
    field("speed_mbps", &NvmlLink::speed_mbps);
    field("errors", &NvmlLink::errors);
  }
};
using NvmlLinks = std::map<std::string, NvmlLink>;  // by number: "00", "01", …

struct NvmlFabric {
  std::string state;   // "not supported", "not started", "in progress", "completed"
  std::string status;  // "NVML_SUCCESS", or the error with which the probe ended
  std::string health;  // "healthy", "unhealthy", "limited capacity"; empty: this driver does not say
  static void fields(auto&& field) {
    field("state", &NvmlFabric::state);
    field("status", &NvmlFabric::status);
    field("health", &NvmlFabric::health);
  }
};

// "nvml ADDRESS": one GPU. MHz, watts, degrees Celsius, bytes.
struct NvmlGpu {
  Reading<std::string> name;
  Reading<std::string> uuid;
  Reading<std::string> vbios;
  Reading<bool> inforom_valid;  // nvmlDeviceValidateInforom
  Reading<bool> persistence;
  Reading<std::string> compute_mode;  // "default", "exclusive thread", "prohibited", "exclusive process"
  Reading<bool> mig;
  Reading<bool> ecc;
  Reading<bool> ecc_pending;                            // after the next reset
  Reading<std::uint64_t> ecc_volatile_uncorrectable;    // since the driver was loaded
  Reading<std::uint64_t> ecc_volatile_corrected;        // likewise
  Reading<std::uint64_t> ecc_aggregate_uncorrectable;   // in the GPU's life
  Reading<std::uint64_t> sram_aggregate_uncorrectable;  // parity and SEC-DED together
  Reading<bool> sram_threshold_exceeded;                // the driver's own limit for them
  Reading<std::uint32_t> remapped_correctable;          // rows
  Reading<std::uint32_t> remapped_uncorrectable;        // rows
  Reading<bool> remap_pending;
  Reading<bool> remap_failed;
  Reading<NvmlHistogram> remap_banks;
  Reading<std::uint32_t> retired_pages;  // both causes; GPUs before A100
  Reading<bool> retired_pending;
  Reading<std::string> recovery_action;  // "none", "reset", "reboot", "drain P2P", "drain and reset", …
  Reading<int> sm_clock;
  Reading<int> sm_clock_max;
  Reading<int> memory_clock;
  Reading<int> memory_clock_max;
  Reading<std::uint64_t> event_reasons;  // bits: why clocks are not at their maximum
  Reading<double> power;
  Reading<double> power_limit;  // enforced
  Reading<double> power_limit_default;
  Reading<int> temperature;
  Reading<int> temperature_margin;  // to the nearest slowdown
  Reading<int> memory_temperature;
  Reading<int> pcie_generation;
  Reading<int> pcie_generation_max;  // of GPU and slot together
  Reading<int> pcie_generation_gpu;  // of the GPU alone
  Reading<int> pcie_width;
  Reading<int> pcie_width_max;
  Reading<std::uint32_t> pcie_replays;
  Reading<std::uint64_t> bar1;
  Reading<std::uint64_t> memory;
  Reading<std::uint64_t> memory_used;
  Reading<std::vector<NvmlProcess>> processes;
  Reading<int> utilisation;  // percent of the last moment in which a kernel ran
  Reading<std::string> gsp_firmware;
  Reading<NvmlLinks> nvlinks;
  Reading<NvmlFabric> fabric;
  static void fields(auto&& field) {
    using G = NvmlGpu;
    field("name", &G::name);
    field("uuid", &G::uuid);
    field("vbios", &G::vbios);
    field("inforom_valid", &G::inforom_valid);
    field("persistence", &G::persistence);
    field("compute_mode", &G::compute_mode);
    field("mig", &G::mig);
    field("ecc", &G::ecc);
    field("ecc_pending", &G::ecc_pending);
    field("ecc_volatile_uncorrectable", &G::ecc_volatile_uncorrectable);
    field("ecc_volatile_corrected", &G::ecc_volatile_corrected);
    field("ecc_aggregate_uncorrectable", &G::ecc_aggregate_uncorrectable);
    field("sram_aggregate_uncorrectable", &G::sram_aggregate_uncorrectable);
    field("sram_threshold_exceeded", &G::sram_threshold_exceeded);
    field("remapped_correctable", &G::remapped_correctable);
    field("remapped_uncorrectable", &G::remapped_uncorrectable);
    field("remap_pending", &G::remap_pending);
    field("remap_failed", &G::remap_failed);
    field("remap_banks", &G::remap_banks);
    field("retired_pages", &G::retired_pages);
    field("retired_pending", &G::retired_pending);
    field("recovery_action", &G::recovery_action);
    field("sm_clock", &G::sm_clock);
    field("sm_clock_max", &G::sm_clock_max);
    field("memory_clock", &G::memory_clock);
    field("memory_clock_max", &G::memory_clock_max);
    field("event_reasons", &G::event_reasons);
    field("power", &G::power);
    field("power_limit", &G::power_limit);
    field("power_limit_default", &G::power_limit_default);
    field("temperature", &G::temperature);
    field("temperature_margin", &G::temperature_margin);
    field("memory_temperature", &G::memory_temperature);
    field("pcie_generation", &G::pcie_generation);
    field("pcie_generation_max", &G::pcie_generation_max);
    field("pcie_generation_gpu", &G::pcie_generation_gpu);
    field("pcie_width", &G::pcie_width);
    field("pcie_width_max", &G::pcie_width_max);
    field("pcie_replays", &G::pcie_replays);
    field("bar1", &G::bar1);
    field("memory", &G::memory);
    field("memory_used", &G::memory_used);
    field("processes", &G::processes);
    field("utilisation", &G::utilisation);
    field("gsp_firmware", &G::gsp_firmware);
    field("nvlinks", &G::nvlinks);
    field("fabric", &G::fabric);
  }
};

// "cuda ADDRESS": a context, an allocation, a copy in, a kernel, a copy back, compared
struct CudaAnswer {
  int version = 0;                // cuDriverGetVersion: 13000
  std::string error;              // "cuInit: CUDA_ERROR_… (N)" of the first call that failed; else empty
  std::uint64_t wrong_words = 0;  // of those that came back
  std::uint64_t memory = 0;       // cuDeviceTotalMem
  std::optional<bool> dma_buf;    // CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED
  std::optional<bool> gpudirect_rdma;  // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED
  double init_ms = 0;                  // cuInit alone
  double total_ms = 0;
  static void fields(auto&& field) {
    using C = CudaAnswer;
    field("version", &C::version);
    field("error", &C::error);
    field("wrong_words", &C::wrong_words);
    field("memory", &C::memory);
    field("dma_buf", &C::dma_buf);
    field("gpudirect_rdma", &C::gpudirect_rdma);
    field("init_ms", &C::init_ms);
    field("total_ms", &C::total_ms);
  }
};

// What one GPU did under load; changes are from just before to just after.
struct GpuLoad {
  std::string error;                // why there was no load, or what ended it; else empty
  double seconds = 0;               // that it lasted
  std::uint64_t event_reasons = 0;  // every bit that was set while kernels ran
  Reading<int> sm_clock_min;        // MHz
  Reading<int> sm_clock_median;
  Reading<double> power_max;     // W
  Reading<int> temperature_max;  // °C
  Reading<int> temperature_margin_min;
  Reading<int> memory_temperature_max;
  Reading<int> pcie_generation_max;  // of the link, while data was copied
  Reading<int> pcie_width_max;
  Reading<std::uint32_t> pcie_replays;  // new ones
  Reading<std::uint64_t> ecc_uncorrectable;
  Reading<std::uint64_t> ecc_corrected;
  std::map<std::string, std::uint64_t> nvlink_errors;  // new ones, summed over the links
  std::optional<double> to_gpu;                        // GB/s, best of the copies
  std::optional<double> from_gpu;
  static void fields(auto&& field) {
    using L = GpuLoad;
    field("error", &L::error);
    field("seconds", &L::seconds);
    field("event_reasons", &L::event_reasons);
    field("sm_clock_min", &L::sm_clock_min);
    field("sm_clock_median", &L::sm_clock_median);
    field("power_max", &L::power_max);
    field("temperature_max", &L::temperature_max);
    field("temperature_margin_min", &L::temperature_margin_min);
    field("memory_temperature_max", &L::memory_temperature_max);
    field("pcie_generation_max", &L::pcie_generation_max);
    field("pcie_width_max", &L::pcie_width_max);
    field("pcie_replays", &L::pcie_replays);
    field("ecc_uncorrectable", &L::ecc_uncorrectable);
    field("ecc_corrected", &L::ecc_corrected);
    field("nvlink_errors", &L::nvlink_errors);
    field("to_gpu", &L::to_gpu);
    field("from_gpu", &L::from_gpu);
  }
};

// "gpu-load SECONDS": by PCI address
using GpuLoads = std::map<std::string, GpuLoad>;

}  // namespace railbed
