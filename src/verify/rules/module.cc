// Kernel modules for the hardware that is there, the limits RDMA needs, and the devices that must appear.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "verify/areas.h"
#include "verify/judge.h"

namespace railbed {
namespace {

bool needs_rdma(const NodeView& node) {
  return !node.adapters().empty() ||
         std::ranges::any_of(node.ends, [](const RailEnd& end) { return end.wants_rdma(); });
}

// False, and the case has ended, when the module lists could not be read.
bool modules_readable(Case& one, const NodeView& node) {
  const Kernel& kernel = node.facts->system.kernel;
  if (kernel.present_modules.ok()) one.seen(kernel.present_modules);
  return kernel.present_modules.ok() || one.read(kernel.loaded_modules) != nullptr;
}

void fail_for_modules(Case& one, const NodeView& node, const std::vector<std::string>& missing,
                      std::string_view consequence) {
  const std::string names = fmt::format("{}", fmt::join(missing, ", "));
  std::vector<std::string> commands;
  for (const std::string& module : missing) commands.push_back("modprobe " + module);
  commands.push_back(
      fmt::format("printf '%s\\n' {} >> /etc/modules-load.d/rdma.conf", fmt::join(missing, " ")));
  one.fail(
      {.message = fmt::format("kernel module {} is not loaded on {}: {}", names, *node.name, consequence),
       .expected = "loaded",
       .observed = "not loaded: " + names,
       .remedy = {"Load it now and at every boot.", std::move(commands)}});
}

void os_supports_adapter(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const PciDevice* adapter : node.adapters()) {
      Case one = judge.on(node, adapter->address, node.touches_of(*adapter));
      const NicModel* model = find_nic(adapter->device.value_or(0));
      if (model == nullptr) {
        one.not_applicable("the adapter is not in railbed's table");
        continue;
      }
      const std::string* id = one.read(node.facts->system.os.id);
      if (id == nullptr) continue;
      const std::string* version = one.read(node.facts->system.os.version);
      if (version == nullptr) continue;
      const int major = parse_number<int>(split(*version, '.').front()).value_or(0);
      const auto drops = [&](const DroppedDriver& row) {
        return row.module == model->module && row.os == *id && major >= row.version;
      };
      if (std::ranges::none_of(dropped_drivers(), drops)) {
        one.pass(fmt::format("{} on {} {}", model->name, *id, *version));
        continue;
      }
      one.fail(
          {.message = fmt::format("{} of {} is a {}: {} {} has no driver for it any more", adapter->address,
                                  *node.name, model->name, *id, *version),
           .expected = fmt::format("an adapter that {} {} drives", *id, major),
           .observed = fmt::format("{} ({})", model->name, model->module),
           .remedy = {
               "Use ConnectX-4 or newer, or an earlier release of the operating system.", {}, true, false}});
    }
}

void adapter_modules(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    std::vector<const NicModel*> models;
    Things touches;
    for (const PciDevice* adapter : node.adapters()) {
      const NicModel* model = find_nic(adapter->device.value_or(0));
      if (model == nullptr) continue;
      models.push_back(model);
      touches.add(node.touches_of(*adapter));
    }
    // The driver brings the interface: without it nothing but cluster.yaml ties the rail to the adapter.
    for (const RailEnd& end : node.ends)
      if (end.adapter == nullptr && !end.software_rdma() && end.wants_rdma()) touches.add(end.touches);
    Case one = judge.on(node, "kernel modules", std::move(touches));
    if (models.empty()) {
      one.not_applicable("no Mellanox adapter on PCI");
      continue;
    }
    if (!modules_readable(one, node)) continue;
    std::vector<std::string> missing;
    for (const NicModel* model : models)
      for (const std::string_view module : {model->module, model->rdma_module})
        if (!module_present(*node.facts, module) && std::ranges::find(missing, module) == missing.end())
          missing.emplace_back(module);
    if (missing.empty())
      one.pass("loaded");
    else
      fail_for_modules(one, node, missing, "its adapter has no RDMA device");
  }
}

void core_modules(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "kernel modules", {"node:" + *node.name});
    if (!needs_rdma(node)) {
      one.not_applicable("nothing here needs RDMA");
      continue;
    }
    if (!modules_readable(one, node)) continue;
    std::vector<std::string> missing;
    for (const std::string_view module : {"ib_core", "ib_uverbs", "rdma_cm", "rdma_ucm"})
      if (!module_present(*node.facts, module)) missing.emplace_back(module);
    if (missing.empty())
      one.pass("loaded");
    else
      fail_for_modules(one, node, missing, "programs cannot open RDMA devices");
  }
}

