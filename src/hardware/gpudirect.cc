// GPUDirect RDMA has two routes, and each needs the support of several drivers.
//
// nvidia-peermem registers itself with the RDMA core (ib_register_peer_memory_client). Linux never had that
// function: it is in the ib_core of NVIDIA's OFED (MLNX_OFED, DOCA) and in some kernels of Ubuntu. Elsewhere
// the module fails to load ("Invalid argument"). It works with both GPU modules, open and proprietary.
// DMA-BUF is the kernel's own way, since 5.12: the GPU's driver exports memory, which only the open module
// does, and that module drives Turing and newer; the adapter's driver imports it, which mlx4 does not.
//
// If both are closed, a decision table gives the remedy: the first row that matches the node applies. Its
// columns are the capability of the GPU and its driver, the driver of the adapters, whether the RDMA core has
// the function above, and whether the kernel and the adapter's driver support DMA-BUF. The distance between
// GPU and adapter is not part of it: that is NCCL's choice (nccl/choice.cc).
#include "hardware/gpudirect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace railbed {
namespace {

using KernelVersion = std::pair<int, int>;

KernelVersion version_of(std::string_view release) {
  const auto number = [](std::string_view text) {
    return parse_number<int>(text.substr(0, text.find_first_not_of("0123456789"))).value_or(0);
  };
  const auto parts = split(release, '.');
  return {number(parts.front()), parts.size() < 2 ? 0 : number(parts[1])};
}

std::string release_of(const Facts& facts) { return facts.system.kernel.release.value_or("0"); }

bool kernel_at_least(const Facts& facts, int major, int minor) {
  return version_of(release_of(facts)) >= KernelVersion{major, minor};
}

// --- who drives the adapters ---

// Returns true for the version of a driver of OFED. NVIDIA's mlx drivers have the version of their release:
// 4.9-7.1.0, 24.10-0.7.0. The kernel's have none, or "4.0-0" (drivers/net/ethernet/mellanox/mlx4/mlx4.h) and,
// the older mlx5_core, "5.0-0".
bool is_of_ofed(std::string_view version) {
  const std::size_t dash = version.find('-');
  return dash != std::string_view::npos && version.find('.', dash) != std::string_view::npos;
}

bool has_ofed(const Facts& facts) {
  const auto& version = facts.rdma.driver_version;
  if (version.ok()) return is_of_ofed(*version);
  // OFED's modules depend on this one, which no kernel has.
  const auto& modules = facts.system.kernel.loaded_modules;
  return modules.ok() && std::ranges::find(*modules, "mlx_compat") != modules->end();
}

bool on_hardware(const RdmaDevice& device) { return device.pci_address.ok(); }
bool on_mlx4(const RdmaDevice& device) { return device.driver.value_or("").starts_with("mlx4"); }

// Returns mlx4 only if there is no adapter of another kind.
AdapterSide adapter_side(const Facts& facts) {
  std::size_t mlx4 = 0;
  std::size_t others = 0;
  for (const RdmaDevice& device : items(facts.rdma.devices))
    if (on_hardware(device)) ++(on_mlx4(device) ? mlx4 : others);
  if (mlx4 == 0 || others > 0) return AdapterSide::kOther;
  return has_ofed(facts) ? AdapterSide::kOfedMlx4 : AdapterSide::kKernelMlx4;
}

// --- the RDMA core ---

bool nvidia_is_registered(const Facts& facts) {
  const auto& clients = facts.rdma.peer_memory_clients;
  return clients.ok() && std::ranges::any_of(*clients, [](const std::string& name) {
           return name.starts_with("nv_mem") || name.starts_with("nvidia");
         });
}

// Ubuntu had the function since 5.11, with updates of 5.4 too, and dropped it with 6.8, except in its
// "-nvidia" kernel (Launchpad 1923104; Ubuntu, "NVIDIA GPUDirect over Infiniband Migration Paths").
PeerMemoryApi api_of_ubuntu(const Facts& facts) {
  const std::string release = release_of(facts);
  const KernelVersion version = version_of(release);
  if (version < KernelVersion{5, 4}) return PeerMemoryApi::kNo;
  if (version < KernelVersion{5, 11}) return PeerMemoryApi::kUnknown;
  if (version < KernelVersion{6, 8}) return PeerMemoryApi::kYes;
  if (release.find("-nvidia") == std::string::npos) return PeerMemoryApi::kNo;
  return version == KernelVersion{6, 8} ? PeerMemoryApi::kYes : PeerMemoryApi::kUnknown;
}

// Distributions with the RDMA core of Linux, unchanged.
constexpr std::string_view kPlainRdmaCore[] = {"rhel",   "rocky",  "almalinux", "centos",
                                               "debian", "fedora", "ol"};

// --- why a route is closed ---

constexpr std::string_view kMlx4CannotReach = "the kernel's own mlx4 driver registers host memory only";

// Returns a reason that closes both routes; empty if there is none.
std::string why_never(const Facts& facts) {
  if (const std::string why = why_no_gpu_can(facts); !why.empty()) return why;
  if (adapter_side(facts) == AdapterSide::kKernelMlx4) return std::string(kMlx4CannotReach);
  return {};
}

std::string why_no_peer_memory(const Facts& facts) {
  if (nvidia_is_registered(facts)) return {};  // by either module: nv_peer_mem was its earlier name
  if (!facts.gpus.peer_memory.ok()) return "nvidia-peermem is not loaded";
  // The folder is created for the first client: without that list no fact contradicts the module.
  return facts.rdma.peer_memory_clients.ok()
             ? "nvidia-peermem is loaded and not registered with the RDMA core"
             : "";
}

// Returns why a GPU of the node cannot export DMA-BUF; empty if all can.
std::string why_gpu_exports_none(const Facts& facts) {
  if (!facts.gpus.open_module.value_or(false)) return "the driver is not the open kernel module";
  for (const Gpu& gpu : items(facts.gpus.devices)) {
    const GpuModel* model = gpu.model.ok() ? find_gpu_model(*gpu.model) : nullptr;
    if (model != nullptr && model->gpudirect == GpuDirect::kPeerMemory)
      return fmt::format("{} does it only by nvidia-peermem", model->name);
    // The driver's own report, if it was queried.
    if (gpu.cuda.ok() && gpu.cuda->dma_buf == false)
      return fmt::format("CUDA says that GPU {} exports no DMA-BUF", gpu.pci_address);
  }
  return {};
}

bool has_p2p_dma(const Facts& facts) {
  const auto& config = facts.system.kernel.config;
  if (!config.ok()) return true;
  const auto option = config->find("CONFIG_PCI_P2PDMA");
  return option != config->end() && option->second == "y";
}

// Returns why the adapters' drivers do not support DMA-BUF. Empty if one of them does, which is enough;
// nullopt if none was queried.
std::optional<std::string> what_adapters_say(const Facts& facts) {
  const RdmaDevice* refuses = nullptr;
  for (const RdmaDevice& device : items(facts.rdma.devices)) {
    if (!device.dma_buf.ok()) continue;
    if (*device.dma_buf) return std::string();
    if (refuses == nullptr) refuses = &device;
  }
  if (refuses == nullptr) return std::nullopt;
  return fmt::format("the driver of {} does not take DMA-BUF", refuses->name);
}

// Returns why the kernel or the adapters' drivers do not support DMA-BUF; empty if they do. A driver's own
// report has precedence over the kernel's version, because OFED and RHEL bring support to older kernels.
// Without a report the version decides: ib_umem_dmabuf_get came with 5.12
// (drivers/infiniband/core/umem_dmabuf.c).
std::string why_kernel_takes_none(const Facts& facts) {
  if (!has_p2p_dma(facts)) return "the kernel is built without CONFIG_PCI_P2PDMA";
  if (const auto said = what_adapters_say(facts)) return *said;
  if (kernel_at_least(facts, 5, 12)) return {};
  return fmt::format("kernel {} is older than 5.12", release_of(facts));
}

std::string why_no_dma_buf(const Facts& facts) {
  if (adapter_side(facts) == AdapterSide::kOfedMlx4) return "mlx4 takes no DMA-BUF";
  const std::string why = why_gpu_exports_none(facts);
  return why.empty() ? why_kernel_takes_none(facts) : why;
}

// --- the table ---

GpuSide gpu_side(const Facts& facts) {
  if (!why_no_gpu_can(facts).empty()) return GpuSide::kNone;
  for (const Gpu& gpu : items(facts.gpus.devices)) {
    const GpuModel* const model = find_gpu_model(gpu.model.value_or(""));
    if (model != nullptr && model->gpudirect == GpuDirect::kPeerMemory) return GpuSide::kBeforeTuring;
  }
  return facts.gpus.open_module.value_or(false) ? GpuSide::kOpenModule : GpuSide::kClosedModule;
}

// Returns the column of the table. If the kernel could support DMA-BUF, a missing support is the adapter
// driver's.
KernelSide kernel_side(const Facts& facts) {
  if (why_kernel_takes_none(facts).empty()) return KernelSide::kTakesDmaBuf;
  const bool could = has_p2p_dma(facts) && kernel_at_least(facts, 5, 12);
  return could ? KernelSide::kAdapterRefuses : KernelSide::kTooOld;
}

constexpr const char kUnload[] = "modprobe -r nvidia-peermem";  // no effect if the module is not loaded
constexpr const char kLoad[] = "modprobe nvidia-peermem";
constexpr const char kLoadAtBoot[] = "echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf";
// MLNX_OFED 4.9 has an older form of the interface.
constexpr const char kLegacy[] =
    "echo 'options nvidia-peermem peerdirect_support=1' > /etc/modprobe.d/nvidia-peermem.conf";
constexpr const char kAskForApi[] = "grep -w ib_register_peer_memory_client /proc/kallsyms";

constexpr auto kAny = std::nullopt;
constexpr std::string_view kPeermemSource =
    "open-gpu-kernel-modules kernel-open/nvidia-peermem/nvidia-peermem.c: -EINVAL without "
    "ib_register_peer_memory_client";

}  // namespace

