// PCI Express: links, slots, NUMA, and the path between a GPU and its network adapter.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/wording.h"
#include "hardware/gpu_model.h"
#include "hardware/pci_link.h"
#include "hardware/pci_path.h"
#include "hardware/spark.h"
#include "model/node_graph.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/gpu_view.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Returns the rate after encoding: 8b/10b up to Gen2, 128b/130b up to Gen5, 1b/1b (FLIT) from Gen6.
BitRate usable(const PcieLink& link) {
  const double efficiency = link.gigatransfers <= 5 ? 0.8 : link.gigatransfers <= 32 ? 128.0 / 130 : 1;
  return BitRate::gigabits(link.gigatransfers * link.width * efficiency);
}

// Returns the first link above a device that runs below what both its ends can do; nullopt if none does.
std::optional<RealLink> first_lost(const NodeView& node, const PciDevice& device) {
  const auto links = links_above(node.pci(), device);
  const auto lost = std::ranges::find(links, PcieState::kLost, &RealLink::state);
  return lost == links.end() ? std::nullopt : std::optional(*lost);
}

// Returns whether this accelerator is the one whose case speaks of its first lost link: the first below it, adapters
// before GPUs, so that a switch's link to the processor is one finding and not one of each device below the switch.
bool speaks_of(const NodeView& node, const PciDevice& device, const RealLink& link) {
  const auto has_it = [&](const PciDevice* other) {
    const auto lost = first_lost(node, *other);
    return lost && lost->same_as(link);
  };
  const auto adapter = std::ranges::find_if(node.adapters(), has_it);
  if (adapter != node.adapters().end()) return *adapter == &device;
  const auto gpu = std::ranges::find_if(node.gpus(), has_it);
  return gpu == node.gpus().end() || *gpu == &device;
}

// Makes the finding one about each accelerator below the link.
void touch_all_below(Case& verdict, const NodeView& node, const RealLink& link) {
  for (const PciDevice* device : node.accelerators())
    for (const RealLink& one : links_above(node.pci(), *device))
      if (one.same_as(link)) verdict.touch(node.touches_of(*device));
}

// Judges every link from the device to its root port. An idle GPU lowers the speed of its own link but never its
// width; a load window judges the speed at work (gpu.load-pcie).
void judge_path(Case& verdict, const NodeView& node, const PciDevice& device, Status status,
                std::string_view what) {
  const RealLink own = real_link(node.pci(), device);
  if (own.state == PcieState::kNoData) return verdict.not_applicable(own.why);
  const PciDevice& lower = *own.lower;
  if (verdict.read_if_there(lower.link_now, "it has no PCI Express link") == nullptr) return;
  if (verdict.read(lower.link_max) == nullptr) return;
  if (const auto lost = first_lost(node, device)) {
    const RealLink& link = *lost;
    if (!speaks_of(node, device, link))
      return verdict.not_applicable(
          fmt::format("the link {} → {} runs below its best, which the first device below it reports",
                      link.upper->address, link.lower->address));
    touch_all_below(verdict, node, link);
    PcieLink most = *link.possible;
    if (is_gpu(*link.lower)) most.gigatransfers = link.now->gigatransfers;
    return verdict.red(
        status,
        {.message =
             fmt::format("{} of {}: the PCIe link {} → {} runs at {}, both ends can do {}", what, *node.name,
                         link.upper->address, link.lower->address, to_text(*link.now), to_text(most)),
         .expected = to_text(most),
         .observed = to_text(*link.now),
         .remedy = {
             is_bridge(*link.lower)
                 ? "Power the node off and on; then look at the board or the riser that has this switch, its cable "
                   "and its settings in the BIOS. All devices below the switch share this link."
                 : "Reseat the card, clean its contacts; then check the slot's and riser's settings in the BIOS.",
             {command("lspci -vvs {} | grep -i lnk", link.lower->address)},
             true}});
  }
  if (own.state == PcieState::kUnknown) return verdict.unknown(own.why);
  verdict.pass(to_text(*own.now));
}

