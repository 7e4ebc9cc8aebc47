// GPUDirect RDMA: whether it is possible, by which route, and the distance from a GPU to its adapter.
#include <fmt/format.h>

#include <algorithm>

#include "hardware/gpu_model.h"
#include "hardware/gpudirect.h"
#include "hardware/pci_path.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Returns why none of the rails' adapters supports it; empty if one does.
std::string why_no_rail_can(const NodeView& node) {
  std::string why = "no rail on a known RDMA adapter";
  for (const RailEnd& end : node.ends) {
    if (end.model == nullptr || !end.for_gpus()) continue;
    why = why_adapter_cannot(*node.facts, *end.model);
    if (why.empty()) return {};
  }
  return why;
}

std::string why_no_gpudirect(const NodeView& node) {
  const std::string why = why_no_gpu_can(*node.facts);
  return why.empty() ? why_no_rail_can(node) : why;
}

bool has_rdma_device(const RailEnd& end) { return static_cast<bool>(end.rdma); }

// Ends the case if no rail has its RDMA device and an adapter lacks the device that its driver should create.
// GPUDirect can only be judged once that driver runs.
bool waits_for_adapter(Case& verdict, const NodeView& node) {
  const auto& devices = node.facts->rdma.devices;
  if (!devices.ok() || std::ranges::any_of(node.ends, has_rdma_device)) return false;
  for (const PciDevice* adapter : node.adapters()) {
    const auto of_adapter = [&](const RdmaDevice& device) {
      return device.pci_address.value_or("") == adapter->address;
    };
    if (std::ranges::any_of(*devices, of_adapter)) continue;
    verdict.not_applicable(fmt::format("adapter {} has no RDMA device (rdma.pci-device)", adapter->address));
    return true;
  }
  return false;
}

Things gpus_and_nccl(const NodeView& node) {
  Things touches = node.gpu_touches;
  touches.add("nccl");
  return touches;
}

void gpudirect_possible(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "GPUDirect RDMA", gpus_and_nccl, [](Case& verdict, const NodeView& node) {
    if (verdict.lacks_gpus(node) || waits_for_adapter(verdict, node)) return;
    const std::string why = why_no_gpudirect(node);
    if (why.empty()) return verdict.pass("possible");
    const NcclVariable* level = effective(node.facts->nccl, "NCCL_NET_GDR_LEVEL");
    if (level == nullptr || level->value == "LOC" || level->value == "0") return verdict.not_applicable(why);
    verdict.add_evidence(level->from);
    verdict.warn({.message = fmt::format("{}={} on {} has no effect, NCCL stages GPU data in host memory: {}",
                                         level->name, level->value, *node.name, why),
                  .expected = level->name + " unset",
                  .observed = level->value,
                  .remedy = {fmt::format("Take the line out of {}.", level->from)}});
  });
}

void tell_both_routes(Case& verdict, const NodeView& node) {
  verdict.warn(
      {.message = fmt::format("{} has both GPUDirect routes, DMA-BUF and nvidia-peermem: "
                              "which one is used depends on the program",
                              *node.name),
       .expected = "DMA-BUF alone",
       .observed = "both",
       .remedy = {"Unload nvidia-peermem and keep it from loading; DMA-BUF is the route NVIDIA recommends.",
                  {"modprobe -r nvidia-peermem",
                   "echo 'blacklist nvidia-peermem' > /etc/modprobe.d/nvidia-peermem.conf"}}});
}

// Returns one sentence if both routes are closed for the same reason.
std::string why_closed(const GpuDirectRoutes& routes) {
  if (routes.no_peer_memory == routes.no_dma_buf) return routes.no_dma_buf;
  return fmt::format("{}, and DMA-BUF is out because {}", routes.no_peer_memory, routes.no_dma_buf);
}

void tell_no_route(Case& verdict, const NodeView& node, const GpuDirectRoutes& routes) {
  const GpuDirectRow& row = gpudirect_remedy(*node.facts);
  if (!row.possible) return verdict.not_applicable(std::string(row.text));
  verdict.fail(
      {.message = fmt::format("{} has no GPUDirect route: {}", *node.name, why_closed(routes)),
       .expected = "DMA-BUF or nvidia-peermem",
       .observed = "neither",
       .remedy = {
           .text = std::string(row.text),
           .commands = row.commands,
           .needs_reboot = row.needs_reboot,
           // A module that is loaded and serves nothing has to be unloaded first; other rows do not load it.
           .by_hand_only =
               row.commands.empty() || !row.commands.front().text().starts_with("modprobe nvidia")}});
}

