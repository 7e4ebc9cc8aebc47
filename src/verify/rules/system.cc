// The node's own upkeep: what its next boot brings, what hangs, what is shut, and its disks.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "verify/areas.h"
#include "verify/judge.h"

namespace railbed {
namespace {

void reboot_pending(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "reboot");
    const bool* required =
        one.read_if_there(node.facts->system.kernel.reboot_required, "only Debian and Ubuntu leave a mark");
    if (required == nullptr) continue;
    if (!*required) {
      one.pass("not required");
      continue;
    }
    one.warn({.message = fmt::format("{} waits for a reboot: what was upgraded and what runs differ, "
                                     "and the next boot is not the one that was tested",
                                     *node.name),
              .expected = "not required",
              .observed = "required",
              .remedy = {"Drain the node and reboot it at a time of your choosing.",
                         {"cat /run/reboot-required.pkgs", "systemctl reboot"},
                         true}});
  }
}

// Modules that a job needs; DKMS may also keep others.
bool matters(const DkmsModule& module) {
  for (const std::string_view part : {"nvidia", "mlnx", "ofed", "gdrcopy", "gdrdrv", "knem", "xpmem"})
    if (module.name.find(part) != std::string::npos) return true;
  return false;
}

void next_kernel(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "next kernel");
    const Kernel& kernel = node.facts->system.kernel;
    const auto* modules = one.read_if_there(kernel.dkms, "no DKMS here");
    if (modules == nullptr) continue;
    const auto* installed = one.read_if_there(kernel.installed, "no kernels in /lib/modules");
    if (installed == nullptr) continue;
    if (installed->empty()) {
      one.not_applicable("no kernels in /lib/modules");
      continue;
    }
    const std::string& next = installed->back();
    std::vector<std::string> missing;
    std::size_t used = 0;
    for (const DkmsModule& module : *modules) {
      if (!matters(module) || module.kernels.empty()) continue;
      ++used;
      if (std::ranges::find(module.kernels, next) == module.kernels.end()) missing.push_back(module.name);
    }
    if (missing.empty()) {
      if (used == 0)
        one.not_applicable("DKMS builds nothing that matters here");
      else
        one.pass(next);
      continue;
    }
    one.warn(
        {.message = fmt::format("kernel {} is installed on {} without {}: after the next boot they are gone",
                                next, *node.name, fmt::join(missing, ", ")),
         .expected = fmt::format("built for {}", next),
         .observed = fmt::format("{} missing", fmt::join(missing, ", ")),
         .remedy = {"Build them for that kernel, and read why DKMS did not.",
                    {fmt::format("dkms autoinstall -k {}", next), "dkms status"}}});
  }
}

void kernel_headers(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "kernel headers");
    const Kernel& kernel = node.facts->system.kernel;
    const auto* modules = one.read_if_there(kernel.dkms, "no DKMS here");
    if (modules == nullptr) continue;
    if (!std::ranges::any_of(*modules, matters)) {
      one.not_applicable("DKMS builds nothing that matters here");
      continue;
    }
    const bool* headers = one.read_if_there(kernel.headers, "no /lib/modules");
    if (headers == nullptr) continue;
    const std::string release = kernel.release.value_or("this kernel");
    if (*headers) {
      one.pass(release);
      continue;
    }
    one.warn({.message = fmt::format(
                  "{} has no headers for {}: DKMS cannot rebuild its drivers when they are upgraded",
                  *node.name, release),
              .expected = "installed",
              .observed = "missing",
              .remedy = {"Install them.",
                         {fmt::format("apt-get install linux-headers-{0} || dnf install kernel-devel-{0}",
                                      release)}}});
  }
}

void processors_online(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "processors", {"node:" + *node.name});
    const Cpu& cpu = node.facts->system.cpu;
    const int* present = one.read_if_there(cpu.present, "not recorded");
    if (present == nullptr) continue;
    const int* online = one.read(cpu.online);
    if (online == nullptr) continue;
    if (*online >= *present) {
      one.pass(std::to_string(*online));
      continue;
    }
    one.warn({.message = fmt::format("{} uses {} of its {} processors", *node.name, *online, *present),
              .expected = std::to_string(*present),
              .observed = std::to_string(*online),
              .remedy = {"Bring them online; look for maxcpus= or nosmt on the kernel command line.",
                         {"grep . /sys/devices/system/cpu/offline",
                          "chcpu -e $(cat /sys/devices/system/cpu/offline)"}}});
  }
}

