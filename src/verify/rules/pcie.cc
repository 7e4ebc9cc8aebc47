// PCI Express: links, slots, NUMA, and what stands between a GPU and its network adapter.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "hardware/pci_path.h"
#include "verify/areas.h"
#include "verify/judge.h"

namespace railbed {
namespace {

std::string generation(double gigatransfers) {
  constexpr std::pair<double, std::string_view> kGenerations[] = {{2.5, "Gen1"}, {5, "Gen2"},  {8, "Gen3"},
                                                                  {16, "Gen4"},  {32, "Gen5"}, {64, "Gen6"}};
  for (const auto& [rate, name] : kGenerations)
    if (rate == gigatransfers) return std::string(name);
  return fmt::format("{} GT/s", gigatransfers);
}

std::string link_text(const PcieLink& link) {
  return fmt::format("{} x{}", generation(link.gigatransfers), link.width);
}

// What both ends of a hop can do together.
PcieLink common(const PcieLink& a, const PcieLink& b) {
  return {std::min(a.gigatransfers, b.gigatransfers), std::min(a.width, b.width)};
}

bool below(const PcieLink& now, const PcieLink& most) {
  return now.gigatransfers < most.gigatransfers || now.width < most.width;
}

// Payload after encoding: 8b/10b up to Gen2, 128b/130b up to Gen5, 1b/1b (FLIT) from Gen6.
BitRate usable(const PcieLink& link) {
  const double efficiency = link.gigatransfers <= 5 ? 0.8 : link.gigatransfers <= 32 ? 128.0 / 130 : 1;
  return BitRate::gigabits(link.gigatransfers * link.width * efficiency);
}

// Every hop from the device to its root port: each link as its lower end reports it, against what that end
// and the bridge above can do.
void judge_path(Case& one, const NodeView& node, const PciDevice& device, Status status,
                std::string_view what, std::string_view hint) {
  for (const PciDevice* hop : path_to_root(node.pci(), device)) {
    const PciDevice* above = hop->parent.ok() ? find_pci(node.pci(), *hop->parent) : nullptr;
    if (above == nullptr) break;  // a root port, or a device built into the processor
    if (hop == &device) {
      if (one.read_if_there(hop->link_now, "it has no PCI Express link") == nullptr) return;
      if (one.read(hop->link_max) == nullptr) return;
    } else if (!hop->link_now.ok() || !hop->link_max.ok()) {
      continue;  // inside a switch: its own ports may not say
    }
    const PcieLink most = above->link_max.ok() ? common(*hop->link_max, *above->link_max) : *hop->link_max;
    if (!below(*hop->link_now, most)) continue;
    one.red(
        status,
        {.message = fmt::format("{} of {}: the PCIe link {} → {} runs at {}, both ends can do {}{}", what,
                                *node.name, above->address, hop->address, link_text(*hop->link_now),
                                link_text(most), hint),
         .expected = link_text(most),
         .observed = link_text(*hop->link_now),
         .remedy = {
             "Reseat the card, clean its contacts; then check the slot's and riser's settings in the BIOS.",
             {fmt::format("lspci -vvs {} | grep -i lnk", hop->address)},
             true}});
    return;
  }
  if (!device.link_now.ok()) {
    one.not_applicable("it has no PCI Express link");
    return;
  }
  one.pass(link_text(*device.link_now));
}

void adapter_link(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const PciDevice* adapter : node.adapters()) {
      Case one = judge.on(node, adapter->address, node.touches_of(*adapter));
      judge_path(one, node, *adapter, Status::kFail, "adapter " + adapter->address, "");
    }
}

void gpu_link(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const PciDevice* gpu : node.gpus()) {
      Case one = judge.on(node, gpu->address, node.touches_of(gpu->address));
      judge_path(one, node, *gpu, Status::kWarn, "GPU " + gpu->address,
                 " (an idle GPU lowers its speed: look again under load)");
    }
}

