// More properties that nodes of one kind should share: firmware, kernel settings, drives, drivers, clocks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "model/kinds.h"
#include "verify/areas.h"
#include "verify/uniform.h"

namespace railbed {
namespace {

std::string product_of(const NodeView& node) { return node.facts->system.firmware.product.value_or(""); }

void bios_uniform(const Survey& survey, Judge& judge) {
  compare_nodes(
      survey, judge,
      {.subject = "BIOS",
       .why = "settings and PCIe tuning come with it",
       .remedy = {"Bring the BMC's firmware inventory to one version, then compare the settings.",
                  {"dmidecode -s bios-version"},
                  true,
                  false}},
      product_of, [](const NodeView& node) -> std::optional<Answer> {
        const auto& firmware = node.facts->system.firmware;
        if (!firmware.version.ok()) return std::nullopt;
        return Answer{*firmware.version + " " + firmware.date.value_or(""), firmware.version.from()};
      });
}

// Returns the kernel command line without the words that are specific to one node: its name, disks, images
// and addresses.
std::string settings_of(const NodeView& node, const std::string& line) {
  const std::string hostname = node.facts->system.os.hostname.value_or("");
  std::string kept;
  for (const std::string_view word : words(line)) {
    const auto key = word.substr(0, word.find('='));
    const auto value = word.substr(std::min(key.size() + 1, word.size()));
    bool own = value == *node.name || (!value.empty() && value == hostname);
    for (const std::string_view name : {"BOOT_IMAGE", "root", "resume", "initrd", "ip", "rd.luks.uuid",
                                        "rd.lvm.lv", "rd.md.uuid", "BOOTIF", "crashkernel"})
      own = own || key == name;
    if (!own) kept += (kept.empty() ? "" : " ") + std::string(word);
  }
  return kept.empty() ? "nothing" : kept;
}

void command_line_uniform(const Survey& survey, Judge& judge) {
  compare_nodes(survey, judge,
                {.subject = "kernel command line",
                 .why = "IOMMU, power and memory settings are made there",
                 .remedy = {"Give all nodes the same line, and reboot.",
                            {"cat /proc/cmdline", "cat /etc/default/grub"},
                            true}},
                product_of, [](const NodeView& node) -> std::optional<Answer> {
                  const auto& line = node.facts->system.kernel.command_line;
                  if (!line.ok()) return std::nullopt;
                  return Answer{settings_of(node, *line), line.from()};
                });
}

void processors_uniform(const Survey& survey, Judge& judge) {
  compare_nodes(survey, judge,
                {.subject = "processors",
                 .why = "hyper-threading or cores were switched off in one node's BIOS",
                 .remedy = {"Compare the BIOS settings.", {"lscpu"}, true}},
                product_of, [](const NodeView& node) -> std::optional<Answer> {
                  const Cpu& cpu = node.facts->system.cpu;
                  if (!cpu.online.ok()) return std::nullopt;
                  return Answer{fmt::format("{} × {}", *cpu.online, cpu.model.value_or("processor")),
                                cpu.online.from()};
                });
}

void numa_uniform(const Survey& survey, Judge& judge) {
  compare_nodes(survey, judge,
                {.subject = "number of NUMA nodes",
                 .why = "NPS or sub-NUMA clustering is set otherwise in one node's BIOS",
                 .remedy = {"Compare the BIOS settings.", {"numactl --hardware"}, true}},
                product_of, [](const NodeView& node) -> std::optional<Answer> {
                  const auto& nodes = node.facts->system.cpu.numa_nodes;
                  if (nodes.empty()) return std::nullopt;
                  return Answer{std::to_string(nodes.size()), nodes.front().cpus.from()};
                });
}

void drives_uniform(const Survey& survey, Judge& judge) {
  compare_nodes(survey, judge,
                {.subject = "NVMe drives",
                 .why = "a drive is missing, or a slower one was put in",
                 .remedy = {"Look for the drive that is missing or other.", {"nvme list"}}},
                product_of, [](const NodeView& node) -> std::optional<Answer> {
                  const auto& nvme = node.facts->system.storage.nvme;
                  if (!nvme.ok() || nvme->empty()) return std::nullopt;
                  std::map<std::string, int> kinds;
                  for (const NvmeController& drive : *nvme)
                    if (!is_over_fabric(drive)) ++kinds[drive.model.value_or("unknown model")];
                  if (kinds.empty()) return std::nullopt;
                  return Answer{counted(kinds), nvme.from()};
                });
}

void rdma_driver_uniform(const Survey& survey, Judge& judge) {
  compare_nodes(survey, judge,
                {.subject = "RDMA driver",
                 .why = "NVIDIA's OFED and the kernel's own differ in settings, counters and faults",
                 .remedy = {"Install one of them everywhere.",
                            {"modinfo -F version mlx5_core", "modinfo -n mlx5_core"},
                            true}},
                [](const NodeView& node) -> std::optional<Answer> {
                  if (node.adapters().empty() || !node.facts->system.kernel.present_modules.ok())
                    return std::nullopt;
                  const auto& version = node.facts->rdma.driver_version;
                  return Answer{version.ok() ? *version : "the kernel's own", version.from()};
                });
}

// Largest clock difference, in seconds. Each clock was read over the node's connection, so its offset is only
// known within half of the round trip; a difference within that uncertainty does not count.
constexpr double kMostSkew = 1e-3;

void judge_clock(Case& verdict, const std::string& node, const ClockReading& clock,
                 const ClockReading& middle) {
  verdict.add_evidence("the best of several readings over its connection");
  const double off = std::abs(clock.offset_seconds - middle.offset_seconds);
  const double doubt = clock.uncertainty_seconds + middle.uncertainty_seconds;
  const std::string observed = fmt::format("{:.2f} ms ± {:.2f} ms", off * 1e3, doubt * 1e3);
  if (off + doubt <= kMostSkew) return verdict.pass(observed);
  if (off - doubt <= kMostSkew)
    return verdict.not_applicable("its answers took too long to tell a millisecond: " + observed);
  verdict.warn({.message = fmt::format("the clock of {} is {:.1f} ms away from the others'", node, off * 1e3),
                .expected = "at most 1 ms",
                .observed = observed,
                .remedy = {"Point all nodes at one time server and let them settle.", {"timedatectl"}}});
}

void clock_skew(const Survey& survey, Judge& judge) {
  const auto matters = [&](const std::string& name) {
    const NodeView* node = survey.find(name);
    return node != nullptr && (node->has_accelerators() || !items(node->facts->rdma.devices).empty());
  };
  std::map<std::string, ClockReading> clocks = survey.evidence.clocks;
  std::erase_if(clocks, [&](const auto& each) { return !matters(each.first); });
  if (clocks.size() < 2)
    return judge.on_cluster("clocks").not_applicable(
        "fewer than two clocks of nodes with GPUs or RDMA devices were read");
  std::vector<ClockReading> sorted;
  for (const auto& [node, clock] : clocks) sorted.push_back(clock);
  std::ranges::sort(sorted, {}, &ClockReading::offset_seconds);
  for (const auto& [node, clock] : clocks) {
    Case verdict = judge.on_node(node);
    judge_clock(verdict, node, clock, sorted[(sorted.size() - 1) / 2]);
  }
}

}  // namespace

std::span<const Rule> alike_rules() {
  static const Rule kRules[] = {
      {.id = "fleet.bios",
       .title = "nodes of one kind have one BIOS",
       .why = "PCIe, power and memory settings come and go with its version.",
       .source = "/sys/class/dmi/id/{product_name,bios_version,bios_date} of every node",
       .standard = "equal among nodes of the same product",
       .remedy = "Install one version everywhere.",
       .fixture = "h100-fleet-bios",
       .explained_by = {},
       .check = bios_uniform},
      {.id = "fleet.command-line",
       .title = "kernels start with one command line",
       .why = "IOMMU, huge pages, isolation and C-states are set there; "
              "one odd node is slow for no visible reason.",
       .source = "/proc/cmdline of every node, without root=, ip= and the like",
       .standard = "equal among nodes of the same product",
       .remedy = "Set one command line everywhere.",
       .fixture = "h100-fleet-command-line",
       .explained_by = {"pcie.iommu"},
       .check = command_line_uniform},
      {.id = "fleet.processors",
       .title = "nodes of one kind have the same processors",
       .why = "Cores or hyper-threads that are off on one node slow its data loading.",
       .source = "/proc/cpuinfo and /sys/devices/system/cpu/online of every node",
       .standard = "equal among nodes of the same product",
       .remedy = "Compare the BIOS settings.",
       .fixture = "h100-fleet-processors",
       .explained_by = {"host.processors-online"},
       .check = processors_uniform},
      {.id = "fleet.numa",
       .title = "nodes of one kind are divided alike",
       .why = "Process placement that fits four NUMA nodes a socket is wrong for one.",
       .source = "/sys/devices/system/node of every node",
       .standard = "equal among nodes of the same product",
       .remedy = "Compare NPS and sub-NUMA clustering in the BIOS.",
       .fixture = "h100-fleet-numa",
       .explained_by = {"fleet.processors"},
       .check = numa_uniform},
      {.id = "fleet.nvme",
       .title = "nodes of one kind have the same drives",
       .why = "The slowest drive feeds its GPUs last, and all others wait.",
       .source = "/sys/class/nvme/*/model of every node",
       .standard = "equal in model and number among nodes of the same product",
       .remedy = "Find the odd drive.",
       .fixture = "h100-fleet-nvme",
       .explained_by = {},
       .check = drives_uniform},
      {.id = "fleet.rdma-driver",
       .title = "nodes run one RDMA driver",
       .why = "OFED on some nodes and the kernel's own on others behave differently under load.",
       .source = "/sys/module/{mlx5_core,mlx4_core}/version of every node",
       .standard = "equal",
       .remedy = "Install one driver everywhere.",
       .fixture = "h100-fleet-rdma-driver",
       .explained_by = {"fleet.os", "fleet.kernel", "rdma.adapter-modules"},
       .check = rdma_driver_uniform},
      {.id = "fleet.clock-skew",
       .title = "clocks of the nodes agree",
       .why = "Logs and traces of several nodes can only be laid side by side when their clocks agree.",
       .source = "each node's clock, read several times over its connection; the quickest answer counts",
       .standard = "within 1 ms of the median, on nodes with GPUs or RDMA devices, software ones too; "
                   "not judged where answers took too long to tell",
       .remedy = "Give all nodes one time server.",
       .fixture = "v100-clock-skew",
       .explained_by = {"host.clock"},
       .check = clock_skew},
  };
  return kRules;
}

}  // namespace railbed