void numa_balancing(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "kernel.numa_balancing");
    if (!node.has_accelerators() || node.facts->system.cpu.numa_nodes.size() < 2) {
      one.not_applicable("one NUMA node, or no GPU and no RDMA adapter");
      continue;
    }
    const auto& sysctl = node.facts->system.sysctl;
    const auto found = sysctl.find("kernel.numa_balancing");
    if (found == sysctl.end()) {
      one.not_applicable("the kernel has no such setting");
      continue;
    }
    const std::string* value = one.read_if_there(found->second, "the kernel has no such setting");
    if (value == nullptr) continue;
    if (*value == "0") {
      one.pass("off");
      continue;
    }
    one.warn({.message = fmt::format(
                  "the kernel of {} moves memory between processors by itself: "
                  "pages of running jobs are unmapped to see who touches them, and steps get uneven",
                  *node.name),
              .expected = "0",
              .observed = *value,
              .remedy = {"Turn it off; launchers pin their processes.",
                         {"sysctl -w kernel.numa_balancing=0",
                          "echo kernel.numa_balancing=0 > /etc/sysctl.d/90-numa.conf"}}});
  }
}

bool is_of_drivers(const StuckProcess& process) {
  for (const std::string_view part :
       {"nvidia", "nv_", "uvm_", "os_acquire", "rm_", "mlx5", "mlx4", "ib_", "rdma"})
    if (process.name.starts_with(part) || process.waits.starts_with(part)) return true;
  return false;
}

void stuck_process(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "processes", {"gpus"});
    const auto* stuck = one.read_if_there(node.facts->system.stuck, "not recorded");
    if (stuck == nullptr) continue;
    const auto found = std::ranges::find_if(*stuck, is_of_drivers);
    if (found == stuck->end()) {
      one.pass(stuck->empty() ? "none stuck" : fmt::format("{} wait for something else", stuck->size()));
      continue;
    }
    one.fail({.message = fmt::format("{} ({}) of {} hangs in a driver and cannot be killed", found->name,
                                     found->pid, *node.name),
              .expected = "none",
              .observed = found->waits == "0" ? "state D" : "state D in " + found->waits,
              .remedy = {"Save the kernel log and the process's stack, then reboot: nothing else ends it.",
                         {fmt::format("cat /proc/{}/stack", found->pid), "dmesg -T | tail -n 200"},
                         true}});
  }
}

bool has_addressed_rail(const NodeView& node) {
  return std::ranges::any_of(node.ends,
                             [](const RailEnd& end) { return end.port != nullptr && end.port->address; });
}

bool lets_in(const Firewall& firewall, const RailEnd& end) {
  if (std::ranges::find(firewall.interfaces, end.name) != firewall.interfaces.end()) return true;
  return end.port != nullptr && end.port->address &&
         std::ranges::any_of(firewall.sources,
                             [&](const Subnet& source) { return source.contains(*end.port->address); });
}

void firewall(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Things touches;
    for (const RailEnd& end : node.ends) touches.add("netdev:" + end.name);
    Case one = judge.on(node, "firewall", touches);
    if (!has_addressed_rail(node)) {
      one.not_applicable("no rail with addresses");
      continue;
    }
    const auto& reading = node.facts->system.firewall;
    one.seen(reading);
    if (!reading.ok() && (reading.absent() || reading.miss().missing == Missing::kDenied)) {
      one.not_applicable(reading.absent() ? "no nftables here" : "listing the rules needs root");
      continue;
    }
    const Firewall* rules = one.read(reading);
    if (rules == nullptr) continue;
    std::vector<std::string> shut;
    for (const RailEnd& end : node.ends)
      if (end.port != nullptr && end.port->address && !lets_in(*rules, end)) shut.push_back(end.name);
    if (!rules->drops || shut.empty()) {
      one.pass(rules->drops ? "rails are let in" : "open");
      continue;
    }
    const std::string names = fmt::format("{}", fmt::join(shut, ", "));
    one.warn(
        {.message = fmt::format("{} drops what arrives and has no rule for {}: "
                                "NCCL's connections and railbed's TCP measurements will not get in",
                                *node.name, names),
         .expected = "rails are let in",
         .observed = "dropped",
         .remedy = {"Let the rails in: they are private networks.",
                    {fmt::format("nft insert rule inet filter input iifname {} accept", shut.front())}}});
  }
}