void slot_limits_adapter(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const PciDevice* adapter : node.adapters()) {
      Case one = judge.on(node, adapter->address, node.touches_of(*adapter));
      BitRate port;
      const RailEnd* rail = nullptr;
      for (const RailEnd& end : node.ends)
        if (end.adapter == adapter && end.rdma && end.rdma.port->rate.ok() && *end.rdma.port->rate > port) {
          port = *end.rdma.port->rate;
          rail = &end;
        }
      if (rail == nullptr) {
        one.not_applicable("no rail with a known rate is on this adapter");
        continue;
      }
      const PcieLink* link = one.read_if_there(adapter->link_now, "it has no PCI Express link");
      if (link == nullptr) continue;
      const BitRate slot = usable(*link);
      // DGX Spark splits one port over two x4 functions: a card that has no more lanes is not held back by
      // its slot.
      const bool at_its_best = adapter->link_max.ok() && !below(*link, *adapter->link_max);
      if (slot >= port || at_its_best) {
        one.pass(fmt::format("{} carries {}", link_text(*link), to_text(slot)));
        continue;
      }
      one.warn(
          {.message = fmt::format("{} of {} has a {} port in a {} slot, which carries {}: the host limits it",
                                  rail->name, *node.name, to_text(port), link_text(*link), to_text(slot)),
           .expected = fmt::format("a slot that carries {}", to_text(port)),
           .observed = fmt::format("{} = {}", link_text(*link), to_text(slot)),
           .remedy = {"Move the card to a wider or faster slot.",
                      {fmt::format("lspci -vvs {} | grep -i lnk", adapter->address)},
                      true}});
    }
}

void numa_known(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    if (node.facts->system.cpu.numa_nodes.size() < 2) continue;
    std::vector<const PciDevice*> devices = node.gpus();
    for (const PciDevice* adapter : node.adapters()) devices.push_back(adapter);
    for (const PciDevice* device : devices) {
      Case one = judge.on(node, device->address, node.touches_of(device->address));
      const int* numa = one.read(device->numa_node);
      if (numa == nullptr) continue;
      if (*numa >= 0) {
        one.pass(std::to_string(*numa));
        continue;
      }
      one.warn({.message = fmt::format("the firmware of {} does not say which processor {} hangs on: "
                                       "buffers and threads land on the wrong one half the time",
                                       *node.name, device->address),
                .expected = "a NUMA node",
                .observed = "-1",
                .remedy = {"Switch NUMA on in the BIOS (node interleaving off), or update it.",
                           {fmt::format("cat /sys/bus/pci/devices/{}/numa_node", device->address)},
                           true}});
    }
  }
}

void gpu_near_adapter(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    for (const PciDevice* gpu : node.gpus()) {
      Case one = judge.on(node, gpu->address, node.touches_of(gpu->address));
      std::vector<const PciDevice*> rails;
      for (const RailEnd& end : node.ends)
        if (end.adapter != nullptr) rails.push_back(end.adapter);
      if (rails.empty()) {
        one.not_applicable("no rail on a PCI adapter");
        continue;
      }
      const int* numa = one.read(gpu->numa_node);
      if (numa == nullptr) continue;
      const bool known = *numa >= 0 && std::ranges::all_of(rails, [](const PciDevice* adapter) {
        return adapter->numa_node.value_or(-1) >= 0;
      });
      if (!known) {
        one.not_applicable("the firmware does not say (pcie.numa-known)");
        continue;
      }
      if (std::ranges::any_of(rails,
                              [&](const PciDevice* adapter) { return *adapter->numa_node == *numa; })) {
        one.pass(fmt::format("NUMA node {}", *numa));
        continue;
      }
      one.warn(
          {.message = fmt::format("GPU {} of {} is on NUMA node {}, every rail adapter on another: "
                                  "its traffic crosses between the processors",
                                  gpu->address, *node.name, *numa),
           .expected = fmt::format("a rail adapter on NUMA node {}", *numa),
           .observed = fmt::format("adapters on NUMA node {}", *rails.front()->numa_node),
           .remedy = {"Move the GPU or an adapter to a slot of the same processor.", {"lspci -tv"}, true}});
    }
  }
}