// Returns true after ending the case as unknown if the fact could not be determined.
template <class T>
bool is_untold(Case& verdict, const Reading<T>& reading) {
  return reading.unknown() && verdict.read(reading) == nullptr;
}

void gpudirect_route(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "GPUDirect RDMA", its_gpus, [](Case& verdict, const NodeView& node) {
    if (verdict.lacks_gpus(node) || waits_for_adapter(verdict, node)) return;
    if (const std::string why = why_no_gpudirect(node); !why.empty()) return verdict.not_applicable(why);
    if (node.facts->gpus.driver_version.absent())
      return verdict.not_applicable("no driver is loaded (gpu.driver)");
    verdict.seen(node.facts->gpus.peer_memory);
    verdict.seen(node.facts->gpus.open_module);
    if (is_untold(verdict, node.facts->gpus.peer_memory) ||
        is_untold(verdict, node.facts->gpus.open_module) ||
        is_untold(verdict, node.facts->system.kernel.config))
      return;
    const GpuDirectRoutes routes = gpudirect_routes(*node.facts);
    if (!routes.any()) return tell_no_route(verdict, node, routes);
    if (routes.peer_memory() && routes.dma_buf()) return tell_both_routes(verdict, node);
    verdict.pass(routes.peer_memory() ? "nvidia-peermem" : "DMA-BUF");
  });
}

// A GPU and the closest rail adapter that supports GPUDirect RDMA.
struct Nearest {
  const PciDevice* gpu;
  const RailEnd* end = nullptr;  // null if there is none
  PathClass path = PathClass::kSys;
  bool others_have_switch = false;  // a GPU of this node has such an adapter on its own PCIe switch

  const std::string& address() const { return gpu->address; }
};