bool owns(const NodeView& node, const IpAddress& address) {
  for (const NetInterface& interface : items(node.facts->net.interfaces))
    for (const InterfaceAddress& one : items(interface.addresses))
      if (one.address == address) return true;
  return false;
}

bool addresses_known(const NodeView& node) {
  return node.facts->net.interfaces.ok() &&
         std::ranges::any_of(*node.facts->net.interfaces, [](const NetInterface& one) {
           return one.addresses.ok() && !one.addresses->empty();
         });
}

bool is_loopback(const IpAddress& address) {
  static const Subnet kFour = *Subnet::parse("127.0.0.0/8");
  return kFour.contains(address) || address.to_text() == "::1";
}

void hosts_file(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "/etc/hosts");
    const auto* entries = one.read_if_there(node.facts->system.hosts, "not recorded");
    if (entries == nullptr) continue;
    std::vector<std::string> wrong;
    std::size_t judged = 0;
    for (const HostsEntry& entry : *entries)
      for (const std::string& name : entry.names) {
        const NodeView* owner = survey.find(name);
        // A node's own name may stand for itself (Debian's 127.0.1.1).
        if (owner == nullptr || !addresses_known(*owner) || (owner == &node && is_loopback(entry.address)))
          continue;
        ++judged;
        if (is_loopback(entry.address) || !owns(*owner, entry.address)) {
          wrong.push_back(fmt::format("{} {}", entry.address.to_text(), name));
          one.touch("node:" + *owner->name);
          for (const RailEnd& end : owner->ends)
            if (end.port != nullptr && end.port->address == entry.address) one.touch(end.touches);
        }
      }
    if (judged == 0) {
      one.not_applicable("it names none of the nodes");
      continue;
    }
    if (wrong.empty()) {
      one.pass(fmt::format("{} names", judged));
      continue;
    }
    one.warn(
        {.message = fmt::format("/etc/hosts of {} sends programs to addresses those nodes do not have: {}",
                                *node.name, fmt::join(wrong, ", ")),
         .expected = "addresses of the nodes",
         .observed = fmt::format("{}", fmt::join(wrong, ", ")),
         .remedy = {"Correct the lines; with an address of a rail, names mean the fast network.",
                    {"grep -n . /etc/hosts"}}});
  }
}

void shared_memory(const Survey& survey, Judge& judge) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 30;
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "/dev/shm");
    if (node.gpus().empty()) {
      one.not_applicable("no NVIDIA GPU on PCI");
      continue;
    }
    const auto found =
        std::ranges::find(node.facts->system.storage.file_systems, "/dev/shm", &FileSystem::path);
    if (found == node.facts->system.storage.file_systems.end()) {
      one.not_applicable("not recorded");
      continue;
    }
    const ByteCount* size = one.read_if_there(found->size, "not recorded");
    if (size == nullptr) continue;
    if (size->bytes >= kLeast) {
      one.pass(to_text(*size));
      continue;
    }
    one.fail({.message = fmt::format(
                  "/dev/shm of {} has {}: "
                  "NCCL's ranks on one node talk through it and fail with \"No space left on device\"",
                  *node.name, to_text(*size)),
              .expected = "at least 1 GiB",
              .observed = to_text(*size),
              .remedy = {"Make it larger; a container needs --shm-size or --ipc=host.",
                         {"mount -o remount,size=50% /dev/shm"}}});
  }
}

void read_only(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const FileSystem& each : node.facts->system.storage.file_systems) {
      Case one = judge.on(node, each.path);
      const bool* frozen = one.read_if_there(each.read_only, "not recorded, or no such file system");
      if (frozen == nullptr) continue;
      if (!*frozen) {
        one.pass("writable");
        continue;
      }
      one.fail({.message = fmt::format(
                    "{} of {} cannot be written: the kernel freezes a file system when its disk fails",
                    each.path, *node.name),
                .expected = "writable",
                .observed = "read only",
                .remedy = {"Read the kernel log for disk errors; replace the disk, "
                           "or check the file system and mount it again.",
                           {"dmesg | grep -i -e 'I/O error' -e 'remount'"},
                           true,
                           false}});
    }
}

