#include "store/fingerprint.h"

#include <fmt/format.h>

#include "facts/facts.h"

namespace railbed {
namespace {

std::string adapter_text(const RdmaDevice& device) {
  std::string text;
  for (const Reading<std::string>* part : {&device.hca_type, &device.board_id, &device.firmware})
    if (part->ok() && !part->value().empty()) text += (text.empty() ? "" : " ") + part->value();
  return text;
}

// "8 × NVIDIA H200".
std::string gpu_text(const std::vector<Gpu>& gpus) {
  std::map<std::string, int> count;
  for (const Gpu& gpu : gpus) ++count[gpu.model.value_or("unnamed GPU")];
  std::string text;
  for (const auto& [model, many] : count)
    text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", many, model);
  return text;
}

}  // namespace

void add_fingerprint(BenchRun& run, std::string_view node, const Facts& facts) {
  const auto add = [&](std::string_view what, std::string text) {
    if (!text.empty()) run.fingerprint[fmt::format("{} {}", node, what)] = std::move(text);
  };
  const System& system = facts.system;
  add("os", system.os.name.value_or(""));
  add("kernel", system.kernel.release.value_or(""));
  add("processor", system.cpu.model.value_or(""));
  if (system.memory.total.ok()) add("memory", to_text(*system.memory.total));
  add("NVIDIA driver", facts.gpus.driver_version.value_or(""));
  if (facts.gpus.devices.ok()) add("GPUs", gpu_text(*facts.gpus.devices));
  for (const NvmeController& drive : items(system.storage.nvme))
    if (!is_over_fabric(drive))
      add(drive.name, fmt::format("{} {}", drive.model.value_or(""), drive.firmware.value_or("")));
  if (!facts.rdma.devices.ok()) return;
  for (const RdmaDevice& device : *facts.rdma.devices) add(device.name, adapter_text(device));
}

}  // namespace railbed