std::span<const GpuDirectRow> gpudirect_table() {
  static const std::array kTable = {
      GpuDirectRow{.gpu = GpuSide::kNone,
                   .adapter = kAny,
                   .api = kAny,
                   .kernel = kAny,
                   .possible = false,
                   .text = "adapters cannot reach this GPU's memory: NCCL stages through host memory",
                   .source =
                       "CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED; GPUDirect RDMA documentation, 1: "
                       "Tesla and Quadro; NVIDIA on DGX Spark, forums.developer.nvidia.com/t/348787"},
      GpuDirectRow{.gpu = kAny,
                   .adapter = AdapterSide::kKernelMlx4,
                   .api = kAny,
                   .kernel = kAny,
                   .possible = false,
                   .text = kMlx4CannotReach,
                   .source = "Linux drivers/infiniband/hw/mlx4/mr.c: ib_umem_get, no peer memory; main.c: no "
                             "reg_user_mr_dmabuf"},
      GpuDirectRow{.gpu = kAny,
                   .adapter = AdapterSide::kOfedMlx4,
                   .api = kAny,
                   .kernel = kAny,
                   .possible = true,
                   .text = "Load nvidia-peermem and tell it that this is MLNX_OFED 4.9.",
                   .commands = {kLegacy, kUnload, kLoad, kLoadAtBoot},
                   .source =
                       "nvidia-peermem.c, peerdirect_support; github.com/Mellanox/nv_peer_memory README: "
                       "ConnectX-3 VPI, MLNX_OFED 4.9 LTS"},
      GpuDirectRow{.gpu = kAny,
                   .adapter = kAny,
                   .api = PeerMemoryApi::kYes,
                   .kernel = kAny,
                   .possible = true,
                   .text = "Load nvidia-peermem now and at every boot.",
                   .commands = {kLoad, kLoadAtBoot},
                   .source = "GPUDirect RDMA documentation, Using nvidia-peermem"},
      GpuDirectRow{.gpu = kAny,
                   .adapter = kAny,
                   .api = PeerMemoryApi::kLoaded,
                   .kernel = kAny,
                   .possible = true,
                   .text = "Load nvidia-peermem again, now that the RDMA drivers run.",
                   .commands = {kUnload, kLoad},
                   .source = "github.com/NVIDIA/nccl/issues/1939: loaded is not registered"},
      GpuDirectRow{
          .gpu = GpuSide::kClosedModule,
          .adapter = kAny,
          .api = kAny,
          .kernel = KernelSide::kTakesDmaBuf,
          .possible = true,
          .text = "Install the open kernel module of the GPU driver the way the driver came (nvidia-open of "
                  "NVIDIA's packages, --kernel-module-type=open of its .run file), then DMA-BUF works with "
                  "this kernel's RDMA drivers. The licence says which one there is: NVIDIA, or Dual MIT/GPL.",
          .commands = {"modinfo -F license nvidia"},
          .needs_reboot = true,
          .source = "open-gpu-kernel-modules README: Turing or later; GPU Operator, GPUDirect RDMA"},
      GpuDirectRow{.gpu = kAny,
                   .adapter = kAny,
                   .api = PeerMemoryApi::kUnknown,
                   .kernel = kAny,
                   .possible = true,
                   .text =
                       "Ask the kernel whether its RDMA core has a place for nvidia-peermem. Where a line "
                       "comes back, `modprobe nvidia-peermem` opens the route; where none does, it needs "
                       "DOCA-OFED.",
                   .commands = {kAskForApi},
                   .source = kPeermemSource},
      GpuDirectRow{.gpu = GpuSide::kBeforeTuring,
                   .adapter = kAny,
                   .api = PeerMemoryApi::kNo,
                   .kernel = kAny,
                   .possible = true,
                   .text = "Install NVIDIA's DOCA-OFED (or the MLNX_OFED that drives this adapter on this "
                           "system) and after it the GPU driver again, whose nvidia-peermem is built against "
                           "it. The kernel's own RDMA drivers know only DMA-BUF, which this GPU cannot. "
                           "Afterwards the kernel has this symbol, and `modprobe nvidia-peermem` works.",
                   .commands = {kAskForApi},
                   .needs_reboot = true,
                   .source = kPeermemSource},
      GpuDirectRow{.gpu = kAny,
                   .adapter = kAny,
                   .api = PeerMemoryApi::kNo,
                   .kernel = KernelSide::kTooOld,
                   .possible = true,
                   .text =
                       "Boot a kernel of 5.12 or newer that is built with CONFIG_PCI_P2PDMA, and the open "
                       "kernel module of the GPU driver with it. These are the installed ones that have it.",
                   .commands = {"grep -l CONFIG_PCI_P2PDMA=y /boot/config-* /lib/modules/*/config"},
                   .needs_reboot = true,
                   .source = "Linux drivers/infiniband/core/umem_dmabuf.c, since 5.12; drivers/pci/p2pdma.c"},
      GpuDirectRow{.gpu = kAny,
                   .adapter = kAny,
                   .api = PeerMemoryApi::kNo,
                   .kernel = KernelSide::kAdapterRefuses,
                   .possible = false,
                   .text = "the adapter's driver takes no DMA-BUF, and this RDMA core no nvidia-peermem",
                   .source = "ibv_reg_dmabuf_mr answers EOPNOTSUPP; nvidia-peermem.c"},
      GpuDirectRow{
          .gpu = kAny,
          .adapter = kAny,
          .api = kAny,
          .kernel = kAny,
          .possible = true,
          .text = "Read what the GPU's driver says: by kernel, module and adapter DMA-BUF should work.",
          .commands = {"dmesg | grep -i -e nvrm -e dma-buf"},
          .source = "CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED"},
  };
  return kTable;
}