void inodes(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const FileSystem& each : node.facts->system.storage.file_systems) {
      Case one = judge.on(node, each.path);
      const std::uint64_t* all = one.read_if_there(each.inodes, "not recorded, or no such file system");
      if (all == nullptr) continue;
      const std::uint64_t* free = one.read(each.inodes_available);
      if (free == nullptr) continue;
      if (*all == 0) {
        one.not_applicable("the file system makes them as needed");
        continue;
      }
      const double percent = 100.0 * static_cast<double>(*free) / static_cast<double>(*all);
      if (percent >= 5) {
        one.pass(fmt::format("{:.0f} % free", percent));
        continue;
      }
      one.warn({.message = fmt::format(
                    "{} of {} has room for {} more files: then writing fails although there is space",
                    each.path, *node.name, *free),
                .expected = "at least 5 % of the inodes free",
                .observed = fmt::format("{:.1f} %", percent),
                .remedy = {"Find the folder with millions of small files and delete it.",
                           {fmt::format("du --inodes -xd2 {} | sort -n | tail", each.path)},
                           false,
                           false}});
    }
}

void checkpoint_space(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "checkpoints");
    const auto& path = node.expect().checkpoint_path;
    if (!path) {
      one.not_applicable("cluster.yaml names no place (expect.checkpoint_path)");
      continue;
    }
    const auto& systems = node.facts->system.storage.file_systems;
    const auto found = std::ranges::find(systems, *path, &FileSystem::path);
    if (found == systems.end()) {
      one.unknown("its facts were collected without asking for " + *path);
      continue;
    }
    if (found->size.absent()) {
      one.seen(found->size);
      one.fail(
          {.message = fmt::format("{} has no {}, where checkpoints go", *node.name, *path),
           .expected = "there",
           .observed = "not there",
           .remedy = {"Mount it, and see that it is mounted at boot.", {"mount -a", "findmnt " + *path}}});
      continue;
    }
    const ByteCount* size = one.read(found->size);
    if (size == nullptr) continue;
    const ByteCount* free = one.read(found->available);
    if (free == nullptr) continue;
    if (free->bytes >= size->bytes / 10) {
      one.pass(to_text(*free) + " free");
      continue;
    }
    one.warn({.message = fmt::format("{} of {} has {} of {} left for checkpoints", *path, *node.name,
                                     to_text(*free), to_text(*size)),
              .expected = "at least 10 % free",
              .observed = to_text(*free),
              .remedy = {"Delete old checkpoints, or write elsewhere.",
                         {fmt::format("du -sh {}/*", *path)},
                         false,
                         false}});
  }
}

constexpr int kWornPercent = 90;

void judge_drive(const NodeView& node, const NvmeController& drive, Case one) {
  one.seen(drive.health);
  if (!drive.health.ok() && (drive.health.absent() || drive.health.miss().missing == Missing::kDenied))
    return one.not_applicable(drive.health.absent() ? "not recorded" : "asking a drive needs root");
  const NvmeHealth* health = one.read(drive.health);
  if (health == nullptr) return;
  static constexpr std::pair<int, std::string_view> kWarnings[] = {{1, "spare blocks are used up"},
                                                                   {2, "it is too hot"},
                                                                   {4, "its reliability is degraded"},
                                                                   {8, "it went read only"},
                                                                   {16, "its power backup failed"}};
  std::vector<std::string_view> words;
  for (const auto& [bit, text] : kWarnings)
    if ((health->critical_warning & bit) != 0) words.push_back(text);
  const Remedy remedy = {"Copy what is on it, then replace it.",
                         {fmt::format("nvme smart-log /dev/{}", drive.name)},
                         true,
                         false};
  if (health->critical_warning != 0)
    return one.fail(
        {.message = fmt::format("{} of {} warns: {}", drive.name, *node.name, fmt::join(words, ", ")),
         .expected = "no critical warning",
         .observed = fmt::format("{:#04x}", health->critical_warning),
         .remedy = remedy});
  if (health->used_percent >= kWornPercent || health->media_errors > 0)
    return one.warn(
        {.message = fmt::format("{} of {} has used {} % of its rated life and met {} media errors",
                                drive.name, *node.name, health->used_percent, health->media_errors),
         .expected = fmt::format("below {} %, no media errors", kWornPercent),
         .observed = fmt::format("{} %, {} errors", health->used_percent, health->media_errors),
         .remedy = remedy});
  one.pass(fmt::format("{} % used, {} °C", health->used_percent, health->celsius));
}