// Judges a DGX Spark's adapter, which is soldered to the board, so nothing can be reseated. The firmware sets
// the link that both ends report as their maximum.
bool judge_spark_lanes(Case& verdict, const NodeView& node, const PciDevice& adapter) {
  constexpr PcieLink kWhole{32, 4};
  if (!is_spark_function(node.pci(), adapter) || !adapter.link_now || !below(*adapter.link_now, kWhole))
    return false;
  verdict.seen(adapter.link_now);
  verdict.fail(
      {.message =
           fmt::format("adapter {} of {} has a link of {}: firmware before spring 2026 wires the second "
                       "way to a DGX Spark's cables so, at half the rate",
                       adapter.address, *node.name, to_text(*adapter.link_now)),
       .expected = to_text(kWhole),
       .observed = to_text(*adapter.link_now),
       .remedy = {
           "Update the firmware, then power the machine off and on; look at the MTU of every interface "
           "afterwards, since an update can set one back to 1500.",
           {"fwupdmgr refresh", "fwupdmgr get-updates", "ip -brief link"},
           true}});
  return true;
}

void adapter_link(const Survey& survey, Judge& judge) {
  each_adapter(survey, judge, [](Case& verdict, const NodeView& node, const PciDevice& adapter) {
    if (judge_spark_lanes(verdict, node, adapter)) return;
    judge_path(verdict, node, adapter, Status::kFail, "adapter " + adapter.address);
  });
}

void gpu_link(const Survey& survey, Judge& judge) {
  each_pci_gpu(survey, judge, [](Case& verdict, const NodeView& node, const PciDevice& gpu) {
    if (uses_no_pcie(node, gpu.address)) return verdict.not_applicable(std::string(kUsesNoPcie));
    judge_path(verdict, node, gpu, Status::kWarn, "GPU " + gpu.address);
  });
}

void slot_limits_adapter(const Survey& survey, Judge& judge) {
  each_adapter(survey, judge, [](Case& verdict, const NodeView& node, const PciDevice& adapter) {
    BitRate port;
    const RailEnd* rail = nullptr;
    for (const RailEnd& end : node.ends)
      if (end.adapter == &adapter && end.rdma && end.rdma.port->rate.ok() && *end.rdma.port->rate > port) {
        port = *end.rdma.port->rate;
        rail = &end;
      }
    if (rail == nullptr) {
      verdict.not_applicable("no rail with a known rate is on this adapter");
      return;
    }
    const PcieLink* link = verdict.read_if_there(adapter.link_now, "it has no PCI Express link");
    if (link == nullptr) return;
    const RealLink real = real_link(node.pci(), adapter);
    if (real.state == PcieState::kNoData) return verdict.not_applicable(real.why);
    const BitRate slot = usable(*link);
    // DGX Spark splits one port over two x4 functions. The slot does not limit a card that has no more lanes.
    const bool at_its_best = adapter.link_max.ok() && !below(*link, *adapter.link_max);
    if (slot < port && is_tunnelled(links_above(node.pci(), adapter)))
      return verdict.pass(
          fmt::format("{} in an enclosure at a cable of Thunderbolt or USB4", to_text(*link)));
    // Without the port above nobody knows whether a slot of more would help.
    if (slot < port && real.state == PcieState::kUnknown) return verdict.unknown(real.why);
    if (slot >= port || at_its_best)
      return verdict.pass(fmt::format("{} carries {}", to_text(*link), to_text(slot)));
    verdict.warn(
        {.message = fmt::format("{} of {} has a {} port in a {} slot, which carries {}: the host limits it",
                                rail->name, *node.name, to_text(port), to_text(*link), to_text(slot)),
         .expected = fmt::format("a slot that carries {}", to_text(port)),
         .observed = fmt::format("{} = {}", to_text(*link), to_text(slot)),
         .remedy = {"Move the card to a wider or faster slot.",
                    {command("lspci -vvs {} | grep -i lnk", adapter.address)},
                    true}});
  });
}

// Returns true after ending the case as unknown if the fact exists and could not be read.
template <class T>
bool is_denied(Case& verdict, const Reading<T>& reading) {
  return !reading.ok() && !reading.absent() && verdict.read(reading) == nullptr;
}