std::string why_gpu_cannot(const Gpu& gpu, const GpuModel* model) {
  if (model != nullptr && model->gpudirect == GpuDirect::kNone)
    return fmt::format("{} has no GPUDirect RDMA", model->name);
  // NCCL makes the same query and relies on it (src/plugin/net.cc, ncclGpuGdrSupport).
  if (gpu.cuda.ok() && gpu.cuda->gpudirect_rdma == false)
    return fmt::format("CUDA says that GPU {} has no GPUDirect RDMA", gpu.pci_address);
  return {};
}

std::string why_no_gpu_can(const Facts& facts) {
  std::string why;
  for (const Gpu& gpu : items(facts.gpus.devices)) {
    why = why_gpu_cannot(gpu, find_gpu_model(gpu.model.value_or("")));
    if (why.empty()) return {};
  }
  return why;
}

std::string why_adapter_cannot(const Facts& facts, const NicModel& model) {
  if (model.gpudirect || has_ofed(facts)) return {};
  // The last release for mlx4 can be built up to this kernel (MLNX_OFED 4.9-2.2.6.0, "New Features").
  const bool ofed_ends = kernel_at_least(facts, 5, 5);
  return fmt::format("{} has no GPUDirect RDMA with the kernel's own driver; {}", model.name,
                     ofed_ends ? "MLNX_OFED 4.9 LTS, the last for it, ends with kernel 5.4"
                               : "it takes MLNX_OFED 4.9 LTS, the last for it, and nvidia-peermem");
}

