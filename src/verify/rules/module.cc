// Kernel modules for the installed hardware, and the devices that they must create.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/wording.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Returns false after ending the case if the module lists could not be read.
bool modules_readable(Case& verdict, const NodeView& node) {
  const Kernel& kernel = node.facts->system.kernel;
  if (kernel.present_modules.ok()) verdict.seen(kernel.present_modules);
  return kernel.present_modules.ok() || verdict.read(kernel.loaded_modules) != nullptr;
}

// Returns true if the node's own kernel no longer drives this kind of adapter; nullopt if the operating
// system is unknown.
std::optional<bool> drops_driver(const NodeView& node, std::string_view module) {
  const Os& os = node.facts->system.os;
  if (!os.id.ok() || !os.version.ok()) return std::nullopt;
  const int major = parse_number<int>(split(*os.version, '.').front()).value_or(0);
  return std::ranges::any_of(dropped_drivers(), [&](const DroppedDriver& row) {
    return module.starts_with(row.module.substr(0, row.module.find('_'))) && row.os == *os.id &&
           major >= row.version;
  });
}

bool keeps_driver_unmaintained(const NodeView& node, std::string_view module) {
  const Os& os = node.facts->system.os;
  if (!os.id.ok() || !os.version.ok()) return false;
  const int major = parse_number<int>(split(*os.version, '.').front()).value_or(0);
  return std::ranges::any_of(unmaintained_drivers(), [&](const DroppedDriver& row) {
    return row.module == module && row.os == *os.id && row.version == major;
  });
}

Remedy load_modules(const NodeView& node, const std::vector<std::string_view>& modules) {
  for (const std::string_view module : modules)
    if (drops_driver(node, module).value_or(false))
      return {.text = fmt::format(
                  "This system's kernel has no {} any more: another adapter, or an earlier release.", module),
              .by_hand_only = true};
  Remedy remedy{"Load it now and at every boot."};
  for (const std::string_view module : modules) remedy.commands.push_back(command("modprobe {}", module));
  remedy.commands.push_back(command("printf '%s\\n' {} >> /etc/modules-load.d/rdma.conf",
                                    std::vector<std::string>(modules.begin(), modules.end())));
  return remedy;
}

// Ends the case: red if one of the modules is missing.
void judge_modules(Case& verdict, const NodeView& node, const std::vector<std::string_view>& modules,
                   std::string_view consequence) {
  if (!modules_readable(verdict, node)) return;
  std::vector<std::string_view> missing;
  for (const std::string_view module : modules)
    if (!module_present(*node.facts, module) && std::ranges::find(missing, module) == missing.end())
      missing.push_back(module);
  if (missing.empty()) return verdict.pass("loaded");
  const std::string names = fmt::format("{}", fmt::join(missing, ", "));
  verdict.fail(
      {.message = fmt::format("kernel module {} is not loaded on {}: {}", names, *node.name, consequence),
       .expected = "loaded",
       .observed = "not loaded: " + names,
       .remedy = load_modules(node, missing)});
}

void os_supports_adapter(const Survey& survey, Judge& judge) {
  each_adapter(survey, judge, [](Case& verdict, const NodeView& node, const PciDevice& adapter) {
    const NicModel* model = find_nic(adapter.device.value_or(0));
    if (model == nullptr) return verdict.not_applicable("the adapter is not in railbed's table");
    const std::string* id = verdict.read(node.facts->system.os.id);
    if (id == nullptr) return;
    const std::string* version = verdict.read(node.facts->system.os.version);
    if (version == nullptr) return;
    const std::string words = fmt::format("{} on {} {}", model->name, *id, *version);
    if (!drops_driver(node, model->module).value_or(false))
      return verdict.pass(words + (keeps_driver_unmaintained(node, model->module)
                                       ? ", which no longer maintains its driver"
                                       : ""));
    // A driver from another source supports this kernel, too.
    if (module_present(*node.facts, model->module))
      return verdict.pass(words + ", with a driver from elsewhere");
    verdict.fail(
        {.message = fmt::format("{} of {} is a {}: {} {} has no driver for it any more", adapter.address,
                                *node.name, model->name, *id, *version),
         .expected = fmt::format("an adapter that {} {} drives", *id, split(*version, '.').front()),
         .observed = fmt::format("{} ({})", model->name, model->module),
         .remedy = {
             "Use ConnectX-4 or newer, or an earlier release of the operating system.", {}, true, false}});
  });
}

