// Tuning and wear of the running system: memory, disk space, processors, clock.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/container_gpus.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

void memory_errors(const Survey& survey, Judge& judge) {
  constexpr std::uint64_t kCorrectableLimit = 100;  // sichek's default
  each_node(survey, judge, "memory", Things{"memory"}, [&](Case& verdict, const NodeView& node) {
    const Memory& memory = node.facts->system.memory;
    const std::uint64_t* uncorrectable =
        verdict.read_if_there(memory.edac_uncorrectable, "no EDAC driver counts here");
    if (uncorrectable == nullptr) return;
    const std::uint64_t correctable = memory.edac_correctable.value_or(0);
    if (*uncorrectable > 0) {
      verdict.fail({.message = fmt::format("{} counted {} uncorrectable memory errors: a module is failing",
                                           *node.name, *uncorrectable),
                    .expected = "0",
                    .observed = std::to_string(*uncorrectable),
                    .remedy = {"Take the node out of service and replace the module that the counters name.",
                               {"grep . /sys/devices/system/edac/mc/mc*/dimm*/dimm_ue_count"},
                               true,
                               false}});
    } else if (correctable >= kCorrectableLimit) {
      verdict.warn(
          {.message = fmt::format("{} corrected {} memory errors since boot: a module is wearing out",
                                  *node.name, correctable),
           .expected = fmt::format("below {}", kCorrectableLimit),
           .observed = std::to_string(correctable),
           .remedy = {"Find the module and plan its replacement.",
                      {"grep . /sys/devices/system/edac/mc/mc*/dimm*/dimm_ce_count"},
                      true,
                      false}});
    } else {
      verdict.pass("0 uncorrectable");
    }
  });
}

void disk_space(const Survey& survey, Judge& judge) {
  each_file_system(survey, judge, [](Case& verdict, const NodeView& node, const FileSystem& each) {
    if (each.path == node.expect().checkpoint_path) return;  // storage.checkpoint-space judges it
    const ByteCount* size = verdict.read_if_there(each.size, "no such file system");
    if (size == nullptr) return;
    const ByteCount* free = verdict.read(each.available);
    if (free == nullptr) return;
    const double percent =
        size->bytes == 0 ? 100 : 100.0 * static_cast<double>(free->bytes) / static_cast<double>(size->bytes);
    if (percent >= 10) return verdict.pass(fmt::format("{:.0f} % free", percent));
    verdict.red(percent < 1 ? Status::kFail : Status::kWarn,
                {.message = fmt::format("{} of {} has {:.0f} % left ({})", each.path, *node.name, percent,
                                        to_text(*free)),
                 .expected = "at least 10 % free",
                 .observed = fmt::format("{:.1f} %", percent),
                 .remedy = {"Delete or move what is no longer needed; old logs and packages first.",
                            {command("du -xh --max-depth=2 {} | sort -h | tail", each.path),
                             "journalctl --vacuum-size=200M"},
                            false,
                            false}});
  });
}

void swap_off(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "swap", [](Case& verdict, const NodeView& node) {
    if (verdict.lacks_accelerators(node)) return;
    const ByteCount* swap = verdict.read(node.facts->system.memory.swap_total);
    if (swap == nullptr) return;
    if (swap->bytes == 0) return verdict.pass("none");
    verdict.warn(
        {.message = fmt::format("{} has {} of swap: a rank that is paged out stalls every other rank",
                                *node.name, to_text(*swap)),
         .expected = "none",
         .observed = to_text(*swap),
         .remedy = {"Turn swap off, and take it out of /etc/fstab.",
                    {"swapoff -a", "sed -i.bak '/\\sswap\\s/s/^/#/' /etc/fstab"}}});
  });
}

void governor(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "cpufreq", [](Case& verdict, const NodeView& node) {
    const auto* governors =
        verdict.read_if_there(node.facts->system.cpu.governors, "the kernel does not scale frequency here");
    if (governors == nullptr) return;
    if (!node.expect().governor && !node.has_accelerators())
      return verdict.not_applicable("no GPU and no RDMA adapter on PCI");
    const std::string want = node.expect().governor.value_or("performance");
    const auto other =
        std::ranges::find_if(*governors, [&](const auto& entry) { return entry.first != want; });
    if (other == governors->end()) return verdict.pass(want);
    verdict.warn(
        {.message = fmt::format("the processor of {} runs with governor {}, expected {}: "
                                "clocks drop between messages and latency rises",
                                *node.name, other->first, want),
         .expected = want,
         .observed = other->first,
         // Without systemd no unit keeps it.
         .remedy = {
             "", {command("echo {} | tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor", want)}}});
  });
}

void clocksource(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "clocksource", [](Case& verdict, const NodeView& node) {
    if (verdict.lacks_accelerators(node)) return;
    const std::string* source = verdict.read(node.facts->system.cpu.clocksource);
    if (source == nullptr) return;
    const bool slow =
        *source == "hpet" || *source == "acpi_pm" || *source == "jiffies" || *source == "refined-jiffies";
    if (!slow) return verdict.pass(*source);
    verdict.warn(
        {.message = fmt::format("{} keeps time by {}: the kernel gave up the processor's own counter, "
                                "and each time stamp now costs about a microsecond",
                                *node.name, *source),
         .expected = "tsc",
         .observed = *source,
         .remedy = {"Read why the counter was marked unstable; update the firmware, then reboot.",
                    {"dmesg | grep -i -e tsc -e clocksource"},
                    true}});
  });
}