PeerMemoryApi peer_memory_api(const Facts& facts) {
  // nvidia-peermem stays loaded only if it could register.
  if (facts.gpus.peer_memory.ok()) return PeerMemoryApi::kLoaded;
  if (nvidia_is_registered(facts) || has_ofed(facts)) return PeerMemoryApi::kYes;
  const std::string os = facts.system.os.id.value_or("");
  if (os == "ubuntu") return api_of_ubuntu(facts);
  return std::ranges::find(kPlainRdmaCore, os) != std::end(kPlainRdmaCore) ? PeerMemoryApi::kNo
                                                                           : PeerMemoryApi::kUnknown;
}

GpuDirectRoutes gpudirect_routes(const Facts& facts) {
  if (const std::string why = why_never(facts); !why.empty()) return {why, why};
  return {why_no_peer_memory(facts), why_no_dma_buf(facts)};
}

const GpuDirectRow& gpudirect_remedy(const Facts& facts) {
  const GpuSide gpu = gpu_side(facts);
  const AdapterSide adapter = adapter_side(facts);
  const PeerMemoryApi api = peer_memory_api(facts);
  const KernelSide kernel = kernel_side(facts);
  const auto fits = [](const auto& column, const auto& node) { return !column || *column == node; };
  return *std::ranges::find_if(gpudirect_table(), [&](const GpuDirectRow& row) {
    return fits(row.gpu, gpu) && fits(row.adapter, adapter) && fits(row.api, api) && fits(row.kernel, kernel);
  });
}

}  // namespace railbed