void software_module(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      if (!end.software_rdma()) continue;
      const std::string module = end.rail->rdma_driver == "rxe" ? "rdma_rxe" : end.rail->rdma_driver;
      Case one = judge.on(end);
      if (!modules_readable(one, node)) continue;
      if (module_present(*node.facts, module)) {
        one.pass(module);
        continue;
      }
      one.fail({.message = fmt::format("kernel module {} is not loaded on {}: {} has no RDMA device", module,
                                       *node.name, end.name),
                .expected = module + " loaded",
                .observed = "not loaded",
                .remedy = {"Load it, and add the device to the interface.",
                           {"modprobe " + module,
                            fmt::format("rdma link add {}0 type {} netdev {}", end.rail->rdma_driver,
                                        end.rail->rdma_driver, end.name)}}});
    }
}

void infiniband_modules(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Things touches;
    bool ipoib = false;
    for (const RailEnd& end : node.ends)
      if (end.infiniband()) {
        touches.add(end.touches);
        ipoib = ipoib || (end.port != nullptr && end.port->address);
      }
    Case one = judge.on(node, "kernel modules", touches);
    if (touches.empty()) {
      one.not_applicable("no InfiniBand rail");
      continue;
    }
    if (!modules_readable(one, node)) continue;
    std::vector<std::string> missing;
    if (!module_present(*node.facts, "ib_umad")) missing.emplace_back("ib_umad");
    if (ipoib && !module_present(*node.facts, "ib_ipoib")) missing.emplace_back("ib_ipoib");
    if (missing.empty())
      one.pass("loaded");
    else
      fail_for_modules(one, node, missing, "no IPoIB interface, no InfiniBand diagnostics");
  }
}

void pci_has_rdma_device(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const PciDevice* adapter : node.adapters()) {
      Case one = judge.on(node, adapter->address, node.touches_of(*adapter));
      const auto* devices = one.read(node.facts->rdma.devices);
      if (devices == nullptr) continue;
      const auto same = [&](const RdmaDevice& device) {
        return device.pci_address.value_or("") == adapter->address;
      };
      const auto found = std::ranges::find_if(*devices, same);
      if (found != devices->end()) {
        one.pass(found->name);
        continue;
      }
      const NicModel* model = find_nic(adapter->device.value_or(0));
      one.fail({.message = fmt::format("adapter {} ({}) of {} has no RDMA device", adapter->address,
                                       model == nullptr ? "Mellanox" : model->name, *node.name),
                .expected = "a device in /sys/class/infiniband",
                .observed = "none",
                .remedy = {"Read what the driver said when it started, then load its RDMA half.",
                           {fmt::format("dmesg | grep {}", adapter->address),
                            fmt::format("modprobe {}", model == nullptr ? "mlx5_ib" : model->rdma_module)}}});
    }
}

void user_access(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    if (!node.facts->rdma.devices.ok()) continue;  // said by rdma.pci-device and rdma.rail-device
    for (const RdmaDevice& device : *node.facts->rdma.devices) {
      Things touches;
      for (const RailEnd& end : node.ends)
        if (end.rdma.device == &device) touches.add(end.touches);
      if (device.pci_address.ok()) touches.add("pci:" + *device.pci_address);
      Case one = judge.on(node, device.name, std::move(touches));
      const bool* access = one.read(device.user_access);
      if (access == nullptr) continue;
      if (*access) {
        one.pass("uverbs");
        continue;
      }
      one.fail({.message = fmt::format("{} of {} has no uverbs node: programs cannot open it", device.name,
                                       *node.name),
                .expected = "an entry in /sys/class/infiniband_verbs",
                .observed = "none",
                .remedy = {"Load the user-space door.", {"modprobe ib_uverbs"}}});
    }
  }
}

