// Hung tasks, full or frozen file systems, and limits on the processors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/boot_setting.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

void left_out(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "devices", [](Case& verdict, const NodeView& node) {
    const std::vector<std::string>& left_out = node.facts->left_out;
    if (left_out.empty()) return verdict.pass("all looked at");
    verdict.warn(
        {.message = fmt::format("{} shows more devices than any machine has: only {} were looked at",
                                *node.name, fmt::join(left_out, ", ")),
         .expected = "all are looked at",
         .observed = fmt::format("{}", fmt::join(left_out, ", ")),
         .remedy = {"Look for what makes interfaces without end; of a captured tree, ask who made it.",
                    {"ls /sys/class/net | sed 's/[0-9].*//' | sort | uniq -c | sort -rn | head"}}});
  });
}

void processors_online(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "processors", whole_node, [](Case& verdict, const NodeView& node) {
    const Cpu& cpu = node.facts->system.cpu;
    const int* present = verdict.read_if_there(cpu.present, "not recorded");
    if (present == nullptr) return;
    const int* online = verdict.read(cpu.online);
    if (online == nullptr) return;
    if (*online >= *present) return verdict.pass(std::to_string(*online));
    verdict.warn({.message = fmt::format("{} uses {} of its {} processors", *node.name, *online, *present),
                  .expected = std::to_string(*present),
                  .observed = std::to_string(*online),
                  .remedy = {"Bring them online; look for maxcpus= or nosmt on the kernel command line.",
                             {"grep . /sys/devices/system/cpu/offline",
                              "chcpu -e $(cat /sys/devices/system/cpu/offline)"}}});
  });
}

// Judges a kernel setting that has to be 0 if memory has several NUMA nodes. `message` is the finding's text,
// with {} for the node.
void want_zero(const Survey& survey, Judge& judge, const std::string& key,
               fmt::format_string<const std::string&> message) {
  each_node(survey, judge, key, [&](Case& verdict, const NodeView& node) {
    if (!numa_matters(node)) return verdict.not_applicable("one NUMA node, or no GPU and no RDMA adapter");
    const auto& sysctl = node.facts->system.sysctl;
    const auto found = sysctl.find(key);
    if (found == sysctl.end()) return verdict.not_applicable("the kernel has no such setting");
    const std::string* value = verdict.read_if_there(found->second, "the kernel has no such setting");
    if (value == nullptr) return;
    if (*value == "0") return verdict.pass("off");
    verdict.warn({.message = fmt::format(message, *node.name), .expected = "0", .observed = *value});
  });
}

void numa_balancing(const Survey& survey, Judge& judge) {
  want_zero(survey, judge, "kernel.numa_balancing",
            "the kernel of {} moves memory between processors by itself: "
            "pages of running jobs are unmapped to see who touches them, and steps get uneven");
}

void zone_reclaim(const Survey& survey, Judge& judge) {
  want_zero(
      survey, judge, "vm.zone_reclaim_mode",
      "the kernel of {} drops cached files before it takes memory of the other processor: programs stall while "
      "it reclaims, and read their data from disk again");
}

bool is_of_drivers(const StuckProcess& process) {
  for (const std::string_view part :
       {"nvidia", "nv_", "uvm_", "os_acquire", "rm_", "mlx5", "mlx4", "ib_", "rdma"})
    if (process.name.starts_with(part) || process.waits.starts_with(part)) return true;
  return false;
}

void stuck_process(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "processes", Things{"gpus"}, [](Case& verdict, const NodeView& node) {
    const auto* stuck = verdict.read_if_there(node.facts->system.stuck, "not recorded");
    if (stuck == nullptr) return;
    const auto found = std::ranges::find_if(*stuck, is_of_drivers);
    if (found == stuck->end())
      return verdict.pass(stuck->empty() ? "none stuck"
                                         : fmt::format("{} wait for something else", stuck->size()));
    verdict.fail(
        {.message = fmt::format("{} ({}) of {} hangs in a driver and cannot be killed", found->name,
                                found->pid, *node.name),
         .expected = "none",
         .observed = found->waits == "0" ? "state D" : "state D in " + found->waits,
         .remedy = {"Save the kernel log and the process's stack, then reboot: nothing else ends it.",
                    {command("cat /proc/{}/stack", found->pid), "dmesg -T | tail -n 200"},
                    true}});
  });
}

void shared_memory(const Survey& survey, Judge& judge) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 30;
  each_node(survey, judge, "/dev/shm", [&](Case& verdict, const NodeView& node) {
    if (verdict.lacks_gpus(node)) return;
    const auto found =
        std::ranges::find(node.facts->system.storage.file_systems, "/dev/shm", &FileSystem::path);
    if (found == node.facts->system.storage.file_systems.end()) return verdict.not_applicable("not recorded");
    const ByteCount* size = verdict.read_if_there(found->size, "not recorded");
    if (size == nullptr) return;
    if (size->bytes >= kLeast) return verdict.pass(to_text(*size));
    verdict.fail({.message = fmt::format(
                      "/dev/shm of {} has {}: "
                      "NCCL's ranks on one node talk through it and fail with \"No space left on device\"",
                      *node.name, to_text(*size)),
                  .expected = "at least 1 GiB",
                  .observed = to_text(*size),
                  .remedy = {"Make it larger; a container needs --shm-size or --ipc=host.",
                             {"mount -o remount,size=50% /dev/shm"}}});
  });
}