void numa_known(const Survey& survey, Judge& judge) {
  const auto devices_of = [](const NodeView& node) {
    const bool one_node = node.facts->system.cpu.numa_nodes.size() < 2;
    return one_node ? std::vector<const PciDevice*>() : node.accelerators();
  };
  each_device(survey, judge, devices_of, [](Case& verdict, const NodeView& node, const PciDevice& device) {
    const int* numa = verdict.read(device.numa_node);
    if (numa == nullptr) return;
    if (*numa >= 0) return verdict.pass(std::to_string(*numa));
    verdict.warn({.message = fmt::format("the firmware of {} does not say which processor {} hangs on: "
                                         "buffers and threads land on the wrong one half the time",
                                         *node.name, device.address),
                  .expected = "a NUMA node",
                  .observed = "-1",
                  .remedy = {"Switch NUMA on in the BIOS (node interleaving off), or update it.",
                             {command("cat /sys/bus/pci/devices/{}/numa_node", device.address)},
                             true}});
  });
}

void gpu_near_adapter(const Survey& survey, Judge& judge) {
  each_pci_gpu(survey, judge, [](Case& verdict, const NodeView& node, const PciDevice& gpu) {
    std::vector<const PciDevice*> rails;
    for (const RailEnd& end : node.ends)
      if (end.adapter != nullptr && end.for_gpus()) rails.push_back(end.adapter);
    if (rails.empty()) return verdict.not_applicable("no rail on a PCI adapter");
    const int* numa = verdict.read(gpu.numa_node);
    if (numa == nullptr) return;
    const auto numa_of = [](const PciDevice* adapter) { return adapter->numa_node.value_or(-1); };
    const bool known = *numa >= 0 && std::ranges::all_of(
                                         rails, [](int at) { return at >= 0; }, numa_of);
    if (!known) return verdict.not_applicable("the firmware does not say (pcie.numa-known)");
    if (std::ranges::find(rails, *numa, numa_of) != rails.end())
      return verdict.pass(fmt::format("NUMA node {}", *numa));
    verdict.warn(
        {.message = fmt::format("GPU {} of {} is on NUMA node {}, every rail adapter on another: "
                                "its traffic crosses between the processors",
                                gpu.address, *node.name, *numa),
         .expected = fmt::format("a rail adapter on NUMA node {}", *numa),
         .observed = fmt::format("adapters on NUMA node {}", *rails.front()->numa_node),
         .remedy = {"Move the GPU or an adapter to a slot of the same processor.", {"lspci -tv"}, true}});
  });
}

// The adapters that rails use, and which GPUs have one of them below their own PCIe switch.
struct RailsAndGpus {
  std::vector<const PciDevice*> rails;   // one for each card
  std::vector<const PciDevice*> served;  // GPUs with a rail below their switch
  std::vector<const PciDevice*> lonely;  // GPUs below a switch that has none
  std::vector<const PciDevice*>
      spare;  // adapters of a rail's model that belong to no rail, beside lonely GPUs
  std::vector<const PciDevice*> doubled;  // rails' adapters that share a switch
};

bool below_one_switch(const NodeView& node, const PciDevice& a, const PciDevice& b) {
  return path_between(node.pci(), a, b) <= PathClass::kPxb;
}

bool is_one_card(const PciDevice& a, const PciDevice& b) {
  return pci_slot_of(a.address) == pci_slot_of(b.address);
}

RailsAndGpus rails_and_gpus(const NodeView& node) {
  RailsAndGpus found;
  for (const RailEnd& end : node.ends)
    if (end.rail != nullptr && end.adapter != nullptr && end.for_gpus() &&
        std::ranges::none_of(found.rails,
                             [&](const PciDevice* rail) { return is_one_card(*rail, *end.adapter); }))
      found.rails.push_back(end.adapter);
  for (const PciDevice* gpu : node.gpus()) {
    const bool served = std::ranges::any_of(
        found.rails, [&](const PciDevice* rail) { return below_one_switch(node, *gpu, *rail); });
    constexpr std::size_t kRootPortAlone = 2;  // the device itself, then its root port
    if (served)
      found.served.push_back(gpu);
    else if (path_to_root(node.pci(), *gpu).size() > kRootPortAlone)
      found.lonely.push_back(gpu);
  }
  for (const PciDevice* adapter : node.adapters()) {
    const auto of_rails_model = [&](const PciDevice* rail) {
      return rail->device.ok() && adapter->device.ok() && *rail->device == *adapter->device;
    };
    const bool is_rail =
        std::ranges::any_of(found.rails, [&](const PciDevice* rail) { return is_one_card(*rail, *adapter); });
    const bool beside = std::ranges::any_of(
        found.lonely, [&](const PciDevice* gpu) { return below_one_switch(node, *gpu, *adapter); });
    if (!is_rail && beside && std::ranges::any_of(found.rails, of_rails_model))
      found.spare.push_back(adapter);
  }
  for (const PciDevice* rail : found.rails)
    if (std::ranges::any_of(found.rails, [&](const PciDevice* other) {
          return other != rail && below_one_switch(node, *rail, *other);
        }))
      found.doubled.push_back(rail);
  return found;
}

