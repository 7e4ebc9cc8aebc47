// GPUDirect RDMA: whether it can be, by which route, and how far a GPU is from its network adapter.
#include <fmt/format.h>

#include <algorithm>

#include "hardware/gpu_model.h"
#include "hardware/gpudirect.h"
#include "hardware/pci_path.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// The longest list of GPUs for which the reason holds.
std::string why_no_gpudirect(const NodeView& node) {
  bool any_adapter = false;
  for (const RailEnd& end : node.ends)
    any_adapter = any_adapter || (end.model != nullptr && end.model->gpudirect);
  if (!any_adapter) {
    for (const RailEnd& end : node.ends)
      if (end.model != nullptr) return fmt::format("{} cannot reach GPU memory", end.model->name);
    return "no rail on a known RDMA adapter";
  }
  const auto reachable = [](const GpuModel* model) {
    return model == nullptr || model->gpudirect != GpuDirect::kNone;
  };
  if (std::ranges::any_of(node.gpu_models, reachable)) return {};
  return "this GPU's memory cannot be reached by adapters: NCCL stages through host memory";
}

Things gpus_and_nccl(const NodeView& node) {
  Things touches = node.gpu_touches;
  touches.add("nccl");
  return touches;
}

void gpudirect_possible(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "GPUDirect RDMA", gpus_and_nccl, [](Case& one, const NodeView& node) {
    if (one.lacks_gpus(node)) return;
    const std::string why = why_no_gpudirect(node);
    if (why.empty()) return one.pass("possible");
    const NcclVariable* level = effective(node.facts->nccl, "NCCL_NET_GDR_LEVEL");
    if (level == nullptr || level->value == "LOC" || level->value == "0") return one.not_applicable(why);
    one.add_evidence(level->from);
    one.warn({.message = fmt::format("NCCL on {} is told to use GPUDirect RDMA ({}={}), which cannot be: {}",
                                     *node.name, level->name, level->value, why),
              .expected = level->name + " unset",
              .observed = level->value,
              .remedy = {fmt::format("Take the line out of {}.", level->from)}});
  });
}

void gpudirect_route(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "GPUDirect RDMA", its_gpus, [](Case& one, const NodeView& node) {
    if (one.lacks_gpus(node)) return;
    if (const std::string why = why_no_gpudirect(node); !why.empty()) return one.not_applicable(why);
    if (node.facts->gpus.driver_version.absent())
      return one.not_applicable("no driver is loaded (gpu.driver)");
    one.seen(node.facts->gpus.peer_memory);
    one.seen(node.facts->gpus.open_module);
    const GpuDirectRoutes routes = gpudirect_routes(*node.facts);
    if (routes.peer_memory() != routes.dma_buf())
      return one.pass(routes.peer_memory()           ? "nvidia-peermem"
                      : routes.dma_buf_on_old_kernel ? "DMA-BUF; kernel 6.2 or newer does it best"
                                                     : "DMA-BUF");
    if (routes.peer_memory())
      return one.warn(
          {.message = fmt::format("{} has both GPUDirect routes, DMA-BUF and nvidia-peermem: "
                                  "which one is used depends on the program",
                                  *node.name),
           .expected = "DMA-BUF alone",
           .observed = "both",
           .remedy = {
               "Unload nvidia-peermem and keep it from loading; DMA-BUF is the route NVIDIA recommends.",
               {"modprobe -r nvidia-peermem",
                "echo 'blacklist nvidia-peermem' > /etc/modprobe.d/nvidia-peermem.conf"}}});
    one.fail(
        {.message = fmt::format("{} has no GPUDirect route: {}, and DMA-BUF is out because {}", *node.name,
                                routes.no_peer_memory, routes.no_dma_buf),
         .expected = "DMA-BUF or nvidia-peermem",
         .observed = "neither",
         .remedy = {
             "Load nvidia-peermem, or install the open kernel module on a kernel of 6.2 or newer.",
             {"modprobe nvidia-peermem", "echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf"}}});
  });
}

// A GPU and the closest rail adapter that can do GPUDirect RDMA.
struct Nearest {
  const PciDevice* gpu;
  const RailEnd* end = nullptr;  // null: there is none
  PathClass path = PathClass::kSys;
  bool others_have_switch = false;  // a GPU of this node has such an adapter on its own PCIe switch

  const std::string& address() const { return gpu->address; }
};

Nearest nearest_rail(const NodeView& node, const PciDevice& gpu) {
  Nearest best{.gpu = &gpu};
  for (const RailEnd& end : node.ends) {
    if (end.adapter == nullptr || end.model == nullptr || !end.model->gpudirect) continue;
    const PathClass path = path_between(node.pci(), gpu, *end.adapter);
    if (best.end != nullptr && path >= best.path) continue;
    best.end = &end;
    best.path = path;
  }
  return best;
}