void rail_device(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      if (end.rail == nullptr) continue;
      Case one = judge.on(end);
      if (!end.wants_rdma()) {
        one.not_applicable("the rail is plain Ethernet");
        continue;
      }
      if (one.read(node.facts->rdma.devices) == nullptr) continue;
      if (end.rdma) {
        one.pass(end.rdma_name());
        continue;
      }
      Remedy remedy{"Load the adapter's driver; on a virtual link add a software device.",
                    {"rdma link show", "dmesg | grep -i -e mlx -e infiniband"}};
      if (end.software_rdma())
        remedy = {"Add the software RDMA device to the interface.",
                  {fmt::format("rdma link add {}0 type {} netdev {}", end.rail->rdma_driver,
                               end.rail->rdma_driver, end.name)}};
      one.fail({.message = fmt::format("no RDMA device behind {} of {}: only TCP is left on {}", end.name,
                                       *node.name, end.rail->name),
                .expected = "an RDMA device on " + end.name,
                .observed = "none",
                .remedy = std::move(remedy)});
    }
}

std::string limit_text(std::uint64_t bytes) {
  return bytes == kUnlimited ? "unlimited" : to_text(ByteCount{bytes});
}

void memlock(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "memlock");
    if (!needs_rdma(node)) {
      one.not_applicable("nothing here needs RDMA");
      continue;
    }
    const std::uint64_t* limit = one.read(node.facts->system.memory.memlock_soft);
    if (limit == nullptr) continue;
    if (*limit == kUnlimited) {
      one.pass("unlimited");
      continue;
    }
    one.warn(
        {.message = fmt::format(
             "a login on {} may lock only {} of memory: RDMA registers its buffers by locking them, "
             "and large ones will be refused",
             *node.name, limit_text(*limit)),
         .expected = "unlimited",
         .observed = limit_text(*limit),
         .remedy = {
             "Raise the limit for all users (root is not covered by *), then log in again.",
             {"printf '* soft memlock unlimited\\n* hard memlock unlimited\\nroot soft memlock unlimited\\n"
              "root hard memlock unlimited\\n' > /etc/security/limits.d/90-rdma.conf"}}});
  }
}

void service_memlock(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const ServiceLimit& service : node.facts->system.memory.service_memlock) {
      Case one = judge.on(node, service.service);
      const std::uint64_t* limit = one.read(service.max_bytes);
      if (limit == nullptr) continue;
      if (*limit == kUnlimited) {
        one.pass("unlimited");
        continue;
      }
      one.warn(
          {.message = fmt::format("{} on {} may lock only {} of memory, and so may every job it starts: "
                                  "limits.conf does not reach services",
                                  service.service, *node.name, limit_text(*limit)),
           .expected = "unlimited",
           .observed = limit_text(*limit),
           .remedy = {
               "Give the unit LimitMEMLOCK=infinity and restart it.",
               {fmt::format(
                    "mkdir -p /etc/systemd/system/{0}.service.d && printf '[Service]\\nLimitMEMLOCK=infinity\\n' > /etc/systemd/system/{0}.service.d/memlock.conf",
                    service.service),
                fmt::format("systemctl daemon-reload && systemctl restart {}", service.service)}}});
    }
}

void socket_buffers(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const std::string_view key : {"net.core.rmem_max", "net.core.wmem_max"}) {
      Case one = judge.on(node, std::string(key));
      if (!node.expect().socket_buffer) {
        one.not_applicable("cluster.yaml asks for no socket buffer");
        continue;
      }
      const auto found = node.facts->system.sysctl.find(std::string(key));
      if (found == node.facts->system.sysctl.end()) {
        one.unknown(fmt::format("{} was not collected", key));
        continue;
      }
      const std::string* text = one.read(found->second);
      if (text == nullptr) continue;
      const std::uint64_t want = *node.expect().socket_buffer;
      const auto have = parse_number<std::uint64_t>(*text);
      if (have && *have >= want) {
        one.pass(*text);
        continue;
      }
      one.warn({.message = fmt::format(
                    "{} is {} on {}, expected at least {}: one TCP stream cannot fill a fast link", key,
                    *text, *node.name, want),
                .expected = fmt::format("at least {}", want),
                .observed = *text,
                .remedy = {"Raise it now and for the next boot.",
                           {fmt::format("sysctl -w {}={}", key, want),
                            fmt::format("echo '{}={}' >> /etc/sysctl.d/90-rdma.conf", key, want)}}});
    }
}

}  // namespace

