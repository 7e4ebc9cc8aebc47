// Does the node answer, and is its operating system fit for the job.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "verify/areas.h"
#include "verify/differences.h"
#include "verify/judge.h"

namespace railbed {
namespace {

void reachable(const Survey& survey, Judge& judge) {
  const Evidence& all = survey.evidence;
  for (const auto& [name, error] : all.unreachable) {
    Case one = judge.on_node(name);
    one.fail({.message = fmt::format("{} gave no facts: {}", name, error.text),
              .expected = "answers",
              .observed = error.text,
              .remedy = {"Check that the node has power and network and that ssh reaches it.",
                         {fmt::format("ssh {} true", name)}}});
  }
  for (const Node& node : all.cluster.nodes) {
    if (std::ranges::find(all.unreachable, node.name, &Unreachable::node) != all.unreachable.end()) continue;
    Case one = judge.on_node(node.name);
    if (all.nodes.contains(node.name))
      one.pass("facts read");
    else
      one.unknown("no facts of this node were given");
  }
}

void os_expected(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "operating system");
    if (!node.expect().os) {
      one.not_applicable("cluster.yaml names no operating system");
      continue;
    }
    const Os& os = node.facts->system.os;
    const std::string* id = one.read(os.id);
    if (id == nullptr) continue;
    const std::string* version = one.read(os.version);
    if (version == nullptr) continue;
    const std::string have = lower(*id + " " + *version);
    const std::string want = lower(*node.expect().os);
    if (have == want || have.starts_with(want + ".") || *id == want) {
      one.pass(have);
      continue;
    }
    one.warn(
        {.message = fmt::format("{} runs {}, expected {}", *node.name, have, want),
         .expected = want,
         .observed = have,
         .remedy = {"Install the expected release, or correct expect.os in cluster.yaml.", {}, true, false}});
  }
}

void version_expected(Case& one, const Reading<std::string>& reading, const std::string& want,
                      std::string_view what, const std::string& node, Remedy remedy) {
  const std::string* have = one.read(reading);
  if (have == nullptr) return;
  if (version_matches(*have, want)) return one.pass(*have);
  one.warn({.message = fmt::format("{} of {} is {}, expected {}", what, node, *have, want),
            .expected = want,
            .observed = *have,
            .remedy = std::move(remedy)});
}

void kernel_expected(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "kernel");
    if (const auto& want = node.expect().kernel; !want)
      one.not_applicable("cluster.yaml names no kernel");
    else
      version_expected(one, node.facts->system.kernel.release, *want, "the kernel", *node.name,
                       {"Boot the expected kernel and hold it, or correct expect.kernel in cluster.yaml.",
                        {"apt-mark showhold || dnf versionlock list"},
                        true,
                        true});
  }
}

void bios_expected(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "BIOS");
    if (const auto& want = node.expect().bios; !want)
      one.not_applicable("cluster.yaml names no BIOS version");
    else
      version_expected(one, node.facts->system.firmware.version, *want, "the BIOS", *node.name,
                       {"Flash the expected version, then compare the settings; "
                        "or correct expect.bios in cluster.yaml.",
                        {"dmidecode -s bios-version"},
                        true,
                        false});
  }
}

void adapter_firmware_expected(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    if (!node.expect().firmware) {
      judge.on(node, "adapter firmware").not_applicable("cluster.yaml names no firmware");
      continue;
    }
    for (const RdmaDevice& device : items(node.facts->rdma.devices)) {
      const std::string board = device.board_id.value_or("");
      const auto want = node.expect().firmware->find(board);
      Case one = judge.on(node, device.name,
                          device.pci_address.ok() ? node.touches_of(*device.pci_address) : Things());
      one.seen(device.board_id);
      if (want == node.expect().firmware->end())
        one.not_applicable("cluster.yaml names no firmware for its board");
      else
        version_expected(
            one, device.firmware, want->second, "the firmware of " + device.name, *node.name,
            {"Flash that version and reset the adapter, or correct expect.firmware in cluster.yaml.",
             {"mstflint -d ADDRESS query", "mstflint -d ADDRESS -i FILE burn"},
             true,
             false});
    }
  }
}

