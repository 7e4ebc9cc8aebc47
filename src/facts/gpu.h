// GPUs as seen by PCI, the NVIDIA kernel driver, NVML and CUDA.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"
#include "facts/pcie.h"
#include "facts/software/gds.h"
#include "host/sent_answers.h"
#include "nvidia/gpu_answers.h"

namespace railbed {

class Host;
struct CommandOutput;

// One GPU. Each reading is missing on its own if its source does not provide it.
struct Gpu {
  std::string pci_address;
  Reading<std::string> model;  // "Model:" of /proc/driver/nvidia/gpus/ADDRESS/information
  Reading<std::string> uuid;   // "GPU UUID:" of the same file
  Reading<NvmlGpu> nvml;       // Host call "nvml ADDRESS"
  Reading<CudaAnswer> cuda;    // Host call "cuda ADDRESS"; absent if a process runs on the GPU
  // `lspci -s ADDRESS`, read where the driver's name is unknown: "NVIDIA Corporation GA100 [A100 PCIe 80GB]"
  Reading<std::string> pci_name;
  FIELDS(Gpu, pci_address, model, uuid, nvml, cuda, pci_name);
};

// The driver's module on disk for the running kernel. `modinfo nvidia`, else `modinfo nvidia-current`
// (Debian's name).
struct ModuleFile {
  std::string path;  // empty if there is none
  std::string version;
  std::string kernel;   // first word of "vermagic": the release it was built for
  std::string license;  // "Dual MIT/GPL": the open module
  bool is_signed = false;
  FIELDS(ModuleFile, path, version, kernel, license, is_signed);
};

struct Gpus {
  Reading<std::vector<Gpu>> devices;       // PCI: vendor 0x10de, class 0x03xxxx
  Reading<std::string> driver_version;     // /proc/driver/nvidia/version, NVRM line
  Reading<bool> open_module;               // the same line contains "Open Kernel Module"
  Reading<std::vector<int>> device_nodes;  // /dev/nvidia[0-9]+
  Reading<std::string> peer_memory;        // /sys/module/nvidia_peermem/version
  Reading<ModuleFile> module_file;         // read if PCI has a GPU
  // The same of the module on the disk, by its license: of `modinfo nvidia`, else of `modinfo -F license nvidia`
  Reading<bool> open_on_disk;
  // "580.95.05" from `nv-fabricmanager --version`; absent if that program is not installed
  Reading<std::string> fabric_manager;
  Reading<NvmlSystem> nvml;       // Host call "nvml"
  Reading<NvmlPeers> peers;       // Host call "nvml p2p"; absent with a single GPU
  Reading<GpuTestsAnswer> tests;  // Host call "gpu-tests": DCGM's, of support reports alone
  Gds gds;
  FIELDS(Gpus, devices, driver_version, open_module, device_nodes, peer_memory, module_file, open_on_disk,
         fabric_manager, nvml, peers, tests, gds);
};

// Returns true if there are GPUs, no process runs on any of them, and each has less than 1 GiB of memory in
// use, which the driver needs for itself. False if NVML does not report this for every GPU.
bool are_idle(const Gpus& gpus);

// Returns modinfo's output with only the lines that ModuleFile needs. A captured tree does not keep stderr,
// so the exit code tells the cases apart: 1 if modinfo found no module, 2 if it ended with 1 for another
// reason.
CommandOutput used_modinfo(CommandOutput output);

// Returns true for digits and dots such as "570.124.06", the form of the versions of the driver and its
// tools.
bool is_driver_version(std::string_view text);

// Returns the GPU at this address; null if it is not listed or the list could not be read. The pointer is
// valid as long as `gpus`.
const Gpu* find_gpu(const Gpus& gpus, std::string_view pci_address);

// Returns a version in the encoding of NVML and CUDA as text: 12080 is "12.8".
std::string cuda_version_text(int version);

// Reads the current state of one GPU from NVML.
Reading<NvmlGpu> read_nvml(Host& host, const std::string& pci_address);

// Measures for a tenth of a second what all GPUs do.
Reading<GpuActivities> read_gpu_activity(Host& host);

// Reads NVML and CUDA for all GPUs in parallel: each may take a second, and a faulty one takes its whole
// timeout.
Gpus collect_gpus(Host& host, const Reading<std::vector<PciDevice>>& pci);

}  // namespace railbed