void nvme_health(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const NvmeController& drive : items(node.facts->system.storage.nvme)) {
      Things touches;
      if (drive.pci_address.ok()) touches.add("pci:" + *drive.pci_address);
      judge_drive(node, drive, judge.on(node, drive.name, std::move(touches)));
    }
}

void nvme_link(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const PciDevice& device : node.pci()) {
      if (!is_nvme(device)) continue;
      Case one = judge.on(node, device.address, node.touches_of(device.address));
      const PcieLink* now = one.read_if_there(device.link_now, "no PCIe link to see");
      if (now == nullptr) continue;
      const PcieLink* most = one.read_if_there(device.link_max, "no PCIe link to see");
      if (most == nullptr) continue;
      // The slot may be the limit: then the drive is as fast as it can be here.
      PcieLink best = *most;
      if (device.parent.ok())
        if (const PciDevice* above = find_pci(node.pci(), *device.parent);
            above != nullptr && above->link_max.ok()) {
          best.width = std::min(best.width, above->link_max->width);
          best.gigatransfers = std::min(best.gigatransfers, above->link_max->gigatransfers);
        }
      const std::string observed = fmt::format("{} GT/s x{}", now->gigatransfers, now->width);
      if (now->width >= best.width && now->gigatransfers >= best.gigatransfers) {
        one.pass(observed);
        continue;
      }
      const std::string expected = fmt::format("{} GT/s x{}", best.gigatransfers, best.width);
      one.warn({.message = fmt::format("the drive at {} of {} runs at {}, it and its slot can {}",
                                       device.address, *node.name, observed, expected),
                .expected = expected,
                .observed = observed,
                .remedy = {"Reseat the drive, then its cable or backplane.",
                           {fmt::format("lspci -vvs {} | grep Lnk", device.address)},
                           true}});
    }
}

}  // namespace

