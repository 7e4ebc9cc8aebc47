#include "hardware/fixed_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "facts/facts.h"
#include "hardware/gpu_product.h"
#include "hardware/nic.h"
#include "hardware/spark.h"

namespace railbed {
namespace {

// Names in DMI's maker or product that only virtual and rented machines have.
constexpr std::string_view kVirtualNames[] = {
    "QEMU",           "KVM",           "VMware",     "VirtualBox",
    "innotek",        "Xen",           "Bochs",      "OpenStack",
    "Parallels",      "KubeVirt",      "bhyve",      "Hyper-V",
    "Nutanix",        "Alibaba Cloud", "Amazon EC2", "Google Compute Engine",
    "Virtual Machine"};
constexpr std::string_view kVirtualSource =
    "systemd, src/basic/virt.c, names in DMI; Linux, clock sources of guests";
// Clock sources that a hypervisor offers to its guests.
constexpr std::string_view kGuestClocks[] = {"kvm-clock", "xen", "hyperv_clocksource_tsc_page",
                                             "hyperv_clocksource_msr"};

// Returns true for a virtual function whose physical one this machine does not have.
bool is_lent_function(const Facts& facts) {
  return std::ranges::any_of(items(facts.pci), [](const PciDevice& device) {
    return is_network(device) && is_virtual_function(device) && !device.physical_function.ok();
  });
}

const Gpu* find_gpu_with(const Facts& facts, std::string_view word) {
  const auto& gpus = items(facts.gpus.devices);
  const auto found = std::ranges::find_if(
      gpus, [&](const Gpu& gpu) { return gpu.model.value_or("").find(word) != std::string::npos; });
  return found == gpus.end() ? nullptr : &*found;
}

// Returns the first GPU that a board joins to others: SXM, as in HGX.
const Gpu* find_board_gpu(const Facts& facts) {
  const auto& gpus = items(facts.gpus.devices);
  const auto found = std::ranges::find_if(gpus, [](const Gpu& gpu) {
    const GpuProduct* product = find_gpu_product(gpu.model.value_or(""));
    return product != nullptr &&
           (product->nvlink == NvlinkWay::kBoard || product->nvlink == NvlinkWay::kSwitch);
  });
  return found == gpus.end() ? nullptr : &*found;
}

}  // namespace

bool is_confidential_guest(const Facts& facts) {
  return facts.kernel_log.ok() && std::ranges::find(facts.kernel_log->events, LogKind::kConfidentialGuest,
                                                    &LogEvent::kind) != facts.kernel_log->events.end();
}

bool is_virtual_machine(const Facts& facts) {
  const auto begins = [](const std::string& text, std::string_view name) {
    if (!text.starts_with(name)) return false;
    const char next = text.size() > name.size() ? text[name.size()] : ' ';
    return !(next >= 'a' && next <= 'z') && !(next >= 'A' && next <= 'Z');  // "Xenon" is no Xen
  };
  const auto named = [&](const Reading<std::string>& text) {
    return text.ok() &&
           std::ranges::any_of(kVirtualNames, [&](std::string_view name) { return begins(*text, name); });
  };
  const std::string clock = facts.system.cpu.clocksource.value_or("");
  if (is_confidential_guest(facts)) return true;
  return named(facts.system.firmware.maker) || named(facts.system.firmware.product) ||
         std::ranges::find(kGuestClocks, clock) != std::end(kGuestClocks);
}

FixedParts fixed_parts_of(const Facts& facts) {
  const std::string product = facts.system.firmware.product.value_or("");
  if (std::ranges::any_of(items(facts.pci), is_spark_gpu))
    return {PartsFreedom::kFixed,
            "a GB10 machine (DGX Spark and its like): its ConnectX-7 is soldered, and it has no slot",
            "NVIDIA, DGX Spark user guide, Hardware overview"};
  if (is_virtual_machine(facts) || is_lent_function(facts))
    return {PartsFreedom::kFixed, "a virtual or rented machine: its provider decides what it has",
            std::string(kVirtualSource)};
  for (const std::string_view word : {"GB200", "GB300"})
    if (find_gpu_with(facts, word) != nullptr)
      return {PartsFreedom::kFixed,
              fmt::format("a compute tray with {}: its adapters are part of the rack", word),
              "NVIDIA, GB200 NVL72 and GB300 NVL72, components"};
  if (find_gpu_with(facts, "Laptop") != nullptr || product.find("Jetson") != std::string::npos)
    return {PartsFreedom::kFixed, "a laptop or module: its adapters are on its board",
            "the name that the driver gives the GPU, or the firmware the board"};
  if (product.find("DGX") != std::string::npos)
    return {PartsFreedom::kFixed,
            fmt::format("{}: it is sold and supported with the adapters that it has", product),
            "the firmware's product name; NVIDIA, DGX user guides"};
  if (const Gpu* gpu = find_board_gpu(facts))
    return {PartsFreedom::kNoSlots,
            fmt::format("GPUs on one board ({}): such a system is designed with a slot for each adapter, and "
                        "no further ones on the GPUs' PCIe switches",
                        *gpu->model),
            "NVIDIA, HGX and MGX reference designs; general knowledge, to check with the system's maker"};
  return {};
}

}  // namespace railbed