std::span<const Rule> module_rules() {
  static const Rule kRules[] = {
      {.id = "rdma.os-supports-adapter",
       .title = "operating system drives the adapter",
       .why = "RHEL 10 dropped the mlx4 drivers: a ConnectX-3 that worked on RHEL 9 is dead metal there.",
       .source = "/etc/os-release, PCI device id",
       .standard = "the table of dropped drivers in src/hardware/nic.cc",
       .remedy = "A newer adapter, or an earlier release.",
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
       .check = adapter_modules},
      {.id = "rdma.core-modules",
       .title = "RDMA core modules are loaded",
       .why = "Programs reach RDMA devices through ib_uverbs and set up connections through rdma_ucm.",
       .source = "/proc/modules, /sys/module",
       .standard = "ib_core, ib_uverbs, rdma_cm, rdma_ucm",
       .remedy = "modprobe, and /etc/modules-load.d for the next boot.",
       .fixture = "v100-core-module-missing",
       .explained_by = {},
       .check = core_modules},
      {.id = "rdma.software-module",
       .title = "software RDMA module is loaded",
       .why = "A rail on software RDMA has a device only while its module is loaded.",
       .source = "/proc/modules, /sys/module",
       .standard = "rdma_rxe where the rail says rdma_driver: rxe",
       .remedy = "modprobe rdma_rxe, then rdma link add.",
       .fixture = "rxe-module-missing",
       .explained_by = {},
       .check = software_module},
      {.id = "rdma.infiniband-modules",
       .title = "InfiniBand modules are loaded",
       .why = "ib_umad carries opensm and the diagnostics, ib_ipoib the IP interface.",
       .source = "/proc/modules, /sys/module",
       .standard = "ib_umad on InfiniBand; ib_ipoib where the rail has addresses",
       .remedy = "modprobe, and /etc/modules-load.d for the next boot.",
       .fixture = "r730-umad-missing",
       .explained_by = {"rdma.os-supports-adapter"},
       .check = infiniband_modules},
      {.id = "rdma.pci-device",
       .title = "adapter on PCI has an RDMA device",
       .why = "The card is seated and seen, yet no RDMA device came of it: its driver is missing or gave up.",
       .source = "/sys/bus/pci/devices, /sys/class/infiniband",
       .standard = "one device for each Mellanox physical function",
       .remedy = "Read the kernel log of that PCI address.",
       .fixture = "h100-adapter-without-device",
       .explained_by = {"rdma.adapter-modules", "rdma.os-supports-adapter", "rdma.device-health"},
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
      {.id = "rdma.rail-device",
       .title = "rail interface has an RDMA device",
       .why = "The rail carries TCP but no RDMA; NCCL says NET/Socket and runs at a fraction.",
       .source = "/sys/class/infiniband/*/ports/*/gid_attrs/ndevs, the PCI function, or the parent interface",
       .standard = "every end of a roce or infiniband rail",
       .remedy = "Load the driver, or add the software device.",
       .fixture = "rxe-device-missing",
       .explained_by = {"rdma.software-module", "rdma.pci-device", "rdma.adapter-modules",
                        "rdma.os-supports-adapter", "rdma.core-modules", "net.interface"},
       .check = rail_device},
      {.id = "rdma.memlock",
       .title = "memory can be locked without limit",
       .why = "RDMA locks its buffers in memory. Under the usual 8 MiB limit registration fails with ENOMEM.",
       .source = "Max locked memory of /proc/self/limits",
       .standard = "unlimited",
       .remedy = "limits.d; log in again.",
       .fixture = "v100-memlock-low",
       .explained_by = {},
       .check = memlock},
      {.id = "rdma.service-memlock",
       .title = "services that start jobs can lock memory",
       .why = "Jobs inherit the limit of slurmd or containerd, not of a login shell.",
       .source = "Max locked memory of /proc/PID/limits",
       .standard = "unlimited for slurmd, containerd and their like",
       .remedy = "LimitMEMLOCK=infinity in a drop-in.",
       .fixture = "h100-slurmd-memlock",
       .explained_by = {},
       .check = service_memlock},
      {.id = "host.socket-buffers",
       .title = "socket buffers may grow as asked",
       .why = "One TCP stream needs bandwidth × round trip of buffer; the default of 208 KiB chokes it.",
       .source = "/proc/sys/net/core/{rmem,wmem}_max",
       .standard = "expect.socket_buffer of cluster.yaml (the guides: 268435456); not judged without it",
       .remedy = "sysctl, now and in /etc/sysctl.d.",
       .fixture = "spark-socket-buffers",
       .explained_by = {},
       .check = socket_buffers},
  };
  return kRules;
}

}  // namespace railbed