std::span<const Rule> system_rules() {
  static const Rule kRules[] = {
      {.id = "host.stuck-process",
       .title = "no process hangs in a driver",
       .why = "A process stuck in the kernel holds its GPU or adapter until the node is rebooted.",
       .source = "/proc/*/stat: state D in three looks over 100 ms, by name and kernel function",
       .standard = "none in the NVIDIA or RDMA drivers",
       .remedy = "Save the evidence, then reboot.",
       .fixture = "h100-stuck-process",
       .explained_by = {},
       .check = stuck_process},
      {.id = "host.read-only",
       .title = "file systems can be written",
       .why = "The kernel freezes a file system when its disk fails; jobs start and cannot save.",
       .source = "statvfs: ST_RDONLY",
       .standard = "writable: /, /tmp, /dev/shm and expect.checkpoint_path",
       .remedy = "Kernel log, then the disk.",
       .fixture = "v100-root-read-only",
       .explained_by = {"storage.nvme-health"},
       .check = read_only},
      {.id = "host.inodes",
       .title = "file system can take more files",
       .why = "A file system without inodes refuses new files while df shows room.",
       .source = "statvfs: f_favail",
       .standard = "at least 5 % free (railbed's own)",
       .remedy = "Delete the many small files.",
       .fixture = "v100-inodes-used-up",
       .explained_by = {},
       .check = inodes},
      {.id = "host.shared-memory",
       .title = "shared memory is large enough",
       .why = "NCCL's ranks on a node talk through /dev/shm where they cannot use NVLink or PCIe.",
       .source = "statvfs of /dev/shm",
       .standard = "at least 1 GiB (NCCL user guide, \"Shared memory\": --shm-size=1g)",
       .remedy = "Make /dev/shm larger.",
       .fixture = "v100-shm-small",
       .explained_by = {},
       .check = shared_memory},
      {.id = "host.processors-online",
       .title = "all processors are used",
       .why = "Processors somebody switched off are missing for data loading, and unlike the other nodes.",
       .source = "/sys/devices/system/cpu/{online,present}",
       .standard = "all that are present",
       .remedy = "Bring them online.",
       .fixture = "v100-processors-offline",
       .explained_by = {},
       .check = processors_online},
      {.id = "host.numa-balancing",
       .title = "kernel leaves memory where it is",
       .why = "Balancing unmaps pages of running jobs to watch them: uneven steps, slow registration.",
       .source = "/proc/sys/kernel/numa_balancing",
       .standard = "0 on nodes with several NUMA nodes (NVIDIA's tuning guides)",
       .remedy = "sysctl kernel.numa_balancing=0.",
       .fixture = "h100-numa-balancing",
       .explained_by = {},
       .check = numa_balancing},
      {.id = "host.reboot-pending",
       .title = "no reboot is pending",
       .why = "A node that waits for a reboot is not the node that was tested.",
       .source = "/run/reboot-required",
       .standard = "not there; not judged outside of Debian and Ubuntu",
       .remedy = "Drain and reboot.",
       .fixture = "v100-reboot-pending",
       .explained_by = {"host.next-kernel"},
       .check = reboot_pending},
      {.id = "host.next-kernel",
       .title = "next kernel has its drivers",
       .why =
           "An upgrade installed a kernel for which DKMS built no driver: the node comes back without GPUs.",
       .source = "/lib/modules, /var/lib/dkms",
       .standard = "what DKMS builds for one kernel is there for the newest",
       .remedy = "dkms autoinstall -k RELEASE.",
       .fixture = "h100-next-kernel",
       .explained_by = {},
       .check = next_kernel},
      {.id = "host.kernel-headers",
       .title = "kernel headers are installed",
       .why = "Without headers DKMS cannot build, and a driver upgrade leaves the node without one.",
       .source = "/lib/modules/RELEASE/build",
       .standard = "there, where DKMS builds GPU or RDMA drivers",
       .remedy = "Install the headers of the running kernel.",
       .fixture = "h100-kernel-headers",
       .explained_by = {},
       .check = kernel_headers},
      {.id = "host.firewall",
       .title = "firewall lets the rails in",
       .why = "RDMA passes by the firewall, NCCL's start-up and its sockets do not: jobs hang at init.",
       .source = "nft -j list ruleset (root)",
       .standard = "no input chain that drops, or a rule that names the rail's interface or network",
       .remedy = "Let the rails in.",
       .fixture = "v100-firewall",
       .explained_by = {},
       .check = firewall},
      {.id = "host.hosts-file",
       .title = "hosts file gives nodes their addresses",
       .why =
           "Launchers and PyTorch find nodes by name; a stale line sends them elsewhere, or to themselves.",
       .source = "/etc/hosts, compared with the nodes' addresses",
       .standard = "each node's name stands for an address it has, and not for loopback on other nodes",
       .remedy = "Correct /etc/hosts.",
       .fixture = "v100-hosts-stale",
       .explained_by = {"net.address", "net.subnet"},
       .check = hosts_file},
      {.id = "storage.nvme-health",
       .title = "NVMe drive is well",
       .why = "A drive that warns of itself loses checkpoints soon, or slows the data loader now.",
       .source = "NVMe log page 2, SMART / Health (root)",
       .standard = "no critical warning; below 90 % of its rated life and no media errors (railbed's own)",
       .remedy = "Replace it.",
       .fixture = "h100-nvme-worn",
       .explained_by = {},
       .check = nvme_health},
      {.id = "storage.nvme-link",
       .title = "NVMe drive has its PCIe link",
       .why = "A drive on half its lanes loads data at half its speed.",
       .source = "/sys/bus/pci/devices/*/{current,max}_link_{speed,width}",
       .standard = "what the drive and its slot can",
       .remedy = "Reseat it.",
       .fixture = "h100-nvme-x2",
       .explained_by = {},
       .check = nvme_link},
      {.id = "storage.checkpoint-space",
       .title = "there is room for checkpoints",
       .why = "A job that cannot save its checkpoint has lost hours.",
       .source = "statvfs of expect.checkpoint_path",
       .standard = "mounted, with at least 10 % free (railbed's own)",
       .remedy = "Mount it, or make room.",
       .fixture = "h100-checkpoints-full",
       .explained_by = {},
       .check = checkpoint_space},
  };
  return kRules;
}

}  // namespace railbed