void hugepages(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "hugepages", [](Case& verdict, const NodeView& node) {
    const std::string* line = verdict.read(node.facts->system.kernel.command_line);
    if (line == nullptr) return;
    std::optional<std::uint64_t> want;
    for (const std::string_view word : words(*line))
      if (word.starts_with("hugepages=")) want = parse_number<std::uint64_t>(word.substr(10));
    if (!want) return verdict.not_applicable("the kernel command line asks for none");
    const std::uint64_t* have = verdict.read(node.facts->system.memory.hugepages_total);
    if (have == nullptr) return;
    if (*have >= *want) return verdict.pass(std::to_string(*have));
    verdict.warn(
        {.message = fmt::format("{} got {} of the {} hugepages that its kernel command line asks for",
                                *node.name, *have, *want),
         .expected = std::to_string(*want),
         .observed = std::to_string(*have),
         .remedy = {"Ask for fewer, or for a size that fits into the free memory at boot.",
                    {command("sysctl -w vm.nr_hugepages={}", *want)}}});
  });
}

// At most half of the memory may be idle in hugepages. Our value.
constexpr double kMostHugeShare = 0.5;

void hugepages_idle(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "hugepages", [](Case& verdict, const NodeView& node) {
    const Memory& memory = node.facts->system.memory;
    const std::uint64_t* pages = verdict.read_if_there(memory.hugepages_total, "the kernel has none");
    if (pages == nullptr) return;
    if (*pages == 0) return verdict.pass("none");
    const std::uint64_t* free = verdict.read(memory.hugepages_free);
    const ByteCount* size = free == nullptr ? nullptr : verdict.read(memory.hugepage_size);
    const ByteCount* total = size == nullptr ? nullptr : verdict.read(memory.total);
    if (total == nullptr || total->bytes == 0) return;
    const double idle = static_cast<double>(*free) * static_cast<double>(size->bytes);
    const double share = idle / static_cast<double>(total->bytes);
    if (share <= kMostHugeShare)
      return verdict.pass(fmt::format("{:.0f} % of the memory idle in them", share * 100));
    verdict.warn(
        {.message =
             fmt::format("hugepages that nobody uses hold {:.0f} % of the memory of {}: programs that do "
                         "not ask for them run out of memory",
                         share * 100, *node.name),
         .expected = fmt::format("at most {:.0f} % of the memory idle in them", kMostHugeShare * 100),
         .observed = fmt::format("{} of {} pages free", *free, *pages),
         .remedy = {"Reserve as many as programs use; also where they are asked for: hugepages= on the "
                    "kernel command line, vm.nr_hugepages in sysctl.d.",
                    {"grep -r nr_hugepages /etc/sysctl.conf /etc/sysctl.d",
                     command("sysctl -w vm.nr_hugepages={}", *pages - *free)}}});
  });
}

void clock_synchronised(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "clock", [](Case& verdict, const NodeView& node) {
    if (verdict.lacks_accelerators(node)) return;
    const bool* synchronised = verdict.read(node.facts->system.kernel.clock_synchronised);
    if (synchronised == nullptr) return;
    if (*synchronised) return verdict.pass("synchronised");
    verdict.warn({.message = fmt::format(
                      "nothing keeps the clock of {}: its logs cannot be laid beside those of other nodes, "
                      "and certificates may fail",
                      *node.name),
                  .expected = "synchronised",
                  .observed = "not synchronised",
                  .remedy = {"Start a time service and let it settle.", keep_time_with(node)}});
  });
}

void automatic_upgrades(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "unattended-upgrades", [](Case& verdict, const NodeView& node) {
    if (verdict.lacks_gpus(node) || verdict.lacks_systemd(node)) return;
    const Service* service = find_service(node, {"unattended-upgrades"});
    if (service == nullptr || service->active_state != "active") return verdict.pass("not active");
    verdict.warn(
        {.message = fmt::format(
             "{} upgrades itself: a new kernel at night may leave it without GPU driver in the morning",
             *node.name),
         .expected = "not active",
         .observed = "active"});
  });
}

void memory_guard(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "memory guard", Things{"memory"}, [](Case& verdict, const NodeView& node) {
    if (node.wanted == nullptr || !node.wanted->configure.memory_guard.value_or(false))
      return verdict.not_applicable("cluster.yaml asks for none (configure.memory_guard)");
    const auto* guards = verdict.read(node.facts->system.memory_guards);
    if (guards == nullptr) return;
    if (has_memory_guard(*guards)) return verdict.pass(fmt::format("{}", fmt::join(*guards, ", ")));
    verdict.warn(
        {.message =
             fmt::format("nothing on {} ends a process before memory is used up: where GPU and processor "
                         "share it, the machine then stands still until it is switched off",
                         *node.name),
         .expected = "earlyoom or nohang runs",
         .observed = guards->empty() ? "neither runs" : fmt::format("only {}", fmt::join(*guards, ", "))});
  });
}

}  // namespace

