// The results of the NVIDIA driver's libraries, as JSON in a capture and as facts (facts/gpu.h): one struct
// per call. Each value is a Reading whose source is the library's function. A value that a driver or GPU does
// not offer is kUnsupported, never zero. Names and meanings are those of NVML's reference (nvml.h) and of
// CUDA's (cuda.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

// "nvml": the library itself
struct NvmlSystem {
  std::string library;                  // the file that was opened
  Reading<std::string> driver_version;  // of the loaded kernel module
  Reading<std::string> nvml_version;    // of the library: "13.580.95.05" ends in its driver's version
  Reading<int> cuda_version;            // 13000 is 13.0: the newest CUDA that this driver supports
  Reading<int> gpus;                    // nvmlDeviceGetCount_v2
  FIELDS(NvmlSystem, library, driver_version, nvml_version, cuda_version, gpus);
};

// "nvml list": an array of the PCI addresses of the GPUs that NVML can attach to

// "nvml p2p": from GPU → to GPU → the obstacle to reading its memory; by PCI address
struct NvmlPeer {
  // "ok", "gpu not supported", …: nvmlDeviceGetP2PStatus, NVML_P2P_CAPS_INDEX_READ. Empty if a support report holds
  // nothing about it.
  std::string read;
  std::string nvlink;  // same, NVML_P2P_CAPS_INDEX_NVLINK
  FIELDS(NvmlPeer, read, nvlink);
};
using NvmlPeers = std::map<std::string, std::map<std::string, NvmlPeer>>;

struct NvmlHistogram {  // number of memory banks by how many spare rows they have left
  std::uint32_t max = 0;
  std::uint32_t high = 0;
  std::uint32_t partial = 0;
  std::uint32_t low = 0;
  std::uint32_t none = 0;
  FIELDS(NvmlHistogram, max, high, partial, low, none);
};

struct NvmlProcess {
  std::uint32_t pid = 0;
  std::optional<std::uint64_t> memory;  // bytes; nullopt if the driver does not report it
  FIELDS(NvmlProcess, pid, memory);
};

struct NvmlLink {
  bool active = false;                          // nvmlDeviceGetNvLinkState
  std::optional<int> speed_mbps;                // megabytes a second; field NVLINK_GET_SPEED
  std::map<std::string, std::uint64_t> errors;  // the counters that this NVLink generation has
  FIELDS(NvmlLink, active, speed_mbps, errors);
};
using NvmlLinks = std::map<std::string, NvmlLink>;  // by number: "00", "01", …

struct NvmlFabric {
  std::string state;   // "not supported", "not started", "in progress", "completed"
  std::string status;  // "NVML_SUCCESS", or the error with which the probe ended
  std::string health;  // "healthy", "unhealthy", "limited capacity"; empty if this driver does not report it
  FIELDS(NvmlFabric, state, status, health);
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
  // Profiles of its MIG devices, sorted: "1g.10gb", or "1c.3g.40gb" where one has a part of its instance's processors
  Reading<std::vector<std::string>> mig_devices;
  Reading<bool> ecc;
  Reading<bool> ecc_pending;                            // after the next reset
  Reading<std::uint64_t> ecc_volatile_uncorrectable;    // since the driver was loaded
  Reading<std::uint64_t> ecc_volatile_corrected;        // same
  Reading<std::uint64_t> ecc_aggregate_uncorrectable;   // in the GPU's life
  Reading<std::uint64_t> sram_aggregate_uncorrectable;  // parity and SEC-DED together
  Reading<bool> sram_threshold_exceeded;                // the driver's own limit for these errors
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
  // Percent that the driver asks of the fan; a blocked fan turns slower, and boards without a fan may report 0.
  Reading<int> fan_speed;
  Reading<int> pcie_generation;
  Reading<int> pcie_generation_max;  // of GPU and slot together
  Reading<int> pcie_generation_gpu;  // of the GPU alone
  Reading<int> pcie_width;
  Reading<int> pcie_width_max;
  Reading<std::uint32_t> pcie_replays;
  Reading<std::uint64_t> bar1;
  Reading<std::uint64_t> memory;
  Reading<std::uint64_t> memory_used;
  Reading<std::uint64_t> memory_free;  // not the rest: the driver keeps some
  Reading<std::vector<NvmlProcess>> processes;
  Reading<int> utilisation;          // percent of the last moment in which a kernel ran
  Reading<int> memory_utilisation;   // percent of it in which memory was read or written
  Reading<int> encoder_utilisation;  // percent
  Reading<int> decoder_utilisation;  // percent
  Reading<std::uint64_t> energy;     // mJ since the driver was loaded
  Reading<std::string> gsp_firmware;
  Reading<NvmlLinks> nvlinks;
  Reading<NvmlFabric> fabric;
  FIELDS(NvmlGpu, name, uuid, vbios, inforom_valid, persistence, compute_mode, mig, mig_devices, ecc,
         ecc_pending, ecc_volatile_uncorrectable, ecc_volatile_corrected, ecc_aggregate_uncorrectable,
         sram_aggregate_uncorrectable, sram_threshold_exceeded, remapped_correctable, remapped_uncorrectable,
         remap_pending, remap_failed, remap_banks, retired_pages, retired_pending, recovery_action, sm_clock,
         sm_clock_max, memory_clock, memory_clock_max, event_reasons, power, power_limit, power_limit_default,
         temperature, temperature_margin, memory_temperature, fan_speed, pcie_generation, pcie_generation_max,
         pcie_generation_gpu, pcie_width, pcie_width_max, pcie_replays, bar1, memory, memory_used,
         memory_free, processes, utilisation, memory_utilisation, encoder_utilisation, decoder_utilisation,
         energy, gsp_firmware, nvlinks, fabric);
};