void memory_expected(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "memory");
    if (!node.expect().memory) {
      one.not_applicable("cluster.yaml states no memory size");
      continue;
    }
    const ByteCount* total = one.read(node.facts->system.memory.total);
    if (total == nullptr) continue;
    // The kernel and the firmware keep a few percent for themselves.
    if (static_cast<double>(total->bytes) >= 0.95 * static_cast<double>(node.expect().memory->bytes)) {
      one.pass(to_text(*total));
      continue;
    }
    one.fail({.message = fmt::format("{} has {} of memory, expected {}: a module is missing or disabled",
                                     *node.name, to_text(*total), to_text(*node.expect().memory)),
              .expected = to_text(*node.expect().memory),
              .observed = to_text(*total),
              .remedy = {
                  "Reseat the memory modules and read the BMC's event log.", {"dmidecode -t memory"}, true}});
  }
}

void memory_errors(const Survey& survey, Judge& judge) {
  constexpr std::uint64_t kCorrectableLimit = 100;  // sichek's default
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "memory");
    const Memory& memory = node.facts->system.memory;
    const std::uint64_t* uncorrectable =
        one.read_if_there(memory.edac_uncorrectable, "no EDAC driver counts here");
    if (uncorrectable == nullptr) continue;
    const std::uint64_t correctable = memory.edac_correctable.value_or(0);
    if (*uncorrectable > 0) {
      one.fail({.message = fmt::format("{} counted {} uncorrectable memory errors: a module is failing",
                                       *node.name, *uncorrectable),
                .expected = "0",
                .observed = std::to_string(*uncorrectable),
                .remedy = {"Take the node out of service and replace the module that the counters name.",
                           {"grep . /sys/devices/system/edac/mc/mc*/dimm*/dimm_ue_count"},
                           true,
                           false}});
    } else if (correctable >= kCorrectableLimit) {
      one.warn({.message = fmt::format("{} corrected {} memory errors since boot: a module is wearing out",
                                       *node.name, correctable),
                .expected = fmt::format("below {}", kCorrectableLimit),
                .observed = std::to_string(correctable),
                .remedy = {"Find the module and plan its replacement.",
                           {"grep . /sys/devices/system/edac/mc/mc*/dimm*/dimm_ce_count"},
                           true,
                           false}});
    } else {
      one.pass("0 uncorrectable");
    }
  }
}

void disk_space(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const FileSystem& file_system : node.facts->system.storage.file_systems) {
      if (file_system.path == node.expect().checkpoint_path) continue;  // storage.checkpoint-space judges it
      Case one = judge.on(node, file_system.path);
      const ByteCount* size = one.read_if_there(file_system.size, "no such file system");
      if (size == nullptr) continue;
      const ByteCount* free = one.read(file_system.available);
      if (free == nullptr) continue;
      const double percent =
          size->bytes == 0 ? 100
                           : 100.0 * static_cast<double>(free->bytes) / static_cast<double>(size->bytes);
      if (percent >= 10) {
        one.pass(fmt::format("{:.0f} % free", percent));
        continue;
      }
      one.red(percent < 1 ? Status::kFail : Status::kWarn,
              {.message = fmt::format("{} of {} has {:.0f} % left ({})", file_system.path, *node.name,
                                      percent, to_text(*free)),
               .expected = "at least 10 % free",
               .observed = fmt::format("{:.1f} %", percent),
               .remedy = {"Delete or move what is no longer needed; old logs and packages first.",
                          {fmt::format("du -xh --max-depth=2 {} | sort -h | tail", file_system.path),
                           "journalctl --vacuum-size=200M"},
                          false,
                          false}});
    }
}

void swap_off(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "swap");
    if (!node.has_accelerators()) {
      one.not_applicable("no GPU and no RDMA adapter on PCI");
      continue;
    }
    const ByteCount* swap = one.read(node.facts->system.memory.swap_total);
    if (swap == nullptr) continue;
    if (swap->bytes == 0) {
      one.pass("none");
      continue;
    }
    one.warn({.message = fmt::format("{} has {} of swap: a rank that is paged out stalls every other rank",
                                     *node.name, to_text(*swap)),
              .expected = "none",
              .observed = to_text(*swap),
              .remedy = {"Turn swap off, and take it out of /etc/fstab.",
                         {"swapoff -a", "sed -i.bak '/\\sswap\\s/s/^/#/' /etc/fstab"}}});
  }
}

