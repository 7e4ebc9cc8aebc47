// GPUs as PCI and the NVIDIA kernel driver show them.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"
#include "facts/pcie.h"

namespace railbed {

class Host;

struct Gpu {
  std::string pci_address;
  Reading<std::string> model;  // "Model:" of /proc/driver/nvidia/gpus/ADDRESS/information
  Reading<std::string> uuid;   // "GPU UUID:" of the same
  static constexpr auto fields() {
    return std::tuple{field("pci_address", &Gpu::pci_address), field("model", &Gpu::model),
                      field("uuid", &Gpu::uuid)};
  }
};

struct Gpus {
  Reading<std::vector<Gpu>> devices;       // PCI: vendor 0x10de, class 0x03xxxx
  Reading<std::string> driver_version;     // /proc/driver/nvidia/version, NVRM line
  Reading<bool> open_module;               // the same line says "Open Kernel Module"
  Reading<std::vector<int>> device_nodes;  // /dev/nvidia[0-9]+
  Reading<std::string> peer_memory;        // /sys/module/nvidia_peermem/version
  static constexpr auto fields() {
    return std::tuple{field("devices", &Gpus::devices), field("driver_version", &Gpus::driver_version),
                      field("open_module", &Gpus::open_module), field("device_nodes", &Gpus::device_nodes),
                      field("peer_memory", &Gpus::peer_memory)};
  }
};

Gpus collect_gpus(Host& host, const Reading<std::vector<PciDevice>>& pci);

}  // namespace railbed