// Returns what adapters with a known model touch, plus the ends that no adapter carries yet: the driver
// creates the interface, and until then only cluster.yaml relates the rail to the adapter.
Things known_adapters(const NodeView& node) {
  Things touches;
  for (const PciDevice* adapter : node.adapters())
    if (find_nic(adapter->device.value_or(0)) != nullptr) touches.add(node.touches_of(*adapter));
  touches.add(touches_of_ends(node, [](const RailEnd& end) {
    return end.adapter == nullptr && !end.software_rdma() && end.wants_rdma();
  }));
  return touches;
}

void adapter_modules(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "kernel modules", known_adapters, [](Case& verdict, const NodeView& node) {
    std::vector<std::string_view> modules;
    for (const PciDevice* adapter : node.adapters())
      if (const NicModel* model = find_nic(adapter->device.value_or(0)))
        modules.insert(modules.end(), {model->module, model->rdma_module});
    if (modules.empty()) return verdict.not_applicable("no Mellanox adapter on PCI");
    judge_modules(verdict, node, modules, "its adapter has no RDMA device");
  });
}

void core_modules(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "kernel modules", whole_node, [](Case& verdict, const NodeView& node) {
    if (!node.needs_rdma()) return verdict.not_applicable("nothing here needs RDMA");
    judge_modules(verdict, node, {"ib_core", "ib_uverbs", "rdma_cm", "rdma_ucm"},
                  "programs cannot open RDMA devices");
  });
}

ShellCommand add_software_device(const RailEnd& end) {
  return command("rdma link add {}0 type {} netdev {}", end.rail->rdma_driver, end.rail->rdma_driver,
                 end.name);
}

void software_module(const Survey& survey, Judge& judge) {
  each_end_that(
      survey, judge, &RailEnd::software_rdma, [](Case& verdict, const NodeView& node, const RailEnd& end) {
        const std::string module = end.rail->rdma_driver == "rxe" ? "rdma_rxe" : end.rail->rdma_driver;
        if (!modules_readable(verdict, node)) return;
        if (module_present(*node.facts, module)) return verdict.pass(module);
        verdict.fail({.message = fmt::format("kernel module {} is not loaded on {}: {} has no RDMA device",
                                             module, *node.name, end.name),
                      .expected = module + " loaded",
                      .observed = "not loaded",
                      .remedy = {"Load it, and add the device to the interface.",
                                 {command("modprobe {}", module), add_software_device(end)}}});
      });
}

Things infiniband_ends(const NodeView& node) { return touches_of_ends(node, &RailEnd::infiniband); }

void infiniband_modules(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "kernel modules", infiniband_ends, [](Case& verdict, const NodeView& node) {
    if (std::ranges::none_of(node.ends, &RailEnd::infiniband))
      return verdict.not_applicable("no InfiniBand rail");
    std::vector<std::string_view> modules = {"ib_umad"};
    const bool ipoib = std::ranges::any_of(
        node.ends, [](const RailEnd& end) { return end.infiniband() && end.address() != nullptr; });
    if (ipoib) modules.push_back("ib_ipoib");
    judge_modules(verdict, node, modules, "no IPoIB interface, no InfiniBand diagnostics");
  });
}

Remedy load_rdma_half(const NodeView& node, const PciDevice& adapter, std::string_view module) {
  Remedy remedy{"Read what the driver said when it started, then load its RDMA half.",
                {command("dmesg | grep {}", adapter.address)}};
  if (!drops_driver(node, module).value_or(false)) remedy.commands.push_back(command("modprobe {}", module));
  return remedy;
}