std::string addresses_of(const std::vector<const PciDevice*>& devices) {
  std::vector<std::string_view> addresses;
  for (const PciDevice* device : devices) addresses.push_back(device->address);
  return fmt::format("{}", fmt::join(addresses, ", "));
}

// Returns what the lonely GPUs' way costs: all that share a switch pass its one link to the processor. Empty if that
// link is not known.
std::string cost_of_the_way(const Survey& survey, const NodeView& node, const RailsAndGpus& found) {
  const NodeGraph graph = graph_of_facts(*node.name, *node.facts, &survey.evidence.cluster);
  const auto uplink_of = [&](const PciDevice* device) -> const GraphPlace* {
    const auto gpu = std::ranges::find(graph.gpus, device->address, &GraphGpu::address);
    if (gpu == graph.gpus.end()) return nullptr;
    const auto links = links_to_memory(graph, gpu->up);
    return links.size() > 1 ? links.back() : nullptr;
  };
  const GraphPlace* const uplink = uplink_of(found.lonely.front());
  if (uplink == nullptr) return "";
  const std::optional<PcieLink>& link = uplink->link ? uplink->link : uplink->possible;
  if (!link) return "";
  const auto sharing = std::ranges::count(found.lonely, uplink, uplink_of);
  return fmt::format(", {} of them over one {} link, at most {} for each", sharing, to_text(*link),
                     to_text(BitRate{usable(*link).bits_per_second / static_cast<double>(sharing)}));
}

void rails_beside_gpus(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "rails and GPUs", [&](Case& verdict, const NodeView& node) {
    if (verdict.lacks_gpus(node)) return;
    if (node.gpus().size() < 2) return verdict.not_applicable("one GPU");
    const bool staged = std::ranges::any_of(node.gpu_models, [](const GpuModel* model) {
      return model != nullptr && model->gpudirect == GpuDirect::kNone;
    });
    if (staged)
      return verdict.not_applicable("these GPUs have no GPUDirect RDMA: data passes host memory anyway");
    const RailsAndGpus found = rails_and_gpus(node);
    if (found.rails.size() < 2) return verdict.not_applicable("rails of fewer than two adapters");
    verdict.seen(node.facts->pci);
    if (std::ranges::any_of(node.ends, [](const RailEnd& end) { return end.interface == nullptr; }))
      return verdict.not_applicable("a rail's interface is missing (net.interface)");
    const std::string counts = fmt::format("{}, {}", counted(node.gpus().size(), "GPU"),
                                           counted(found.rails.size(), "rail adapter"));
    if (found.served.empty())
      return verdict.not_applicable("no GPU has a rail below a PCIe switch of its own");
    if (found.lonely.empty()) return verdict.pass(counts);
    if (found.spare.empty() && found.doubled.empty())
      return verdict.not_applicable("no other adapter is there for them");
    for (const PciDevice* gpu : found.lonely) verdict.touch(node.touches_of(*gpu));
    const std::string way =
        fmt::format("{} of {} of {} ({}) have no rail below their PCIe switch", found.lonely.size(),
                    counted(node.gpus().size(), "GPU"), *node.name, addresses_of(found.lonely));
    const std::string cost =
        "their traffic passes the processor to the others' adapters" + cost_of_the_way(survey, node, found);
    if (!found.spare.empty())
      return verdict.warn(
          {.message = fmt::format("{}, and the adapters there ({}) belong to no rail: {}", way,
                                  addresses_of(found.spare), cost),
           .expected = "a rail below each switch that has GPUs",
           .observed = counts,
           .remedy = {found.doubled.empty()
                          ? "Make the adapters beside these GPUs rails, too, in cluster.yaml."
                          : "Make the adapters beside these GPUs rails in cluster.yaml, in place of one of "
                            "two that share a switch, or in addition to them.",
                      {}}});
    verdict.warn(
        {.message = fmt::format("{}, while rail adapters share one ({}): {}", way,
                                addresses_of(found.doubled), cost),
         .expected = "a rail below each switch that has GPUs",
         .observed = counts,
         .remedy = {
             "Move one of the adapters that share a switch to a slot of the other switch.", {}, true}});
  });
}