// "nvml activity": what a GPU does within a tenth of a second. Shares are 0 to 1, and absent before Hopper; rates are
// bytes per second, of data and headers on PCIe, of data alone on NVLink.
struct GpuActivity {
  Reading<double> graphics;   // time in which the compute or graphics engine is busy
  Reading<double> sm;         // multiprocessors that have a warp
  Reading<double> occupancy;  // warps of those that fit
  Reading<double> tensor;     // cycles in which the tensor pipe is busy; likewise the three below
  Reading<double> memory;     // cycles in which the memory moves data
  Reading<double> fp64;
  Reading<double> fp32;
  Reading<double> fp16;
  Reading<double> pcie_sent;
  Reading<double> pcie_received;
  Reading<double> nvlink_sent;
  Reading<double> nvlink_received;
  FIELDS(GpuActivity, graphics, sm, occupancy, tensor, memory, fp64, fp32, fp16, pcie_sent, pcie_received,
         nvlink_sent, nvlink_received);
};
using GpuActivities = std::map<std::string, GpuActivity>;  // by PCI address

// "cuda ADDRESS": makes a context and an allocation, copies data in, runs a kernel, copies back and compares
struct CudaAnswer {
  int version = 0;                // cuDriverGetVersion: 13000
  std::string error;              // "cuInit: CUDA_ERROR_… (N)" of the first call that failed; else empty
  std::uint64_t wrong_words = 0;  // words that came back with a wrong value
  std::uint64_t memory = 0;       // cuDeviceTotalMem
  std::optional<bool> dma_buf;    // CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED
  std::optional<bool> gpudirect_rdma;  // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED
  double init_ms = 0;                  // cuInit and the making of the context
  double total_ms = 0;
  FIELDS(CudaAnswer, version, error, wrong_words, memory, dma_buf, gpudirect_rdma, init_ms, total_ms);
};

// The behavior of one GPU under load. Changes are from just before to just after the load.
struct GpuLoad {
  std::string error;                // why there was no load, or what ended it; else empty
  double seconds = 0;               // duration of the load
  std::uint64_t event_reasons = 0;  // every bit that was set while kernels ran
  Reading<int> sm_clock_min;        // MHz
  Reading<int> sm_clock_median;
  Reading<double> power_max;     // W
  Reading<int> temperature_max;  // °C
  Reading<int> temperature_margin_min;
  Reading<int> memory_temperature_max;
  Reading<int> pcie_generation_max;  // of the link, while data was copied
  Reading<int> pcie_width_max;
  Reading<std::uint32_t> pcie_replays;  // increase
  Reading<std::uint64_t> ecc_uncorrectable;
  Reading<std::uint64_t> ecc_corrected;
  std::map<std::string, std::uint64_t> nvlink_errors;  // increase, summed over the links
  std::optional<double> to_gpu;                        // GB/s, best of the copies
  std::optional<double> from_gpu;
  FIELDS(GpuLoad, error, seconds, event_reasons, sm_clock_min, sm_clock_median, power_max, temperature_max,
         temperature_margin_min, memory_temperature_max, pcie_generation_max, pcie_width_max, pcie_replays,
         ecc_uncorrectable, ecc_corrected, nvlink_errors, to_gpu, from_gpu);
};

// "gpu-load SECONDS": by PCI address
using GpuLoads = std::map<std::string, GpuLoad>;

}  // namespace railbed