// Returns true after ending the case as unknown if a device's PCI address is unknown: it may be the device
// that is missing.
bool may_be_elsewhere(Case& verdict, const std::vector<RdmaDevice>& devices) {
  const auto placeless =
      std::ranges::find_if(devices, [](const RdmaDevice& device) { return device.pci_address.unknown(); });
  return placeless != devices.end() && verdict.read(placeless->pci_address) == nullptr;
}

void pci_has_rdma_device(const Survey& survey, Judge& judge) {
  each_adapter(survey, judge, [](Case& verdict, const NodeView& node, const PciDevice& adapter) {
    const auto* devices = verdict.read(node.facts->rdma.devices);
    if (devices == nullptr) return;
    const auto same = [&](const RdmaDevice& device) {
      return device.pci_address.value_or("") == adapter.address;
    };
    const auto found = std::ranges::find_if(*devices, same);
    if (found != devices->end()) return verdict.pass(found->name);
    if (may_be_elsewhere(verdict, *devices)) return;
    const NicModel* model = find_nic(adapter.device.value_or(0));
    verdict.fail(
        {.message = fmt::format("adapter {} ({}) of {} has no RDMA device", adapter.address,
                                model == nullptr ? "Mellanox" : model->name, *node.name),
         .expected = "a device in /sys/class/infiniband",
         .observed = "none",
         .remedy = load_rdma_half(node, adapter, model == nullptr ? "mlx5_ib" : model->rdma_module)});
  });
}

Things touches_of_rdma(const NodeView& node, const RdmaDevice& device) {
  Things touches = touches_of_ends(node, [&](const RailEnd& end) { return end.rdma.device == &device; });
  if (device.pci_address.ok()) touches.add("pci:" + *device.pci_address);
  return touches;
}

void user_access(const Survey& survey, Judge& judge) {
  // Devices that could not be read are reported by rdma.pci-device and rdma.rail-device.
  const auto devices_of = [](const NodeView& node) -> const auto& { return items(node.facts->rdma.devices); };
  each_of(survey, judge, devices_of, &RdmaDevice::name, touches_of_rdma,
          [](Case& verdict, const NodeView& node, const RdmaDevice& device) {
            const bool* access = verdict.read(device.user_access);
            if (access == nullptr) return;
            if (*access) return verdict.pass("uverbs");
            verdict.fail({.message = fmt::format("{} of {} has no uverbs node: programs cannot open it",
                                                 device.name, *node.name),
                          .expected = "an entry in /sys/class/infiniband_verbs",
                          .observed = "none",
                          .remedy = {"Load the user-space door.", {"modprobe ib_uverbs"}}});
          });
}

// Returns the devices behind the node's RDMA rails that libibverbs does not list.
std::vector<std::string> unlisted_devices(const NodeView& node, const std::vector<std::string>& listed) {
  std::vector<std::string> unlisted;
  for (const RailEnd& end : node.ends) {
    if (!end.wants_rdma() || !end.rdma || end.rdma.device->management.value_or(false)) continue;
    const std::string& name = end.rdma.device->name;
    if (std::ranges::find(listed, name) == listed.end() &&
        std::ranges::find(unlisted, name) == unlisted.end())
      unlisted.push_back(name);
  }
  return unlisted;
}

Remedy bring_verbs(const NodeView& node) {
  const auto& modes = node.facts->rdma.device_modes;
  const auto is_node = [](const auto& entry) { return entry.first.starts_with("uverbs"); };
  if (modes.ok() && std::ranges::none_of(*modes, is_node))
    return {
        "/dev/infiniband has no uverbs node. A container must be given that folder; elsewhere udev makes it.",
        {"modprobe ib_uverbs", "udevadm trigger --subsystem-match=infiniband_verbs --action=add",
         "ls -l /dev/infiniband"}};
  return {"Install the providers, one for each kind of adapter; ibv_devices lists what they find.",
          for_system(node, {"apt-get install libibverbs1 ibverbs-providers ibverbs-utils", "ibv_devices"},
                     {"dnf install libibverbs libibverbs-utils", "ibv_devices"})};
}

