// GPUs as PCI, the NVIDIA kernel driver, NVML and CUDA show them.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"
#include "facts/pcie.h"
#include "host/gpu_answers.h"

namespace railbed {

class Host;
struct CommandOutput;

struct Gpu {
  std::string pci_address;
  Reading<std::string> model;  // "Model:" of /proc/driver/nvidia/gpus/ADDRESS/information
  Reading<std::string> uuid;   // "GPU UUID:" of the same
  Reading<NvmlGpu> nvml;       // Host call "nvml ADDRESS"
  Reading<CudaAnswer> cuda;    // Host call "cuda ADDRESS"; not tried where a program runs on the GPU
  FIELDS(Gpu, pci_address, model, uuid, nvml, cuda);
};

// The driver's module as it lies on the disk for the running kernel. `modinfo nvidia`, and of its other name
// (Debian), nvidia-current
struct ModuleFile {
  std::string path;  // "": there is none
  std::string version;
  std::string kernel;   // the first word of "vermagic": the release that it was built for
  std::string license;  // "Dual MIT/GPL": the open module
  bool is_signed = false;
  FIELDS(ModuleFile, path, version, kernel, license, is_signed);
};

struct Gpus {
  Reading<std::vector<Gpu>> devices;       // PCI: vendor 0x10de, class 0x03xxxx
  Reading<std::string> driver_version;     // /proc/driver/nvidia/version, NVRM line
  Reading<bool> open_module;               // the same line says "Open Kernel Module"
  Reading<std::vector<int>> device_nodes;  // /dev/nvidia[0-9]+
  Reading<std::string> peer_memory;        // /sys/module/nvidia_peermem/version
  Reading<ModuleFile> module_file;         // asked for where PCI shows a GPU
  // "580.95.05"; nv-fabricmanager --version, asked where that program is installed
  Reading<std::string> fabric_manager;
  Reading<NvmlSystem> nvml;  // Host call "nvml"
  Reading<NvmlPeers> peers;  // Host call "nvml p2p"; not asked where there is one GPU
  FIELDS(Gpus, devices, driver_version, open_module, device_nodes, peer_memory, module_file, fabric_manager,
         nvml, peers);
};

// The driver knows of no process on any of them, nor of memory in use. False where it did not say.
bool are_idle(const Gpus& gpus);

// Of modinfo's output the lines that a ModuleFile is made of. What it complains of is not kept: 1 is the exit
// code where it found none, 2 where it failed otherwise.
CommandOutput used_modinfo(CommandOutput output);

// "570.124.06": digits and dots, as the driver and what belongs to it are numbered.
bool is_driver_version(std::string_view text);

// Null when it is not there, or the list could not be read.
const Gpu* find_gpu(const Gpus& gpus, std::string_view pci_address);

// A version as NVML and CUDA count it: 12080 is "12.8".
std::string cuda_version_text(int version);

// What NVML says of one of them now.
Reading<NvmlGpu> read_nvml(Host& host, const std::string& pci_address);

// Asks NVML and CUDA about every GPU at once: each may take a second, and a sick one its whole deadline.
Gpus collect_gpus(Host& host, const Reading<std::vector<PciDevice>>& pci);

}  // namespace railbed