void governor(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "cpufreq");
    const auto* governors =
        one.read_if_there(node.facts->system.cpu.governors, "the kernel does not scale frequency here");
    if (governors == nullptr) continue;
    if (!node.expect().governor && !node.has_accelerators()) {
      one.not_applicable("no GPU and no RDMA adapter on PCI");
      continue;
    }
    const std::string want = node.expect().governor.value_or("performance");
    const auto other =
        std::ranges::find_if(*governors, [&](const auto& entry) { return entry.first != want; });
    if (other == governors->end()) {
      one.pass(want);
      continue;
    }
    one.warn(
        {.message = fmt::format("the processor of {} runs with governor {}, expected {}: "
                                "clocks drop between messages and latency rises",
                                *node.name, other->first, want),
         .expected = want,
         .observed = other->first,
         .remedy = {
             "Set the governor now, and by a boot unit for the next start.",
             {fmt::format("echo {} | tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor", want)}}});
  }
}

void clocksource(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "clocksource");
    if (!node.has_accelerators()) {
      one.not_applicable("no GPU and no RDMA adapter on PCI");
      continue;
    }
    const std::string* source = one.read(node.facts->system.cpu.clocksource);
    if (source == nullptr) continue;
    const bool slow =
        *source == "hpet" || *source == "acpi_pm" || *source == "jiffies" || *source == "refined-jiffies";
    if (!slow) {
      one.pass(*source);
      continue;
    }
    one.warn({.message = fmt::format("{} keeps time by {}: the kernel gave up the processor's own counter, "
                                     "and each time stamp now costs about a microsecond",
                                     *node.name, *source),
              .expected = "tsc",
              .observed = *source,
              .remedy = {"Read why the counter was marked unstable; update the firmware, then reboot.",
                         {"dmesg | grep -i -e tsc -e clocksource"},
                         true}});
  }
}

void hugepages(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "hugepages");
    const std::string* line = one.read(node.facts->system.kernel.command_line);
    if (line == nullptr) continue;
    std::optional<std::uint64_t> want;
    for (const std::string_view word : words(*line))
      if (word.starts_with("hugepages=")) want = parse_number<std::uint64_t>(word.substr(10));
    if (!want) {
      one.not_applicable("the kernel command line asks for none");
      continue;
    }
    const std::uint64_t* have = one.read(node.facts->system.memory.hugepages_total);
    if (have == nullptr) continue;
    if (*have >= *want) {
      one.pass(std::to_string(*have));
      continue;
    }
    one.warn({.message = fmt::format("{} got {} of the {} hugepages that its kernel command line asks for",
                                     *node.name, *have, *want),
              .expected = std::to_string(*want),
              .observed = std::to_string(*have),
              .remedy = {"Ask for fewer, or for a size that fits into the free memory at boot.",
                         {fmt::format("sysctl -w vm.nr_hugepages={}", *want)}}});
  }
}

void clock_synchronised(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "clock");
    if (!node.has_accelerators()) {
      one.not_applicable("no GPU and no RDMA adapter on PCI");
      continue;
    }
    const bool* synchronised = one.read(node.facts->system.kernel.clock_synchronised);
    if (synchronised == nullptr) continue;
    if (*synchronised) {
      one.pass("synchronised");
      continue;
    }
    one.warn({.message = fmt::format(
                  "nothing keeps the clock of {}: its logs cannot be laid beside those of other nodes, "
                  "and certificates may fail",
                  *node.name),
              .expected = "synchronised",
              .observed = "not synchronised",
              .remedy = {"Start a time service and let it settle.",
                         {"systemctl enable --now chrony || systemctl enable --now systemd-timesyncd",
                          "timedatectl"}}});
  }
}

void automatic_upgrades(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "unattended-upgrades");
    if (node.gpus().empty()) {
      one.not_applicable("no NVIDIA GPU on PCI");
      continue;
    }
    const auto* services = one.read_if_there(node.facts->system.services, "no systemd here");
    if (services == nullptr) continue;
    const auto found = std::ranges::find(*services, "unattended-upgrades", &Service::name);
    if (found == services->end() || found->active_state != "active") {
      one.pass("not active");
      continue;
    }
    one.warn({.message = fmt::format(
                  "{} upgrades itself: a new kernel at night may leave it without GPU driver in the morning",
                  *node.name),
              .expected = "not active",
              .observed = "active",
              .remedy = {"Switch it off and upgrade all nodes together.",
                         {"systemctl disable --now unattended-upgrades"}}});
  }
}

}  // namespace