Things verbs_touches(const NodeView& node) {
  Things touches = its_nccl(node);
  touches.add(touches_of_ends(node, [](const RailEnd& end) { return end.wants_rdma() && bool(end.rdma); }));
  return touches;
}

void verbs_devices(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "libibverbs", verbs_touches, [](Case& verdict, const NodeView& node) {
    if (unlisted_devices(node, {}).empty()) return verdict.not_applicable("no rail with an RDMA device");
    const Rdma& rdma = node.facts->rdma;
    const auto* listed = verdict.read_if_there(rdma.verbs_devices, "not recorded");
    if (listed == nullptr) return;
    const auto unlisted = unlisted_devices(node, *listed);
    if (unlisted.empty()) return verdict.pass(counted(listed->size(), "device"));
    if (rdma.verbs_library.value_or("").empty())
      return verdict.not_applicable("libibverbs cannot be opened, which nccl.chooses-sockets judges");
    const std::string names = fmt::format("{}", fmt::join(unlisted, ", "));
    verdict.fail({.message = fmt::format(
                      "libibverbs on {} does not list {}, which the kernel has: programs find no RDMA there",
                      *node.name, names),
                  .expected = names,
                  .observed = listed->empty() ? "none" : fmt::format("{}", fmt::join(*listed, ", ")),
                  .remedy = bring_verbs(node)});
  });
}

void rail_device(const Survey& survey, Judge& judge) {
  each_rail_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (!end.wants_rdma()) return verdict.not_applicable("the rail is plain Ethernet");
    if (verdict.read(end.facts->rdma.devices) == nullptr) return;
    if (end.rdma) return verdict.pass(end.rdma_name());
    if (may_be_elsewhere(verdict, *end.facts->rdma.devices)) return;
    Remedy remedy{"Load the adapter's driver; on a virtual link add a software device.",
                  {"rdma link show", "dmesg | grep -i -e mlx -e infiniband"}};
    if (end.software_rdma())
      remedy = {"Add the software RDMA device to the interface.", {add_software_device(end)}};
    verdict.fail({.message = fmt::format("no RDMA device behind {} of {}: only TCP is left on {}", end.name,
                                         *end.node, end.rail->name),
                  .expected = "an RDMA device on " + end.name,
                  .observed = "none",
                  .remedy = std::move(remedy)});
  });
}

}  // namespace