void iommu(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "IOMMU");
    if (node.gpus().empty() || node.adapters().empty()) {
      one.not_applicable("no pair of GPU and adapter");
      continue;
    }
    std::vector<const PciDevice*> translated;
    std::vector<const PciDevice*> devices = node.gpus();
    for (const PciDevice* adapter : node.adapters()) devices.push_back(adapter);
    bool readable = true;
    for (const PciDevice* device : devices) {
      one.seen(device->iommu_type);
      if (device->iommu_type.ok() && *device->iommu_type != "identity") translated.push_back(device);
      if (!device->iommu_type.ok() && !device->iommu_type.absent()) {
        readable = one.read(device->iommu_type) != nullptr;
        break;
      }
    }
    if (!readable) continue;
    if (translated.empty()) {
      one.pass("off or passthrough");
      continue;
    }
    for (const PciDevice* device : translated) one.touch("pci:" + device->address);
    const std::string model = lower(node.facts->system.cpu.model.value_or(""));
    const std::string_view option =
        model.find("amd") != std::string::npos ? "amd_iommu=on iommu=pt" : "iommu=pt";
    one.warn(
        {.message =
             fmt::format("the IOMMU of {} translates ({} on {}): GPU and adapter cannot talk directly, "
                         "or only through the processor",
                         *node.name, *translated.front()->iommu_type, translated.front()->address),
         .expected = "off, or identity (passthrough)",
         .observed = *translated.front()->iommu_type,
         .remedy = {"Add it to the kernel command line and reboot.",
                    {fmt::format("sed -i.bak 's/^GRUB_CMDLINE_LINUX=\"/&{} /' /etc/default/grub", option),
                     "update-grub || grub2-mkconfig -o /boot/grub2/grub.cfg"},
                    true}});
  }
}

void acs(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "ACS");
    std::vector<const PciDevice*> bridges;
    for (const PciDevice* gpu : node.gpus())
      for (const PciDevice* adapter : node.adapters())
        for (const PciDevice* bridge : bridges_between(node.pci(), *gpu, *adapter))
          if (std::ranges::find(bridges, bridge) == bridges.end()) bridges.push_back(bridge);
    if (bridges.empty()) {
      one.not_applicable("no GPU and adapter under one PCIe switch");
      continue;
    }
    std::vector<const PciDevice*> on;
    bool denied = false;
    for (const PciDevice* bridge : bridges) {
      if (redirects_peers(*bridge)) on.push_back(bridge);
      if (!bridge->acs_control.ok() && !bridge->acs_control.absent()) {
        denied = one.read(bridge->acs_control) == nullptr;
        break;
      }
    }
    if (denied) continue;
    if (on.empty()) {
      one.pass(fmt::format("off on {} bridges", bridges.size()));
      continue;
    }
    std::vector<std::string> commands;
    std::vector<std::string_view> names;
    for (const PciDevice* bridge : on) {
      one.seen(bridge->acs_control);
      one.touch("pci:" + bridge->address);
      names.push_back(bridge->address);
      commands.push_back(fmt::format("setpci -s {} ecap_acs+6.w=0000", bridge->address));
    }
    one.warn(
        {.message = fmt::format(
             "ACS is on at {} of {}: what a GPU sends to its adapter makes a detour through the processor",
             fmt::join(names, ", "), *node.name),
         .expected = "off between GPU and adapter (on bare metal)",
         .observed = fmt::format("0x{:04x}", *on.front()->acs_control),
         .remedy = {
             "Switch it off, and by a boot unit again at every start; inside a virtual machine leave it on.",
             std::move(commands)}});
  }
}

constexpr double kFastPort = 100;  // Gb/s from which such settings are felt

// True, and the case has ended, where no fast port hangs on this adapter.
bool lacks_fast_port(Case& one, const RailEnd& end) {
  if (end.adapter != nullptr && end.rdma && end.rdma.port->rate.value_or(BitRate{}).gigabits() >= kFastPort)
    return false;
  one.not_applicable("no port of 100 Gb/s or more");
  return true;
}

void read_request(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      if (lacks_fast_port(one, end)) continue;
      const int* bytes = one.read_if_there(end.adapter->max_read_request, "no PCI Express capability");
      if (bytes == nullptr) continue;
      if (*bytes >= 4096) {
        one.pass(std::to_string(*bytes));
        continue;
      }
      one.warn({.message = fmt::format("adapter {} of {} reads memory in pieces of {} bytes, 4096 is best",
                                       end.adapter->address, *node.name, *bytes),
                .expected = "4096",
                .observed = std::to_string(*bytes),
                .remedy = {"Set bits 12-14 of Device Control to 5; it is lost at reboot, so by a boot unit.",
                           {fmt::format("setpci -s {} CAP_EXP+8.w=5000:7000", end.adapter->address)}}});
    }
}