void iommu(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "IOMMU", [](Case& verdict, const NodeView& node) {
    if (node.gpus().empty() || node.adapters().empty())
      return verdict.not_applicable("no pair of GPU and adapter");
    std::vector<const PciDevice*> translated;
    for (const PciDevice* device : node.accelerators()) {
      verdict.seen(device->iommu_type);
      if (device->iommu_type.ok() && *device->iommu_type != "identity") translated.push_back(device);
      if (is_denied(verdict, device->iommu_type)) return;
    }
    if (translated.empty()) return verdict.pass("off or passthrough");
    for (const PciDevice* device : translated) verdict.touch("pci:" + device->address);
    const std::string model = lower(node.facts->system.cpu.model.value_or(""));
    const std::string_view option =
        model.find("amd") != std::string::npos ? "amd_iommu=on iommu=pt" : "iommu=pt";
    verdict.warn(
        {.message =
             fmt::format("the IOMMU of {} translates ({} on {}): GPU and adapter cannot talk directly, "
                         "or only through the processor",
                         *node.name, *translated.front()->iommu_type, translated.front()->address),
         .expected = "off, or identity (passthrough)",
         .observed = *translated.front()->iommu_type,
         .remedy = {"Add it to the kernel command line and reboot.", set_at_boot_with(node, option), true}});
  });
}

// Returns every bridge between a GPU and an adapter below the same root, without duplicates.
std::vector<const PciDevice*> bridges_between_pairs(const NodeView& node) {
  std::vector<const PciDevice*> bridges;
  for (const PciDevice* gpu : node.gpus())
    for (const PciDevice* adapter : node.adapters())
      for (const PciDevice* bridge : bridges_between(node.pci(), *gpu, *adapter))
        if (std::ranges::find(bridges, bridge) == bridges.end()) bridges.push_back(bridge);
  return bridges;
}

void acs(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "ACS", [](Case& verdict, const NodeView& node) {
    const auto bridges = bridges_between_pairs(node);
    if (bridges.empty()) return verdict.not_applicable("no GPU and adapter under one PCIe switch");
    std::vector<const PciDevice*> on;
    for (const PciDevice* bridge : bridges) {
      if (redirects_peers(*bridge)) on.push_back(bridge);
      if (is_denied(verdict, bridge->acs_control)) return;
    }
    if (on.empty()) return verdict.pass(fmt::format("off on {} bridges", bridges.size()));
    std::vector<ShellCommand> commands;
    std::vector<std::string_view> names;
    for (const PciDevice* bridge : on) {
      verdict.seen(bridge->acs_control);
      verdict.touch("pci:" + bridge->address);
      names.push_back(bridge->address);
      commands.push_back(command("setpci -s {} ecap_acs+6.w=0000", bridge->address));
    }
    verdict.warn(
        {.message = fmt::format(
             "ACS is on at {} of {}: what a GPU sends to its adapter makes a detour through the processor",
             fmt::join(names, ", "), *node.name),
         .expected = "off between GPU and adapter (on bare metal)",
         .observed = fmt::format("0x{:04x}", *on.front()->acs_control),
         .remedy = {
             "Switch it off, and by a boot unit again at every start; inside a virtual machine leave it on.",
             std::move(commands)}});
  });
}

}  // namespace