std::span<const Rule> module_rules() {
  static const Rule kRules[] = {
      {.id = "rdma.os-supports-adapter",
       .title = "operating system drives the adapter",
       .why = "RHEL 10 dropped the mlx4 drivers: a ConnectX-3 that worked on RHEL 9 does not work there.",
       .source = "/etc/os-release, PCI device id",
       .standard = "the table of dropped drivers in src/hardware/nic.cc; a driver that somebody built is one",
       .remedy = "Take a newer adapter, or an earlier release.",
       .fixture = "r730-connectx3-on-rhel10",
       .explained_by = {},
       .check = os_supports_adapter},
      {.id = "rdma.adapter-modules",
       .title = "adapter's kernel modules are loaded",
       .why = "mlx5_core (mlx4_core) drives the card; mlx5_ib (mlx4_ib) makes it an RDMA device. "
              "Without the second the network works and RDMA does not: NCCL quietly falls back to TCP.",
       .source = "/proc/modules, /sys/module",
       .standard = "mlx5_core and mlx5_ib, or mlx4_core and mlx4_ib, by the adapter's PCI id",
       .remedy = "modprobe, and /etc/modules-load.d for the next boot.",
       .fixture = "v100-module-missing",
       .explained_by = {"rdma.os-supports-adapter", "host.module-rejected"},
       .settings = {"modules/rdma"},
       .check = adapter_modules},
      {.id = "rdma.core-modules",
       .title = "RDMA core modules are loaded",
       .why = "Programs reach RDMA devices through ib_uverbs and set up connections through rdma_ucm.",
       .source = "/proc/modules, /sys/module",
       .standard = "ib_core, ib_uverbs, rdma_cm, rdma_ucm",
       .remedy = "modprobe, and /etc/modules-load.d for the next boot.",
       .fixture = "v100-core-module-missing",
       .explained_by = {},
       .settings = {"modules/rdma"},
       .check = core_modules},
      {.id = "rdma.software-module",
       .title = "software RDMA module is loaded",
       .why = "A rail on software RDMA has a device only while its module is loaded.",
       .source = "/proc/modules, /sys/module",
       .standard = "rdma_rxe where the rail says rdma_driver: rxe",
       .remedy = "modprobe rdma_rxe, then rdma link add.",
       .fixture = "rxe-module-missing",
       .explained_by = {},
       .settings = {"modules/rdma", "modules/software-links"},
       .check = software_module},
      {.id = "rdma.infiniband-modules",
       .title = "InfiniBand modules are loaded",
       .why = "ib_umad carries opensm and the diagnostics, ib_ipoib the IP interface.",
       .source = "/proc/modules, /sys/module",
       .standard = "ib_umad on InfiniBand; ib_ipoib where the rail has addresses",
       .remedy = "modprobe, and /etc/modules-load.d for the next boot.",
       .fixture = "r730-umad-missing",
       .explained_by = {"rdma.os-supports-adapter"},
       .settings = {"modules/rdma"},
       .check = infiniband_modules},
      {.id = "rdma.pci-device",
       .title = "adapter on PCI has an RDMA device",
       .why = "The card is seated and seen, yet no RDMA device came of it: its driver is missing or gave up.",
       .source = "/sys/bus/pci/devices, /sys/class/infiniband",
       .standard = "one device for each Mellanox physical function",
       .remedy = "Read the kernel log of that PCI address.",
       .fixture = "h100-adapter-without-device",
       .explained_by = {"rdma.adapter-modules", "rdma.os-supports-adapter", "rdma.start-failed",
                        "rdma.device-health"},
       .check = pci_has_rdma_device},
      {.id = "rdma.user-access",
       .title = "RDMA device can be opened by programs",
       .why = "Without its uverbs node the device is visible and useless: ibv_devices lists nothing.",
       .source = "/sys/class/infiniband_verbs",
       .standard = "one entry a device",
       .remedy = "modprobe ib_uverbs.",
       .fixture = "v100-uverbs-missing",
       .explained_by = {"rdma.core-modules"},
       .check = user_access},
      {.id = "rdma.verbs-devices",
       .title = "libibverbs lists the rails' devices",
       .why =
           "The kernel's device is there and no program finds it: the package with its provider is missing, or "
           "/dev/infiniband is. NCCL falls back to TCP.",
       .source = "ibv_get_device_list, /sys/class/infiniband",
       .standard = "every device behind an end of a roce or infiniband rail",
       .remedy = "Install the providers (ibverbs-providers, libibverbs); give containers /dev/infiniband.",
       .fixture = "v100-verbs-list-empty",
       .explained_by = {"rdma.core-modules", "rdma.user-access"},
       .settings = {"modules/rdma"},
       .check = verbs_devices},
      {.id = "rdma.rail-device",
       .title = "rail interface has an RDMA device",
       .why = "The rail carries TCP but no RDMA; NCCL says NET/Socket and runs at a fraction.",
       .source = "/sys/class/infiniband/*/ports/*/gid_attrs/ndevs, the PCI function, or the parent interface",
       .standard = "every end of a roce or infiniband rail",
       .remedy = "Load the driver, or add the software device.",
       .fixture = "rxe-device-missing",
       .explained_by = {"rdma.software-module", "rdma.pci-device", "rdma.adapter-modules",
                        "rdma.os-supports-adapter", "rdma.core-modules", "net.interface"},
       .settings = {"modules/rdma", "modules/software-links"},
       .check = rail_device},
  };
  return kRules;
}

}  // namespace railbed