void relaxed_ordering(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      if (lacks_fast_port(one, end)) continue;
      const bool* on = one.read_if_there(end.adapter->relaxed_ordering, "no PCI Express capability");
      if (on == nullptr) continue;
      if (*on) {
        one.pass("on");
        continue;
      }
      one.warn(
          {.message = fmt::format(
               "adapter {} of {} may not send with relaxed ordering: each write waits for the one before it",
               end.adapter->address, *node.name),
           .expected = "on",
           .observed = "off",
           .remedy = {"Set bit 4 of Device Control, and look for \"relaxed ordering\" in the BIOS.",
                      {fmt::format("setpci -s {} CAP_EXP+8.w=0010:0010", end.adapter->address)}}});
    }
}

// Every device on the way has to take packets as large as any other sends (PCI Express Base Specification,
// Max_Payload_Size): a larger one is a malformed packet, a fatal error.
void payload(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    std::vector<const PciDevice*> devices = node.gpus();
    for (const PciDevice* adapter : node.adapters()) devices.push_back(adapter);
    for (const PciDevice* device : devices) {
      Case one = judge.on(node, device->address, node.touches_of(*device));
      const int* mine = one.read_if_there(device->max_payload, "no PCI Express capability");
      if (mine == nullptr) continue;
      const auto path = path_to_root(node.pci(), *device);
      const auto other = std::ranges::find_if(
          path, [&](const PciDevice* hop) { return hop->max_payload.ok() && *hop->max_payload != *mine; });
      if (other == path.end()) {
        one.pass(std::to_string(*mine));
        continue;
      }
      one.fail(
          {.message =
               fmt::format("{} of {} sends packets of {} bytes, {} above it {}: the larger ones are errors",
                           device->address, *node.name, *mine, (*other)->address, *(*other)->max_payload),
           .expected = "one MaxPayload from the device to the root",
           .observed = fmt::format("{} and {}", *mine, *(*other)->max_payload),
           .remedy = {"Let the kernel set it: pci=pcie_bus_safe on the kernel command line; or the BIOS.",
                      {fmt::format("lspci -vvs {} | grep MaxPayload", device->address),
                       fmt::format("lspci -vvs {} | grep MaxPayload", (*other)->address)},
                      true}});
    }
  }
}