std::vector<Nearest> nearest_rails(const NodeView& node) {
  std::vector<Nearest> all;
  for (const PciDevice* gpu : node.gpus()) all.push_back(nearest_rail(node, *gpu));
  const bool has_switch = std::ranges::any_of(
      all, [](const Nearest& best) { return best.end != nullptr && best.path <= PathClass::kPxb; });
  for (Nearest& one : all) one.others_have_switch = has_switch;
  return all;
}

Things touches_of_nearest(const NodeView& node, const Nearest& best) {
  Things touches = node.touches_of(*best.gpu);
  if (best.end != nullptr) touches.add(best.end->touches);
  return touches;
}

void judge_nearest(Case& one, const NodeView& node, const Nearest& best) {
  one.seen(node.facts->pci);
  if (const std::string why = why_no_gpudirect(node); !why.empty()) return one.not_applicable(why);
  if (best.end == nullptr) return one.not_applicable("no rail on a PCI adapter");
  const std::string text = fmt::format("{} to {}", to_text(best.path), best.end->name);
  // A machine without PCIe switches has nothing closer to offer than its host bridge.
  const bool by_bridge = best.path == PathClass::kPhb;
  if (best.path <= PathClass::kPxb || (by_bridge && !best.others_have_switch)) return one.pass(text);
  one.red(
      by_bridge ? Status::kWarn : Status::kFail,
      {.message =
           fmt::format("GPU {} of {} reaches its closest rail adapter, {}, only by {}: {}", best.address(),
                       *node.name, best.end->name, to_text(best.path),
                       by_bridge ? "each transfer passes the processor, other GPUs have one on their switch"
                                 : "GPUDirect crosses between host bridges and is slower than staging"),
       .expected = "PIX or PXB",
       .observed = text,
       .remedy = {"Give this GPU a rail on the adapter of its own PCIe switch, or move the adapter there.",
                  {"railbed facts --topology", "nvidia-smi topo -m"},
                  true}});
}

void gpudirect_path(const Survey& survey, Judge& judge) {
  each_of(survey, judge, nearest_rails, &Nearest::address, touches_of_nearest, judge_nearest);
}

}  // namespace

std::span<const Rule> gpudirect_rules() {
  static const Rule kRules[] = {
      {.id = "gpu.gpudirect-possible",
       .title = "GPUDirect RDMA is asked for only where it can be",
       .why = "ConnectX-3, GeForce and GB10 have no GPUDirect RDMA: data is staged through host memory. "
              "A setting that asks for it hides this, it does not change it.",
       .source = "src/hardware tables, NCCL_NET_GDR_LEVEL",
       .standard = "NCCL_NET_GDR_LEVEL unset where adapter or GPU cannot",
       .remedy = "Remove the setting.",
       .fixture = "spark-gdr-asked",
       .explained_by = {"nccl.gdr-level"},
       .check = gpudirect_possible},
      {.id = "gpu.gpudirect-route",
       .title = "one GPUDirect route is there",
       .why =
           "Without a route every transfer makes a detour through host memory at less than half the speed; "
           "with two it is unclear which one is measured.",
       .source = "/sys/module/nvidia_peermem, /sys/kernel/mm/memory_peers, /proc/driver/nvidia/version, "
                 "kernel release, "
                 "CONFIG_PCI_P2PDMA, ibv_reg_dmabuf_mr",
       .standard = "DMA-BUF (open module, kernel ≥ 5.12) or nvidia-peermem, not both",
       .remedy = "Load nvidia-peermem, or use the open module.",
       .fixture = "h100-gpudirect-none",
       .explained_by = {"gpu.driver"},
       .check = gpudirect_route},
      {.id = "gpu.gpudirect-path",
       .title = "each GPU has a rail close to it",
       .why = "GPUDirect through a PCIe switch runs at the port's rate; "
              "through host bridges at a fraction of it.",
       .source = "bridges above GPU and adapter in /sys/bus/pci/devices",
       .standard = "PIX or PXB; PHB where the machine has no PCIe switch. "
                   "As NCCL's NCCL_NET_GDR_LEVEL does by default",
       .remedy = "A rail on the adapter beside the GPU.",
       .fixture = "h100-gpudirect-path",
       .explained_by = {"pcie.gpu-near-adapter", "gpu.gpudirect-possible"},
       .check = gpudirect_path},
  };
  return kRules;
}

}  // namespace railbed