std::span<const Rule> tuning_rules() {
  static const Rule kRules[] = {
      {.id = "host.memory-errors",
       .title = "no memory errors",
       .why = "An uncorrectable error kills the process that touches it; many corrected ones announce it.",
       .source = "/sys/devices/system/edac/mc/mc*/{ue,ce}_count",
       .standard = "0 uncorrectable; below 100 corrected since boot (sichek's default)",
       .remedy = "Replace the module.",
       .fixture = "v100-memory-errors",
       .explained_by = {"bmc.events", "host.machine-check"},
       .check = memory_errors},
      {.id = "host.disk-space",
       .title = "file system has room",
       .why = "A full disk stops logs, checkpoints and configuration half-way.",
       .source = "statvfs of /, /tmp and /dev/shm",
       .standard = "at least 10 % free; below 1 % fails (railbed's own)",
       .remedy = "Delete or move what is no longer needed.",
       .fixture = "v100-disk-full",
       .explained_by = {},
       .check = disk_space},
      {.id = "host.swap",
       .title = "swap is off",
       .why = "Training moves in lockstep: one rank waiting for a disk holds up all.",
       .source = "SwapTotal of /proc/meminfo",
       .standard = "none on nodes with GPUs or RDMA adapters",
       .remedy = "Switch it off with swapoff -a and take it out of /etc/fstab.",
       .fixture = "v100-swap-on",
       .explained_by = {},
       .check = swap_off},
      {.id = "host.governor",
       .title = "processor runs at full clock",
       .why = "With a saving governor the clock falls between messages; "
              "latency rises and perftest warns of conflicting frequencies.",
       .source = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
       .standard = "performance, or expect.governor of cluster.yaml",
       .remedy = "Set the performance governor now and at boot.",
       .fixture = "v100-governor-powersave",
       .explained_by = {},
       .settings = {"governor/performance"},
       .check = governor},
      {.id = "host.clocksource",
       .title = "kernel trusts the processor's clock",
       .why =
           "A kernel that fell back to a chip outside the processor spends a microsecond on each time stamp; "
           "every latency grows.",
       .source = "/sys/devices/system/clocksource/clocksource0/current_clocksource",
       .standard = "not hpet, acpi_pm or jiffies on real machines",
       .remedy = "Find out in the kernel log why the counter was marked unstable.",
       .fixture = "v100-clocksource-hpet",
       .explained_by = {},
       .check = clocksource},
      {.id = "host.hugepages",
       .title = "hugepages were reserved as asked",
       .why = "Memory that was not reserved at boot may be too broken up later; "
              "registration then needs many more entries in the adapter.",
       .source = "/proc/cmdline, HugePages_Total of /proc/meminfo",
       .standard = "what hugepages= on the kernel command line asks for; not judged without it",
       .remedy = "Ask for what fits into memory at boot.",
       .fixture = "v100-hugepages-short",
       .explained_by = {},
       .check = hugepages},
      {.id = "host.hugepages-idle",
       .title = "hugepages do not take the memory",
       .why =
           "Hugepages are set aside: what no program takes of them is lost to all that do not ask for them.",
       .source = "HugePages_Total, HugePages_Free, Hugepagesize and MemTotal of /proc/meminfo",
       .standard = "at most half of the memory in free hugepages; ours",
       .remedy = "Reserve fewer.",
       .fixture = "v100-hugepages-idle",
       .explained_by = {},
       .check = hugepages_idle},
      {.id = "host.clock",
       .title = "clock is synchronised",
       .why = "Logs of several nodes can only be laid side by side when their clocks agree.",
       .source = "adjtimex: STA_UNSYNC",
       .standard = "synchronised, on nodes with GPUs or RDMA adapters",
       .remedy = "Enable chrony or systemd-timesyncd.",
       .fixture = "v100-clock-unsynchronised",
       .explained_by = {},
       .settings = {"services/time"},
       .check = clock_synchronised},
      {.id = "host.automatic-upgrades",
       .title = "node does not upgrade itself",
       .why = "An upgrade of one node's kernel drops its GPU driver or makes it unlike the others.",
       .source = "systemctl show unattended-upgrades",
       .standard = "not active on nodes with GPUs",
       .remedy = "Switch it off; upgrade all nodes together.",
       .fixture = "h100-automatic-upgrades",
       .explained_by = {},
       .settings = {"services/upgrades"},
       .check = automatic_upgrades},
      {.id = "host.memory-guard",
       .title = "a guard ends a process before memory is used up",
       .why = "Where the GPU uses the processor's memory, the kernel finds too late that it is used up.",
       .source = "/sys/fs/cgroup/system.slice",
       .standard = "earlyoom or nohang runs where configure.memory_guard of cluster.yaml asks for a guard",
       .remedy = "Install earlyoom, and start it at each boot.",
       .fixture = "spark-no-memory-guard",
       .explained_by = {},
       .settings = {"services/memory-guard"},
       .check = memory_guard},
  };
  return kRules;
}

}  // namespace railbed
