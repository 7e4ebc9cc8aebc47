// Nodes compared with each other: values that should be equal, and the nodes that differ.
#include <algorithm>
#include <map>

#include "model/kinds.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/nccl_topics.h"
#include "verify/uniform.h"

namespace railbed {
namespace {

std::string os_of(const NodeView& node) {
  const Os& os = node.facts->system.os;
  return os.id.value_or("?") + " " + os.version.value_or("?");
}

// Limits the comparison to nodes with the same expectation, if several values satisfy it ("570" is satisfied
// by every 570.x). Returns nullopt for a node whose expectation gives the full value, or that does not
// satisfy it: another rule judges that.
std::optional<Answer> answer_within(const std::optional<std::string>& expected,
                                    std::optional<Answer> answer) {
  if (!answer || !expected) return answer;
  return answer->value.starts_with(*expected + ".") ? answer : std::nullopt;
}

// A node with an expectation of its own is judged by that expectation, here and below.
void os_uniform(const Survey& survey, Judge& judge) {
  compare_nodes(
      survey, judge,
      {.subject = "operating system",
       .why = "drivers and libraries come in other versions",
       .remedy = {"Install one release everywhere, or state each node's in cluster.yaml (expect.os)."}},
      [](const NodeView& node) -> std::optional<Answer> {
        const auto& id = node.facts->system.os.id;
        if (!id.ok() || node.expect().os) return std::nullopt;
        return Answer{os_of(node), id.from()};
      });
}

// Distributions name kernels by architecture, and some have separate kernels for one: a PC's differs from a
// DGX Spark's.
std::string kernel_kind(const NodeView& node) {
  const auto& architecture = node.facts->system.os.architecture;
  return os_of(node) + (architecture.ok() ? " " + *architecture : "");
}

void kernel_uniform(const Survey& survey, Judge& judge) {
  compare_nodes(survey, judge,
                {.subject = "kernel",
                 .why = "drivers are built per kernel",
                 .remedy = {"Install the same kernel and reboot.", {"uname -r"}, true}},
                kernel_kind,
                [](const NodeView& node) { return answer_of(node.facts->system.kernel.release); });
}

void driver_uniform(const Survey& survey, Judge& judge) {
  compare_nodes(
      survey, judge,
      {.subject = "NVIDIA driver",
       .why = "NCCL and CUDA must agree across nodes",
       .remedy = {"Install one version everywhere and reboot.", {}, true},
       .touches_gpus = true},
      [](const NodeView& node) { return node.expect().driver.value_or(""); },
      [](const NodeView& node) {
        return answer_within(node.expect().driver, answer_of(node.facts->gpus.driver_version));
      });
}

void nccl_uniform(const Survey& survey, Judge& judge) {
  compare_nodes(
      survey, judge,
      {.subject = "NCCL library",
       .why = "ranks of different versions refuse each other, or choose differently and hang",
       .status = Status::kFail,
       .remedy = {"Install one version everywhere and hold it."},
       .touches_nccl = true},
      [](const NodeView& node) { return node.expect().nccl.value_or(""); },
      [](const NodeView& node) -> std::optional<Answer> {
        const auto& library = node.facts->nccl.library;
        if (!library.ok()) return std::nullopt;
        return answer_within(node.expect().nccl, Answer{library->version, library->path});
      });
}

// Variables that may differ from node to node, because they name devices.
bool names_devices(std::string_view name) {
  constexpr std::string_view kNames[] = {"NCCL_IB_HCA",    "NCCL_SOCKET_IFNAME",  "NCCL_HOSTID",
                                         "NCCL_TOPO_FILE", "NCCL_OOB_NET_IFNAME", "CUDA_VISIBLE_DEVICES",
                                         "UCX_NET_DEVICES"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

void nccl_variables_uniform(const Survey& survey, Judge& judge) {
  std::vector<std::map<std::string_view, const NcclVariable*>> nodes;
  std::map<std::string_view, std::size_t> names;
  for (const NodeView& node : survey.nodes) {
    auto& own = nodes.emplace_back();
    for (const NcclVariable* variable : by_precedence(node.facts->nccl)) {
      // The environment belongs to the user who runs railbed, not to the node.
      if (variable->from == "environment" || names_devices(variable->name)) continue;
      if (own.emplace(variable->name, variable).second) ++names[variable->name];
    }
  }
  Grouped groups;
  for (const auto& [name, count] : names)
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto found = nodes[i].find(name);
      const bool set = found != nodes[i].end();
      groups[std::string(name)].push_back({&survey.nodes[i], set ? found->second->value : "unset",
                                           set ? found->second->from : "/etc/nccl.conf, /etc/profile.d"});
    }
  compare_groups(judge, groups,
                 {.subject = "NCCL variable",
                  .why = "ranks must agree: they hang, or the slowest choice holds for all",
                  .remedy = {"Give every node the same /etc/nccl.conf."},
                  .touches_nccl = true});
}

void gpus_uniform(const Survey& survey, Judge& judge) {
  compare_nodes(survey, judge,
                {.subject = "number of GPUs",
                 .why = "a node that lost one holds up the job",
                 .status = Status::kFail,
                 .remedy = {"Reseat the card, or state each node's number in cluster.yaml (expect.gpus)."},
                 .touches_gpus = true},
                [](const NodeView& node) -> std::optional<Answer> {
                  if (!node.facts->pci.ok() || node.expect().gpus) return std::nullopt;
                  return Answer{std::to_string(node.gpus().size()), node.facts->pci.from()};
                });
}

void firmware_uniform(const Survey& survey, Judge& judge) {
  Grouped groups;
  for (const NodeView& node : survey.nodes) {
    std::map<std::string, std::size_t> voted;  // one vote for each board and version of a node
    for (const RdmaDevice& device : items(node.facts->rdma.devices)) {
      if (!device.board_id.ok() || !device.firmware.ok() || device.firmware->empty()) continue;
      std::vector<Vote>& votes = groups[*device.board_id];
      const auto [place, fresh] = voted.try_emplace(*device.board_id + *device.firmware, votes.size());
      if (fresh)
        votes.push_back({&node, *device.firmware, device.firmware.from(), flash_with(device), device.name});
      else
        votes[place->second].thing += ", " + device.name;
    }
  }
  compare_groups(judge, groups,
                 {.subject = "adapter firmware",
                  .why = "old firmware has its own faults and settings",
                  .remedy = {"Flash the same version and reset the adapter.", {}, true, false}});
}

void adapters_uniform(const Survey& survey, Judge& judge) {
  compare_nodes(survey, judge,
                {.subject = "RDMA adapters",
                 .why = "rails need an equal port on every node",
                 .remedy = {"Look for the card that is missing or unseated.", {"lspci -nn -d 15b3:"}}},
                [](const NodeView& node) -> std::optional<Answer> {
                  if (!node.facts->pci.ok()) return std::nullopt;
                  return Answer{adapters_text(node), node.facts->pci.from()};
                });
}

void memory_uniform(const Survey& survey, Judge& judge) {
  MemorySizes sizes;
  compare_nodes(
      survey, judge,
      {.subject = "memory",
       .why = "a module is missing, or cluster.yaml should state each node's",
       .remedy = {"Compare the modules with the other nodes'.", {"dmidecode -t memory | grep Size"}, true}},
      [&](const NodeView& node) -> std::optional<Answer> {
        const auto& total = node.facts->system.memory.total;
        if (!total.ok() || node.expect().memory) return std::nullopt;
        return Answer{sizes.text(*total), total.from()};
      });
}

}  // namespace

std::span<const Rule> fleet_rules() {
  static const Rule kRules[] = {
      {.id = "fleet.os",
       .title = "nodes run one operating system",
       .why = "The same job meets other drivers and libraries on the odd node.",
       .source = "/etc/os-release of every node",
       .standard = "equal, or each node's own expect.os in cluster.yaml",
       .remedy = "Install one release everywhere.",
       .fixture = "v100-fleet-os",
       .explained_by = {},
       .check = os_uniform},
      {.id = "fleet.kernel",
       .title = "nodes run one kernel",
       .why = "An unattended upgrade on one node changes its RDMA stack and may drop the GPU driver.",
       .source = "/proc/sys/kernel/osrelease of every node",
       .standard = "equal among nodes of the same operating system and architecture",
       .remedy = "Install the same kernel, reboot.",
       .fixture = "r730-fleet-kernel",
       .explained_by = {"fleet.os"},
       .check = kernel_uniform},
      {.id = "fleet.driver",
       .title = "nodes run one NVIDIA driver",
       .why = "CUDA and NCCL features are agreed between nodes; the oldest driver decides, or the job fails.",
       .source = "/proc/driver/nvidia/version of every node",
       .standard = "equal, or expect.driver in cluster.yaml",
       .remedy = "Install one version everywhere.",
       .fixture = "r730-fleet-driver",
       .explained_by = {"fleet.os"},
       .check = driver_uniform},
      {.id = "fleet.nccl",
       .title = "nodes have one NCCL library",
       .why = "Ranks of different NCCL versions refuse each other at the first contact.",
       .source = "libnccl.so.2 of every node",
       .standard = "equal, or expect.nccl in cluster.yaml",
       .remedy = "Install one version everywhere.",
       .fixture = "r730-fleet-nccl",
       .explained_by = {"fleet.os"},
       .check = nccl_uniform},
      {.id = "fleet.nccl-variables",
       .title = "nodes give NCCL the same variables",
       .why = "A level, a traffic class or a protocol set on one node alone makes ranks choose differently.",
       .source = "/etc/nccl.conf, ~/.nccl.conf, /etc/profile.d, /etc/environment of every node",
       .standard = "equal, but for those that name devices",
       .remedy = "Install the same /etc/nccl.conf everywhere.",
       .fixture = "h100-fleet-nccl-variables",
       .explained_by =
           {"nccl.rdma-on",        "nccl.net-forced",       "nccl.gid-index",        "nccl.gid-entry",
            "nccl.gid-range",      "nccl.gdr-level",        "nccl.gdr-reachable",    "nccl.retry-count",
            "nccl.timeout",        "nccl.traffic-class",    "nccl.ecn-bits",         "nccl.value",
            "nccl.known-variable", "nccl.removed-variable", "nccl.variable-version", "nccl.file-syntax",
            "nccl.set-once",       "nccl.contexts",         "nccl.conf-file",        "nccl.debug",
            "nccl.paths-on",       "nccl.algorithm-free",   "nccl.cross-rails",      "nccl.gid-choice"},
       .check = nccl_variables_uniform},
      {.id = "fleet.gpus",
       .title = "nodes have equally many GPUs",
       .why = "Launchers start one rank a GPU; a node that lost one ends the job before it begins.",
       .source = "/sys/bus/pci/devices of every node",
       .standard = "equal, or each node's own expect.gpus in cluster.yaml",
       .remedy = "Find the lost GPU.",
       .fixture = "r730-fleet-gpus",
       .explained_by = {},
       .check = gpus_uniform},
      {.id = "fleet.firmware",
       .title = "adapters of one kind have one firmware",
       .why =
           "Settings and faults differ by version: one node then behaves differently from the others under load.",
       .source = "/sys/class/infiniband/*/{fw_ver,board_id} of every node",
       .standard = "equal among boards of the same id",
       .remedy = "Flash the same version.",
       .fixture = "r730-fleet-firmware",
       .explained_by = {},
       .check = firmware_uniform},
      {.id = "fleet.adapters",
       .title = "nodes have the same RDMA adapters",
       .why = "A rail is as fast as its slowest end.",
       .source = "/sys/bus/pci/devices of every node",
       .standard = "equal in kind and number",
       .remedy = "Find the missing card.",
       .fixture = "r730-fleet-adapters",
       .explained_by = {},
       .check = adapters_uniform},
      {.id = "fleet.memory",
       .title = "nodes have the same memory",
       .why = "Data loaders sized for one node are killed on the smaller one.",
       .source = "MemTotal of /proc/meminfo of every node",
       .standard = "within 5 %, or each node's own expect.memory in cluster.yaml",
       .remedy = "Find the missing module.",
       .fixture = "v100-fleet-memory",
       .explained_by = {"host.memory-expected"},
       .check = memory_uniform},
  };
  return kRules;
}

}  // namespace railbed
