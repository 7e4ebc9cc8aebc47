// Reachability of nodes, and their agreement with cluster.yaml.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/differences.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

Remedy how_to_reach(const Unreachable& lost) {
  if (lost.by == Carrier::kSlurm)
    return {"Slurm has to have the node before it starts anything there.",
            {command("scontrol show node {}", lost.node)}};
  if (lost.by == Carrier::kKubernetes)
    return {"Kubernetes has to run the agent's pod on the node.",
            {command("kubectl describe node {}", lost.node)}};
  return {"Check that the node has power and network and that ssh reaches it.",
          {command("ssh {} true", lost.node)}};
}

void reachable(const Survey& survey, Judge& judge) {
  const Evidence& all = survey.evidence;
  for (const Unreachable& lost : all.unreachable) {
    Case verdict = judge.on_node(lost.node);
    std::string_view why = lost.error.text;
    if (why.starts_with(lost.node + ": ")) why.remove_prefix(lost.node.size() + 2);
    verdict.fail({.message = fmt::format("{} gave no facts: {}", lost.node, why),
                  .expected = "answers",
                  .observed = std::string(why),
                  .remedy = how_to_reach(lost)});
  }
  for (const Node& node : all.cluster.nodes) {
    if (std::ranges::find(all.unreachable, node.name, &Unreachable::node) != all.unreachable.end()) continue;
    Case verdict = judge.on_node(node.name);
    if (all.nodes.contains(node.name))
      verdict.pass("facts read");
    else
      verdict.unknown("no facts of this node were given");
  }
}

void os_expected(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "operating system", [](Case& verdict, const NodeView& node) {
    if (!node.expect().os) return verdict.not_applicable("cluster.yaml names no operating system");
    const Os& os = node.facts->system.os;
    const std::string* id = verdict.read(os.id);
    if (id == nullptr) return;
    const std::string* version = verdict.read(os.version);
    if (version == nullptr) return;
    const std::string have = lower(*id + " " + *version);
    const std::string want = lower(*node.expect().os);
    if (have == want || have.starts_with(want + ".") || *id == want) return verdict.pass(have);
    verdict.warn(
        {.message = fmt::format("{} runs {}, expected {}", *node.name, have, want),
         .expected = want,
         .observed = have,
         .remedy = {"Install the expected release, or correct expect.os in cluster.yaml.", {}, true, false}});
  });
}

void version_expected(Case& verdict, const Reading<std::string>& reading, const std::string& want,
                      std::string_view what, const std::string& node, Remedy remedy) {
  const std::string* have = verdict.read(reading);
  if (have == nullptr) return;
  if (version_matches(*have, want)) return verdict.pass(*have);
  verdict.warn({.message = fmt::format("{} of {} is {}, expected {}", what, node, *have, want),
                .expected = want,
                .observed = *have,
                .remedy = std::move(remedy)});
}

void kernel_expected(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "kernel", [](Case& verdict, const NodeView& node) {
    if (const auto& want = node.expect().kernel; !want)
      verdict.not_applicable("cluster.yaml names no kernel");
    else
      version_expected(
          verdict, node.facts->system.kernel.release, *want, "the kernel", *node.name,
          {"Boot the expected kernel and hold it, or correct expect.kernel in cluster.yaml.",
           for_system(node, {"apt-mark showhold"}, {"dnf list --installed kernel-core"}), true, true});
  });
}

void bios_expected(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "BIOS", [](Case& verdict, const NodeView& node) {
    if (const auto& want = node.expect().bios; !want)
      verdict.not_applicable("cluster.yaml names no BIOS version");
    else
      version_expected(verdict, node.facts->system.firmware.version, *want, "the BIOS", *node.name,
                       {"Flash the expected version, then compare the settings; "
                        "or correct expect.bios in cluster.yaml.",
                        {"dmidecode -s bios-version"},
                        true,
                        false});
  });
}

void judge_firmware(Case& verdict, const NodeView& node, const RdmaDevice& device) {
  verdict.seen(device.board_id);
  const auto want = node.expect().firmware->find(device.board_id.value_or(""));
  if (want == node.expect().firmware->end())
    return verdict.not_applicable("cluster.yaml names no firmware for its board");
  version_expected(verdict, device.firmware, want->second, "the firmware of " + device.name, *node.name,
                   {"Flash that version and reset the adapter, or correct expect.firmware in cluster.yaml.",
                    flash_with(device), true, false});
}

void adapter_firmware_expected(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    if (!node.expect().firmware) {
      judge.on(node, "adapter firmware").not_applicable("cluster.yaml names no firmware");
      continue;
    }
    for (const RdmaDevice& device : items(node.facts->rdma.devices)) {
      Case verdict = judge.on(node, device.name,
                              device.pci_address.ok() ? node.touches_of(*device.pci_address) : Things());
      judge_firmware(verdict, node, device);
    }
  }
}

void memory_expected(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "memory", [](Case& verdict, const NodeView& node) {
    if (!node.expect().memory) return verdict.not_applicable("cluster.yaml states no memory size");
    const ByteCount* total = verdict.read(node.facts->system.memory.total);
    if (total == nullptr) return;
    // The kernel and the firmware reserve a few percent.
    if (static_cast<double>(total->bytes) >= 0.95 * static_cast<double>(node.expect().memory->bytes))
      return verdict.pass(to_text(*total));
    verdict.fail(
        {.message = fmt::format("{} has {} of memory, expected {}: a module is missing or disabled",
                                *node.name, to_text(*total), to_text(*node.expect().memory)),
         .expected = to_text(*node.expect().memory),
         .observed = to_text(*total),
         .remedy = {
             "Reseat the memory modules and read the BMC's event log.", {"dmidecode -t memory"}, true}});
  });
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
       .explained_by = {"bmc.power"},
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
  };
  return kRules;
}

}  // namespace railbed