// A container's root or a live system's image is read-only by design: jobs need other places.
void read_only_on_purpose(Case& verdict, const NodeView& node, const FileSystem& each) {
  verdict.read(each.read_only_by);
  const std::string how = *each.read_only_by == ReadOnlyBy::kMount
                              ? "mounted read-only, and its file system is not"
                              : "on a file system of a kind that nobody writes";
  if (each.path == "/") return verdict.not_applicable("it is " + how);
  verdict.warn(
      {.message = fmt::format("{} of {} is {}: jobs cannot write there", each.path, *node.name, how),
       .expected = "writable",
       .observed = "read only on purpose",
       .remedy = {
           "If jobs shall write there, see who mounts it so, /etc/fstab or what started the container.",
           {command("findmnt -T {}", each.path)}}});
}

void read_only(const Survey& survey, Judge& judge) {
  each_file_system(survey, judge, [](Case& verdict, const NodeView& node, const FileSystem& each) {
    const bool* frozen = verdict.read_if_there(each.read_only, "not recorded, or no such file system");
    if (frozen == nullptr) return;
    if (!*frozen) return verdict.pass("writable");
    if (each.read_only_by.ok() && *each.read_only_by != ReadOnlyBy::kFileSystem)
      return read_only_on_purpose(verdict, node, each);
    verdict.fail({.message = fmt::format(
                      "{} of {} cannot be written: the kernel freezes a file system when its disk fails",
                      each.path, *node.name),
                  .expected = "writable",
                  .observed = "read only",
                  .remedy = {"Read the kernel log for disk errors; replace the disk, "
                             "or check the file system and mount it again.",
                             {"dmesg | grep -i -e 'I/O error' -e 'remount'"},
                             true,
                             false}});
  });
}

void inodes(const Survey& survey, Judge& judge) {
  each_file_system(survey, judge, [](Case& verdict, const NodeView& node, const FileSystem& each) {
    const std::uint64_t* all = verdict.read_if_there(each.inodes, "not recorded, or no such file system");
    if (all == nullptr) return;
    const std::uint64_t* free = verdict.read(each.inodes_available);
    if (free == nullptr) return;
    if (*all == 0) return verdict.not_applicable("the file system makes them as needed");
    const double percent = 100.0 * static_cast<double>(*free) / static_cast<double>(*all);
    if (percent >= 5) return verdict.pass(fmt::format("{:.0f} % free", percent));
    verdict.warn({.message = fmt::format(
                      "{} of {} has room for {} more files: then writing fails although there is space",
                      each.path, *node.name, *free),
                  .expected = "at least 5 % of the inodes free",
                  .observed = fmt::format("{:.1f} %", percent),
                  .remedy = {"Find the folder with millions of small files and delete it.",
                             {command("du --inodes -xd2 {} | sort -n | tail", each.path)},
                             false,
                             false}});
  });
}

}  // namespace

std::span<const Rule> system_rules() {
  static const Rule kRules[] = {
      {.id = "host.left-out",
       .title = "all devices were looked at",
       .why = "What was not looked at may be broken, and no rule says so.",
       .source =
           "the entries of /sys/class/net, /sys/class/infiniband, /sys/class/nvme and /sys/bus/pci/devices",
       .standard = "at most 4096 interfaces, PCI functions and NVMe controllers, 1024 RDMA devices: ours",
       .remedy = "Find what makes so many.",
       .fixture = "h100-left-out",
       .explained_by = {},
       .check = left_out},
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
       .source =
           "statvfs: ST_RDONLY; /proc/self/mountinfo: whether the mount or its file system is read-only",
       .standard = "writable: /, /tmp, /dev/shm and expect.checkpoint_path",
       .remedy = "Read the kernel log, then look at the disk.",
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
       .why =
           "Processors that somebody switched off are missing for data loading, and make the node unlike the others.",
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
       .remedy = "Turn it off now and for the next boot; launchers pin their processes.",
       .fixture = "h100-numa-balancing",
       .explained_by = {},
       .settings = {"sysctl/numa-balancing"},
       .check = numa_balancing},
      {.id = "host.zone-reclaim",
       .title = "memory comes from the other processor before files are dropped",
       .why =
           "Reclaiming stalls whoever asks for memory, and drops the page cache that data loaders read from.",
       .source = "/proc/sys/vm/zone_reclaim_mode",
       .standard =
           "0 on nodes with several NUMA nodes, as the kernel starts (Documentation/admin-guide/sysctl/vm.rst)",
       .remedy = "Turn it off now and for the next boot.",
       .fixture = "h100-zone-reclaim",
       .explained_by = {},
       .settings = {"sysctl/zone-reclaim"},
       .check = zone_reclaim},
  };
  return kRules;
}

}  // namespace railbed