std::span<const Rule> pcie_rules() {
  static const Rule kRules[] = {
      {.id = "pcie.adapter-link",
       .title = "adapter's PCIe link is at its best",
       .why = "A card that is not seated well trains at fewer lanes or a lower generation; "
              "the port then shows full rate and the host cannot feed it.",
       .source = "current_link_* and max_link_* of each hop in /sys/bus/pci/devices",
       .standard = "on each hop what both ends can do",
       .remedy = "Reseat the card, then look at the BIOS and the riser.",
       .fixture = "h100-adapter-link-x8",
       .explained_by = {},
       .check = adapter_link},
      {.id = "pcie.gpu-link",
       .title = "GPU's PCIe link is at its best",
       .why = "Copies between host and GPU, and every GPUDirect transfer, pass this link.",
       .source = "current_link_* and max_link_* of each hop in /sys/bus/pci/devices",
       .standard =
           "on each link what both ends can do; the GPU's own link by its lanes alone, for an idle GPU lowers "
           "its speed",
       .remedy = "Reseat the card, or use another slot.",
       .fixture = "h100-gpu-link-x8",
       .explained_by = {},
       .check = gpu_link},
      {.id = "pcie.slot-limits-adapter",
       .title = "slot can feed the port",
       .why = "A 40 Gb/s card in an x4 slot, a 200 Gb/s card in a Gen3 slot: "
              "the network is faster than the host.",
       .source = "current_link_* in /sys/bus/pci/devices, the port's rate",
       .standard = "lanes × rate after encoding ≥ the port's rate",
       .remedy = "Use another slot.",
       .fixture = "v100-adapter-in-x4-slot",
       .explained_by = {"pcie.adapter-link"},
       .check = slot_limits_adapter},
      {.id = "pcie.numa-known",
       .title = "firmware says where devices hang",
       .why = "With −1 neither the kernel nor NCCL can place threads and buffers beside the device.",
       .source = "/sys/bus/pci/devices/*/numa_node",
       .standard = "≥ 0 on machines with several NUMA nodes",
       .remedy = "Switch NUMA on in the BIOS, or update it.",
       .fixture = "v100-numa-unknown",
       .explained_by = {},
       .check = numa_known},
      {.id = "pcie.gpu-near-adapter",
       .title = "each GPU has a rail adapter on its processor",
       .why =
           "Traffic that crosses between processors shares that bridge with everything else and loses half its speed.",
       .source = "/sys/bus/pci/devices/*/numa_node",
       .standard = "GPU and at least one rail adapter on one NUMA node",
       .remedy = "Use another slot.",
       .fixture = "v100-gpu-far-from-adapter",
       .explained_by = {"pcie.rails-beside-gpus", "pcie.numa-known"},
       .check = gpu_near_adapter},
      {.id = "pcie.rails-beside-gpus",
       .title = "rails use the adapters beside the GPUs",
       .why =
           "Where each PCIe switch has GPUs and adapters, a rail on each lets every GPU reach the network below its "
           "own switch. Two rails on one switch leave the GPUs of another to cross the processor, with one link for "
           "all of them.",
       .source = "/sys/bus/pci/devices, the rails of cluster.yaml",
       .standard = "a rail adapter below each PCIe switch that has GPUs, where the node has as many; ours",
       .remedy = "Make the adapters beside these GPUs rails, or move an adapter.",
       .fixture = "h100-rails-on-one-socket",
       .explained_by = {},
       .check = rails_beside_gpus},
      {.id = "pcie.iommu",
       .title = "IOMMU is off or passes through",
       .why = "Translation sends peer-to-peer traffic up to the processor and often breaks GPUDirect.",
       .source = "/sys/bus/pci/devices/*/iommu_group/type",
       .standard = "no group, or identity, for GPUs and adapters",
       .remedy = "Put iommu=pt on the kernel command line.",
       .fixture = "h100-iommu-translates",
       .explained_by = {},
       .check = iommu},
      {.id = "pcie.acs",
       .title = "ACS is off between GPU and adapter",
       .why = "ACS makes the switch send each peer-to-peer packet up to the root and down again.",
       .source = "extended capability 0x000d of /sys/bus/pci/devices/*/config",
       .standard = "no redirect bit on bridges between a GPU and an adapter; virtual machines are left alone",
       .remedy = "Switch it off with setpci, and with a unit at each boot.",
       .fixture = "h100-acs-on",
       .explained_by = {},
       .check = acs},
  };
  return kRules;
}

}  // namespace railbed