void bars_assigned(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    std::vector<const PciDevice*> devices = node.gpus();
    for (const PciDevice* adapter : node.adapters()) devices.push_back(adapter);
    for (const PciDevice* device : devices) {
      Case one = judge.on(node, device->address, node.touches_of(*device));
      const auto* bars = one.read_if_there(device->unassigned_bars, "its resources were not read");
      if (bars == nullptr) continue;
      if (bars->empty()) {
        one.pass("all");
        continue;
      }
      one.fail({.message = fmt::format(
                    "the firmware of {} found no room for BAR {} of {}: its driver cannot start it",
                    *node.name, fmt::join(*bars, ", "), device->address),
                .expected = "every BAR has an address",
                .observed = fmt::format("BAR {} has none", fmt::join(*bars, ", ")),
                .remedy = {"Switch on \"Above 4G decoding\" and resizable BAR support in the BIOS; "
                           "pci=realloc where there is no such setting.",
                           {fmt::format("lspci -vvs {} | grep -i region", device->address)},
                           true}});
    }
  }
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
       .remedy = "Reseat; then BIOS and riser.",
       .fixture = "h100-adapter-link-x8",
       .explained_by = {},
       .check = adapter_link},
      {.id = "pcie.gpu-link",
       .title = "GPU's PCIe link is at its best",
       .why = "Copies between host and GPU, and every GPUDirect transfer, pass this link.",
       .source = "current_link_* and max_link_* of each hop in /sys/bus/pci/devices",
       .standard = "on each hop what both ends can do; a warning only, idle GPUs save power this way",
       .remedy = "Look again under load; then reseat.",
       .fixture = "h100-gpu-link-x8",
       .explained_by = {},
       .check = gpu_link},
      {.id = "pcie.slot-limits-adapter",
       .title = "slot can feed the port",
       .why = "A 40 Gb/s card in an x4 slot, a 200 Gb/s card in a Gen3 slot: "
              "the network is faster than the host.",
       .source = "current_link_* in /sys/bus/pci/devices, the port's rate",
       .standard = "lanes × rate after encoding ≥ the port's rate",
       .remedy = "Another slot.",
       .fixture = "v100-adapter-in-x4-slot",
       .explained_by = {"pcie.adapter-link"},
       .check = slot_limits_adapter},
      {.id = "pcie.numa-known",
       .title = "firmware says where devices hang",
       .why = "With −1 neither the kernel nor NCCL can place threads and buffers beside the device.",
       .source = "/sys/bus/pci/devices/*/numa_node",
       .standard = "≥ 0 on machines with several NUMA nodes",
       .remedy = "BIOS: NUMA on; update.",
       .fixture = "v100-numa-unknown",
       .explained_by = {},
       .check = numa_known},
      {.id = "pcie.gpu-near-adapter",
       .title = "each GPU has a rail adapter on its processor",
       .why =
           "Traffic that crosses between processors shares that bridge with everything else and loses half its speed.",
       .source = "/sys/bus/pci/devices/*/numa_node",
       .standard = "GPU and at least one rail adapter on one NUMA node",
       .remedy = "Another slot.",
       .fixture = "v100-gpu-far-from-adapter",
       .explained_by = {"pcie.numa-known"},
       .check = gpu_near_adapter},
      {.id = "pcie.iommu",
       .title = "IOMMU is off or passes through",
       .why = "Translation sends peer-to-peer traffic up to the processor and often breaks GPUDirect.",
       .source = "/sys/bus/pci/devices/*/iommu_group/type",
       .standard = "no group, or identity, for GPUs and adapters",
       .remedy = "iommu=pt on the kernel command line.",
       .fixture = "h100-iommu-translates",
       .explained_by = {},
       .check = iommu},
      {.id = "pcie.acs",
       .title = "ACS is off between GPU and adapter",
       .why = "ACS makes the switch send each peer-to-peer packet up to the root and down again.",
       .source = "extended capability 0x000d of /sys/bus/pci/devices/*/config",
       .standard = "no redirect bit on bridges between a GPU and an adapter; virtual machines are left alone",
       .remedy = "setpci, and a boot unit.",
       .fixture = "h100-acs-on",
       .explained_by = {},
       .check = acs},
      {.id = "pcie.read-request",
       .title = "adapter reads in large pieces",
       .why =
           "Each read of host or GPU memory asks for at most MaxReadReq bytes; at 512 a fast port starves.",
       .source = "Device Control of /sys/bus/pci/devices/*/config",
       .standard = "4096 on ports of 100 Gb/s and more",
       .remedy = "setpci, and a boot unit.",
       .fixture = "h100-read-request-512",
       .explained_by = {},
       .check = read_request},
      {.id = "pcie.relaxed-ordering",
       .title = "adapter may relax the order of its writes",
       .why = "With strict ordering a write waits in the root complex for the one before it: "
              "half the rate on some processors.",
       .source = "Device Control of /sys/bus/pci/devices/*/config, bit 4",
       .standard = "on for ports of 100 Gb/s and more",
       .remedy = "setpci, BIOS.",
       .fixture = "h100-relaxed-ordering-off",
       .explained_by = {},
       .check = relaxed_ordering},
      {.id = "pcie.payload",
       .title = "one packet size on each PCIe path",
       .why = "A device that sends larger packets than a bridge takes causes fatal errors; "
              "one that takes less is slow.",
       .source = "Device Control of each hop's /sys/bus/pci/devices/*/config, bits 7:5",
       .standard = "equal from the device to the root (PCI Express Base Specification)",
       .remedy = "pci=pcie_bus_safe, or the BIOS.",
       .fixture = "h100-payload-mixed",
       .explained_by = {},
       .check = payload},
      {.id = "pcie.bars-assigned",
       .title = "every BAR has an address",
       .why =
           "A GPU's memory window of gigabytes fits only above 4 GiB; without it the driver does not start.",
       .source = "/sys/bus/pci/devices/*/resource",
       .standard = "none unset",
       .remedy = "BIOS: Above 4G decoding, resizable BAR.",
       .fixture = "h100-bar-unassigned",
       .explained_by = {},
       .check = bars_assigned},
  };
  return kRules;
}

}  // namespace railbed
