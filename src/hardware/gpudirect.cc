#include "hardware/gpudirect.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "hardware/gpu_model.h"

namespace railbed {
namespace {

bool kernel_at_least(std::string_view release, int major, int minor) {
  const auto number = [](std::string_view text) {
    return parse_number<int>(text.substr(0, text.find_first_not_of("0123456789"))).value_or(0);
  };
  const auto parts = split(release, '.');
  const int have_major = number(parts.front());
  const int have_minor = parts.size() < 2 ? 0 : number(parts[1]);
  return have_major > major || (have_major == major && have_minor >= minor);
}

std::string why_no_peer_memory(const Facts& facts) {
  if (!facts.gpus.peer_memory.ok()) return "nvidia-peermem is not loaded";
  const auto& clients = facts.rdma.peer_memory_clients;
  const bool registered = !clients.ok() || std::ranges::any_of(*clients, [](const std::string& name) {
    return name.starts_with("nv_mem") || name.starts_with("nvidia");
  });
  return registered ? "" : "nvidia-peermem is loaded and not registered with the RDMA core";
}

// RDMA in the upstream kernel takes DMA-BUF since 5.12 (ib_umem_dmabuf_get); PCI peer-to-peer needs
// CONFIG_PCI_P2PDMA, the exporter the open NVIDIA module.
std::string why_no_dma_buf(const Facts& facts) {
  if (!facts.gpus.open_module.value_or(false)) return "the driver is not the open kernel module";
  for (const Gpu& gpu : items(facts.gpus.devices)) {
    const GpuModel* model = gpu.model.ok() ? find_gpu_model(*gpu.model) : nullptr;
    if (model != nullptr && model->gpudirect == GpuDirect::kPeerMemory)
      return fmt::format("{} does it only by nvidia-peermem", model->name);
    // The driver's own word, where it was asked.
    if (gpu.cuda.ok() && gpu.cuda->dma_buf == false)
      return fmt::format("CUDA says that GPU {} exports no DMA-BUF", gpu.pci_address);
  }
  const std::string release = facts.system.kernel.release.value_or("0");
  if (!kernel_at_least(release, 5, 12)) return fmt::format("kernel {} is older than 5.12", release);
  if (facts.system.kernel.config.ok()) {
    const auto option = facts.system.kernel.config->find("CONFIG_PCI_P2PDMA");
    if (option == facts.system.kernel.config->end() || option->second != "y")
      return "the kernel is built without CONFIG_PCI_P2PDMA";
  }
  if (facts.rdma.devices.ok()) {
    const auto says = [](bool want) {
      return [want](const RdmaDevice& device) { return device.dma_buf.ok() && *device.dma_buf == want; };
    };
    const auto no = std::ranges::find_if(*facts.rdma.devices, says(false));
    if (no != facts.rdma.devices->end() && std::ranges::none_of(*facts.rdma.devices, says(true)))
      return fmt::format("the driver of {} does not take DMA-BUF", no->name);
  }
  return {};
}

}  // namespace

GpuDirectRoutes gpudirect_routes(const Facts& facts) {
  GpuDirectRoutes routes{why_no_peer_memory(facts), why_no_dma_buf(facts)};
  routes.dma_buf_on_old_kernel =
      routes.dma_buf() && !kernel_at_least(facts.system.kernel.release.value_or("0"), 6, 2);
  return routes;
}

}  // namespace railbed