Nearest nearest_rail(const NodeView& node, const PciDevice& gpu) {
  Nearest best{.gpu = &gpu};
  for (const RailEnd& end : node.ends) {
    if (end.adapter == nullptr || end.model == nullptr || !end.for_gpus() ||
        !why_adapter_cannot(*node.facts, *end.model).empty())
      continue;
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
  for (Nearest& nearest : all) nearest.others_have_switch = has_switch;
  return all;
}

Things touches_of_nearest(const NodeView& node, const Nearest& best) {
  Things touches = node.touches_of(*best.gpu);
  if (best.end != nullptr) touches.add(best.end->touches);
  return touches;
}

// Returns a rail end without its interface, which may be the closest one; null if there is none.
const RailEnd* missing_end(const NodeView& node) {
  const auto found = std::ranges::find_if(node.ends, [](const RailEnd& end) {
    return end.interface == nullptr && end.wants_rdma() && !end.software_rdma();
  });
  return found == node.ends.end() ? nullptr : &*found;
}

// Returns NCCL's choice for this GPU and the NIC closest to it; null if it has none.
const nccl::PairChoice* choice_for(const NodeView& node, const Nearest& best) {
  const auto found = std::ranges::find_if(node.nccl_choices.pairs, [&](const nccl::PairChoice& pair) {
    return pair.nearest && pair.gpu == best.address();
  });
  return found == node.nccl_choices.pairs.end() ? nullptr : &*found;
}

void tell_undecided(Case& verdict, const NodeView& node, const Nearest& best, const std::string& text) {
  verdict.warn(
      {.message = fmt::format("GPU {} of {} reaches {} through the host bridge ({}): NCCL stages its data in "
                              "host memory, for by itself it goes direct up to PXB only",
                              best.address(), *node.name, best.end->name, to_text(best.path)),
       .expected = "NCCL_NET_GDR_LEVEL=PHB, or PXB to stay with host memory, as measured",
       .observed = text + ", NCCL_NET_GDR_LEVEL unset",
       .remedy = {fmt::format("Measure both and keep the faster: with NCCL_NET_GDR_LEVEL=PHB NCCL goes "
                              "direct by {}, through the host bridge, on every node that has the line; "
                              "PXB in its place writes down that host memory was faster.",
                              node.nccl_choices.gpudirect_route),
                  {"railbed bench collectives cluster.yaml", "echo NCCL_NET_GDR_LEVEL=PHB >> /etc/nccl.conf",
                   "railbed bench collectives cluster.yaml"}}});
}

// Judges a GPU without a PCIe switch. Nothing is closer than the host bridge then, which is no fault of the
// machine. NCCL does not use GPUDirect across the host bridge by default; only a measurement shows whether it
// should.
void judge_without_switch(Case& verdict, const NodeView& node, const Nearest& best, const std::string& text) {
  const nccl::PairChoice* const choice = choice_for(node, best);
  if (choice == nullptr) return verdict.pass(text);
  if (choice->gpudirect) return verdict.pass(fmt::format("{}: direct, {}", text, choice->why));
  const bool decided = effective(node.facts->nccl, "NCCL_NET_GDR_LEVEL") != nullptr;
  if (decided || node.nccl_choices.gpudirect_route.empty())
    return verdict.pass(fmt::format("{}: staged in host memory, {}", text, choice->why));
  tell_undecided(verdict, node, best, text);
}

void tell_far(Case& verdict, const NodeView& node, const Nearest& best, const std::string& text) {
  const bool by_bridge = best.path == PathClass::kPhb;
  verdict.red(
      by_bridge ? Status::kWarn : Status::kFail,
      {.message =
           fmt::format("GPU {} of {} reaches its closest rail adapter, {}, only by {}: {}", best.address(),
                       *node.name, best.end->name, to_text(best.path),
                       by_bridge ? "each transfer passes the processor, other GPUs have one on their switch"
                                 : "GPUDirect crosses between host bridges, often slower than host memory"),
       .expected = "PIX or PXB",
       .observed = text,
       .remedy = {
           best.others_have_switch
               ? "Give this GPU a rail on the adapter of its own PCIe switch, or move the adapter there."
               : "Move the adapter or the GPU to a slot of the other's processor.",
           {"railbed facts --topology", "nvidia-smi topo -m"},
           true}});
}

void judge_nearest(Case& verdict, const NodeView& node, const Nearest& best) {
  verdict.seen(node.facts->pci);
  if (waits_for_adapter(verdict, node)) return;
  if (const std::string why = why_no_gpudirect(node); !why.empty()) return verdict.not_applicable(why);
  if (best.end == nullptr) return verdict.not_applicable("no rail on a PCI adapter");
  const std::string text = fmt::format("{} to {}", to_text(best.path), best.end->name);
  if (best.path <= PathClass::kPxb) return verdict.pass(text);
  if (const RailEnd* const end = missing_end(node))
    return verdict.not_applicable(
        fmt::format("{} is missing, which may be closer (net.interface)", end->name));
  if (best.path != PathClass::kSys && !best.others_have_switch)
    return judge_without_switch(verdict, node, best, text);
  tell_far(verdict, node, best, text);
}

void gpudirect_path(const Survey& survey, Judge& judge) {
  each_of(survey, judge, nearest_rails, &Nearest::address, touches_of_nearest, judge_nearest);
}

}  // namespace

std::span<const Rule> gpudirect_rules() {
  static const Rule kRules[] = {
      {.id = "gpu.gpudirect-possible",
       .title = "GPUDirect RDMA is asked for only where it can be",
       .why =
           "GeForce and GB10 have no GPUDirect RDMA, nor has ConnectX-3 with the kernel's own driver: data is "
           "staged through host memory. A setting that asks for it hides this, it does not change it.",
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
       .standard =
           "DMA-BUF (open module, kernel ≥ 5.12) or nvidia-peermem (an RDMA core that takes it), not both",
       .remedy =
           "Do what the finding says: the table of src/hardware/gpudirect.cc has one way for this GPU, driver, adapter and kernel.",
       .fixture = "h100-gpudirect-none",
       .explained_by = {"gpu.driver"},
       .settings = {"modules/peermem"},
       .check = gpudirect_route},
      {.id = "gpu.gpudirect-path",
       .title = "each GPU has a rail close to it",
       .why =
           "GPUDirect through a PCIe switch runs at the port's rate; through host bridges it may be slower "
           "than host memory, so NCCL does not take that way unless it is told to.",
       .source = "bridges above GPU and adapter in /sys/bus/pci/devices",
       .standard = "PIX or PXB (NCCL's default, src/graph/paths.cc); where the machine has no PCIe switch, "
                   "NCCL_NET_GDR_LEVEL set as measured",
       .remedy =
           "Use the adapter beside the GPU as a rail; on a machine without a PCIe switch, measure and set the level.",
       .fixture = "h100-gpudirect-path",
       .explained_by = {"pcie.rails-beside-gpus", "pcie.gpu-near-adapter", "gpu.gpudirect-possible"},
       .check = gpudirect_path},
  };
  return kRules;
}

}  // namespace railbed