std::span<const Rule> node_rules() {
  static const Rule kRules[] = {
      {.id = "node.reachable",
       .title = "node answers",
       .why = "A node that cannot be asked cannot be proven. It may be off, without network, "
              "or refuse the login; its links look dead from the other end.",
       .source = "the agent's first answer over ssh",
       .standard = "every node of cluster.yaml answers within the deadline",
       .remedy = "Check power (BMC), network and ssh, in this order.",
       .fixture = "v100-node-unreachable",
       .explained_by = {},
       .check = reachable},
      {.id = "host.os-expected",
       .title = "operating system as expected",
       .why = "Drivers, NCCL and firmware are tested per release; one odd node costs a day of searching.",
       .source = "/etc/os-release",
       .standard = "expect.os of cluster.yaml; not judged without it",
       .remedy = "Install the expected release, or correct cluster.yaml.",
       .fixture = "v100-os-unexpected",
       .explained_by = {},
       .check = os_expected},
      {.id = "host.kernel-expected",
       .title = "kernel as expected",
       .why = "The driver's modules are built for one kernel; "
              "a silent upgrade leaves a node without GPUs at its next boot.",
       .source = "/proc/sys/kernel/osrelease",
       .standard = "expect.kernel of cluster.yaml or what it begins; not judged without it",
       .remedy = "Boot that kernel and hold it.",
       .fixture = "v100-kernel-unexpected",
       .explained_by = {},
       .check = kernel_expected},
      {.id = "host.bios-expected",
       .title = "BIOS as expected",
       .why = "PCIe, NUMA and power settings come with the BIOS and go back to defaults when it is flashed.",
       .source = "/sys/class/dmi/id/bios_version",
       .standard = "expect.bios of cluster.yaml or what it begins; not judged without it",
       .remedy = "Flash that version, then compare the settings.",
       .fixture = "v100-bios-unexpected",
       .explained_by = {},
       .check = bios_expected},
      {.id = "rdma.firmware-expected",
       .title = "adapter firmware as expected",
       .why = "Old firmware has its own faults; new firmware may need a new driver.",
       .source = "/sys/class/infiniband/DEVICE/fw_ver and board_id",
       .standard =
           "expect.firmware of cluster.yaml for that board id, or what it begins; not judged without it",
       .remedy = "Flash that version and reset the adapter.",
       .fixture = "v100-firmware-unexpected",
       .explained_by = {},
       .check = adapter_firmware_expected},
      {.id = "host.memory-expected",
       .title = "memory size as expected",
       .why =
           "A memory module that the firmware disabled leaves its channel unused: less room, less bandwidth.",
       .source = "MemTotal of /proc/meminfo",
       .standard = "at least 95 % of expect.memory; not judged without it",
       .remedy = "Reseat or replace the module that the BMC's event log names.",
       .fixture = "v100-memory-short",
       .explained_by = {},
       .check = memory_expected},
      {.id = "host.memory-errors",
       .title = "no memory errors",
       .why = "An uncorrectable error kills the process that touches it; many corrected ones announce it.",
       .source = "/sys/devices/system/edac/mc/mc*/{ue,ce}_count",
       .standard = "0 uncorrectable; below 100 corrected since boot (sichek's default)",
       .remedy = "Replace the module.",
       .fixture = "v100-memory-errors",
       .explained_by = {},
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
       .remedy = "swapoff -a, and out of /etc/fstab.",
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
      {.id = "host.clock",
       .title = "clock is synchronised",
       .why = "Logs of several nodes can only be laid side by side when their clocks agree.",
       .source = "adjtimex: STA_UNSYNC",
       .standard = "synchronised, on nodes with GPUs or RDMA adapters",
       .remedy = "Enable chrony or systemd-timesyncd.",
       .fixture = "v100-clock-unsynchronised",
       .explained_by = {},
       .check = clock_synchronised},
      {.id = "host.automatic-upgrades",
       .title = "node does not upgrade itself",
       .why = "An upgrade of one node's kernel drops its GPU driver or makes it unlike the others.",
       .source = "systemctl show unattended-upgrades",
       .standard = "not active on nodes with GPUs",
       .remedy = "Disable it; upgrade all nodes together.",
       .fixture = "h100-automatic-upgrades",
       .explained_by = {},
       .check = automatic_upgrades},
  };
  return kRules;
}

}  // namespace railbed
