#include "bench/verbs/gpu_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "facts/facts.h"
#include "hardware/pci_path.h"

namespace railbed {
namespace {

constexpr std::string_view kGpu = "gpu";

}  // namespace

std::string nearest_gpu(const Facts& facts, std::string_view interface) {
  const RdmaPortRef port = rdma_port_of(facts.rdma, facts.net, interface);
  const NetInterface* own = find_interface(facts.net, interface);
  const std::string adapter = port             ? port.device->pci_address.value_or("")
                              : own != nullptr ? own->pci_address.value_or("")
                                               : "";
  const std::vector<PciDevice>& devices = items(facts.pci);
  const PciDevice* nic = find_pci(devices, adapter);
  // In a container, PCI also shows GPUs that the container may not use. The driver shows only the usable
  // ones.
  const auto answers = [](const Gpu& gpu) { return gpu.nvml.ok(); };
  const std::vector<Gpu>& gpus = items(facts.gpus.devices);
  const bool any_answers = std::ranges::any_of(gpus, answers);
  std::string nearest;
  PathClass least = PathClass::kSys;
  for (const Gpu& gpu : gpus) {
    if (any_answers && !answers(gpu)) continue;
    const PciDevice* device = find_pci(devices, gpu.pci_address);
    const PathClass path =
        nic == nullptr || device == nullptr ? PathClass::kSys : path_between(devices, *device, *nic);
    if (!nearest.empty() && path >= least) continue;
    nearest = gpu.pci_address;
    least = path;
  }
  return nearest;
}

Result<std::string> choose_gpu(const Facts& facts, std::string_view interface, std::string_view memory) {
  const std::string_view which = memory.substr(std::min(memory.size(), kGpu.size() + 1));
  if (auto address = sysfs_pci_address(which); !address.empty()) return address;
  std::vector<std::string> addresses;
  for (const Gpu& gpu : items(facts.gpus.devices)) addresses.push_back(gpu.pci_address);
  if (addresses.empty()) return fail(ErrorKind::kUnavailable, "there is no NVIDIA GPU");
  if (which.empty()) return nearest_gpu(facts, interface);
  std::ranges::sort(addresses);
  const auto index = parse_number<std::size_t>(which);
  if (!index || *index >= addresses.size())
    return fail(ErrorKind::kUnavailable,
                fmt::format("there is no GPU {}: {} are on PCI, counted from 0", which, addresses.size()));
  return addresses[*index];
}

bool is_memory(std::string_view text) {
  if (text == "host" || text == kGpu) return true;
  if (!text.starts_with("gpu:")) return false;
  const std::string_view which = text.substr(kGpu.size() + 1);
  return parse_number<unsigned>(which).has_value() || !sysfs_pci_address(which).empty();
}

}  // namespace railbed
