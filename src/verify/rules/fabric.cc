// RDMA devices as programs find them, and ports compared along a rail: width, partitions, GUIDs, GID
// index, subnet managers at boot.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "model/tools.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

void width(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (!end.rdma || !end.infiniband())
      return verdict.not_applicable("not InfiniBand: the rate says nothing of lanes");
    const std::string* state = verdict.read(end.rdma.port->state);
    if (state == nullptr) return;
    if (*state == "DOWN") return verdict.not_applicable("the port has no link");
    const std::string* text = verdict.read(end.rdma.port->rate_text);
    if (text == nullptr) return;
    // A port that is split on purpose has its speed in cluster.yaml.
    const bool meant = end.rail != nullptr && end.rail->speed && end.rdma.port->rate.ok() &&
                       *end.rail->speed == *end.rdma.port->rate;
    const bool narrow = text->starts_with("1X") || text->starts_with("2X");
    if (!narrow || meant) return verdict.pass(*text);
    verdict.fail(
        {.message = fmt::format("{} uses only {} of its cable's lanes", end.rdma_where(), text->substr(0, 2)),
         .expected = "4X",
         .observed = *text,
         .remedy = {"Lanes of the cable or its connector are broken: clean and reseat it, then swap it.",
                    {command("ibstat {}", end.rdma.device->name)}}});
  });
}

bool lacks_rdma_devices(Case& verdict, const NodeView& node) {
  const auto& devices = node.facts->rdma.devices;
  const bool none = devices.ok() && devices->empty();
  if (none) verdict.not_applicable("no RDMA device");
  return none;
}

void device_permissions(const Survey& survey, Judge& judge) {
  constexpr int kForAll = 0666;
  each_node(survey, judge, "/dev/infiniband", Things{"uverbs"}, [&](Case& verdict, const NodeView& node) {
    const auto& rdma = node.facts->rdma;
    if (lacks_rdma_devices(verdict, node)) return;
    const auto* modes = verdict.read_if_there(rdma.device_modes, "permissions were not recorded");
    if (modes == nullptr) return;
    std::vector<std::string> closed;
    for (const auto& [name, mode] : *modes)
      if ((name.starts_with("uverbs") || name == "rdma_cm") && (mode & kForAll) != kForAll)
        closed.push_back(fmt::format("{} ({:04o})", name, mode));
    if (closed.empty()) return verdict.pass("open to all users");
    verdict.warn(
        {.message = fmt::format("users of {} cannot open {}: only root has RDMA", *node.name,
                                fmt::join(closed, ", ")),
         .expected = "0666",
         .observed = fmt::format("{}", fmt::join(closed, ", ")),
         .remedy = {
             "Install rdma-core, whose udev rules open them; or put the users in the nodes' group.",
             {"udevadm trigger --subsystem-match=infiniband_verbs --action=add", "ls -l /dev/infiniband"}}});
  });
}

void netns_mode(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "RDMA namespaces", [](Case& verdict, const NodeView& node) {
    const auto& rdma = node.facts->rdma;
    if (lacks_rdma_devices(verdict, node)) return;
    const bool* shared = verdict.read_if_there(rdma.shared_netns, "ib_core has no such setting here");
    if (shared == nullptr) return;
    if (*shared) return verdict.pass("shared");
    verdict.warn(
        {.message = fmt::format("RDMA devices of {} belong to one network namespace each: "
                                "containers do not see them unless each is handed over",
                                *node.name),
         .expected = "shared",
         .observed = "exclusive",
         .remedy = {
             "Share them, unless every container is given its own device; the kernel refuses while containers "
             "run.",
             {"rdma system set netns shared",
              "echo 'options ib_core netns_mode=1' > /etc/modprobe.d/ib_core.conf"}}});
  });
}

// Compares a value of the ends of each rail; one finding per rail.
template <class Value>
void compare_ends(const Survey& survey, Judge& judge, std::string_view what, std::string_view why,
                  Status status, const Remedy& remedy, const Value& value_of) {
  each_rail(survey, judge, [&](Case& verdict, const Rail& rail) {
    std::map<std::string, std::vector<std::string>> nodes;
    std::size_t count = 0;
    for (const RailEnd* end : survey.ends_of(rail)) {
      const std::optional<std::string> value = end->rdma ? value_of(*end) : std::nullopt;
      if (!value) continue;
      nodes[*value].push_back(*end->node);
      ++count;
    }
    if (count < 2) return verdict.not_applicable("fewer than two ends to compare");
    if (nodes.size() == 1) return verdict.pass(nodes.begin()->first);
    std::vector<std::string> texts;
    for (const auto& [value, members] : nodes) {
      texts.push_back(fmt::format("{} on {}{}", value, members.front(),
                                  members.size() > 1 ? fmt::format(" and {} more", members.size() - 1) : ""));
      for (const std::string& node : members) verdict.touch("node:" + node);
    }
    const std::string observed = fmt::format("{}", fmt::join(texts, ", "));
    verdict.red(status, {.message = fmt::format("{} differs on {}: {}; {}", what, rail.name, observed, why),
                         .expected = "the same at every end",
                         .observed = observed,
                         .remedy = remedy});
  });
}

void gid_index_equal(const Survey& survey, Judge& judge) {
  compare_ends(survey, judge, "the index of the RoCE v2 GID",
               "a program that is told one index finds another address, or none, on some nodes",
               Status::kWarn,
               {"Let programs choose by address family (NCCL does, unless NCCL_IB_GID_INDEX is set); "
                "to make it equal, remove stray addresses and switch the interface off and on.",
                {"rdma link show", "ls /sys/class/infiniband/*/ports/1/gids"}},
               [](const RailEnd& end) -> std::optional<std::string> {
                 if (end.infiniband() || !end.rdma.port->gids.ok()) return std::nullopt;
                 for (const Gid& gid : *end.rdma.port->gids)
                   if (is_gid_of(gid, end)) return std::to_string(gid.index);
                 return std::nullopt;
               });
}

constexpr std::uint16_t kFullMember = 0x8000;

void partition_membership(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const NodeView& node, const RailEnd& end) {
    if (!end.rdma || !end.infiniband()) return verdict.not_applicable("not InfiniBand");
    const auto* keys = verdict.read_if_there(end.rdma.port->pkeys, "partition keys were not recorded");
    if (keys == nullptr) return;
    const bool full = std::ranges::any_of(*keys, [](std::uint16_t key) { return (key & kFullMember) != 0; });
    if (full) return verdict.pass(fmt::format("{:#06x}", fmt::join(*keys, ", ")));
    const std::string observed = keys->empty() ? "in none" : fmt::format("{:#06x}", fmt::join(*keys, ", "));
    verdict.fail({.message = fmt::format(
                      "{} is a full member of no partition ({}): limited members cannot talk to each other",
                      end.rdma_where(), observed),
                  .expected = "a key of 0x8000 or more",
                  .observed = observed,
                  .remedy = {"Make its GUID a full member in the subnet manager's partitions.conf.",
                             {command("cat {}  # where opensm runs", partitions_file(node))}}});
  });
}

void partitions_equal(const Survey& survey, Judge& judge) {
  compare_ends(survey, judge, "the set of partition keys", "ports without a common partition cannot talk",
               Status::kWarn,
               {"Give all of the rail's ports the same partitions, in the subnet manager's partitions.conf."},
               [](const RailEnd& end) -> std::optional<std::string> {
                 if (!end.infiniband() || !end.rdma.port->pkeys.ok()) return std::nullopt;
                 std::set<int> bases;
                 for (const std::uint16_t key : *end.rdma.port->pkeys) bases.insert(key & ~kFullMember);
                 return fmt::format("{:#06x}", fmt::join(bases, ", "));
               });
}

bool is_zero_guid(const std::string& guid) { return guid.find_first_not_of("0:") == std::string::npos; }

struct Adapter {
  const NodeView* node;
  const RdmaDevice* device;
};

// Groups adapters by GUID. The ports of one adapter share its GUID and count once.
std::map<std::string, std::vector<Adapter>> adapters_by_guid(const Survey& survey) {
  std::map<std::string, std::vector<Adapter>> owners;
  std::map<std::string, std::set<std::string>> places;
  for (const NodeView& node : survey.nodes)
    for (const RdmaDevice& device : items(node.facts->rdma.devices)) {
      if (!device.pci_address.ok() || !device.node_guid.ok() || is_zero_guid(*device.node_guid)) continue;
      if (places[*device.node_guid].insert(*node.name + " " + *device.pci_address).second)
        owners[*device.node_guid].push_back({&node, &device});
    }
  return owners;
}

void judge_guid(Case& verdict, const std::string& guid, const std::vector<Adapter>& owners) {
  const auto& [node, device] = owners.back();
  verdict.seen(device->node_guid);
  if (owners.size() == 1) return verdict.pass(guid);
  const auto& [other, twin] = owners.front();
  for (const RdmaPort& port : items(device->ports))
    verdict.touch(fmt::format("rdma:{}/{}", device->name, port.number));
  verdict.touch("node:" + *other->name);
  verdict.fail(
      {.message = fmt::format(
           "{} of {} and {} of {} have one node GUID, {}: the subnet manager takes them for one adapter",
           device->name, *node->name, twin->name, *other->name, guid),
       .expected = "one of its own",
       .observed = guid,
       .remedy = {"Restore the GUID from the card's label; cloned firmware images carry the other's.",
                  {show_firmware_with(*device->pci_address)},
                  true,
                  false}});
}

void duplicate_guid(const Survey& survey, Judge& judge) {
  for (const auto& [guid, owners] : adapters_by_guid(survey)) {
    Case verdict = judge.on(*owners.back().node, owners.back().device->name);
    judge_guid(verdict, guid, owners);
  }
}

bool starts_at_boot(const Service* service) {
  return service != nullptr &&
         (service->unit_file_state.starts_with("enabled") || service->unit_file_state == "alias");
}

bool anyone_is_meant(const Survey& survey) {
  return std::ranges::any_of(
      survey.nodes, [](const NodeView& node) { return node.expect().subnet_manager.value_or(false); });
}

void subnet_manager_at_boot(const Survey& survey, Judge& judge) {
  const bool meant = anyone_is_meant(survey);
  each_node(survey, judge, "opensm", Things{"opensm"}, [&](Case& verdict, const NodeView& node) {
    if (std::ranges::none_of(node.ends, &RailEnd::infiniband)) return verdict.not_applicable("no InfiniBand");
    if (verdict.lacks_systemd(node)) return;
    const Service* service = find_service(node, {"opensm", "opensmd"});
    const bool enabled = starts_at_boot(service);
    const bool runs = service != nullptr && service->active_state == "active";
    const bool wanted = meant ? node.expect().subnet_manager.value_or(false) : runs;
    if (enabled == wanted) return verdict.pass(wanted ? "starts at boot" : "does not start at boot");
    if (wanted)
      verdict.fail(
          {.message =
               fmt::format("opensm {} on {} and does not start at boot: "
                           "after a power cut the fabric has no subnet manager, and every port stays in INIT",
                           runs ? "runs" : "is meant to run", *node.name),
           .expected = "enabled",
           .observed = service == nullptr ? "not installed" : service->unit_file_state,
           .remedy = {"Enable it.", {command("systemctl enable --now {}", subnet_manager_unit(node))}}});
    else
      verdict.warn({.message = fmt::format("opensm starts at boot on {}, which is not meant to run it: "
                                           "two masters fight over the fabric after a reboot",
                                           *node.name),
                    .expected = "disabled",
                    .observed = service->unit_file_state,
                    .remedy = {"Disable it here, or say expect.subnet_manager of this node.",
                               {command("systemctl disable --now {}", subnet_manager_unit(node))}}});
  });
}

}  // namespace

std::span<const Rule> fabric_rules() {
  static const Rule kRules[] = {
      {.id = "rdma.device-permissions",
       .title = "users may open RDMA devices",
       .why = "Jobs do not run as root. A device node only root can open looks like no RDMA at all to NCCL.",
       .source = "permissions of /dev/infiniband/{uverbs*,rdma_cm}",
       .standard = "0666 (rdma-core's udev rules)",
       .remedy = "Install rdma-core; trigger udev.",
       .fixture = "v100-uverbs-root-only",
       .explained_by = {"rdma.user-access"},
       .check = device_permissions},
      {.id = "rdma.netns-mode",
       .title = "containers share the RDMA devices",
       .why = "In exclusive mode a container sees a device only when it was moved into it.",
       .source = "/sys/module/ib_core/parameters/netns_mode",
       .standard = "shared (the kernel's default)",
       .remedy = "rdma system set netns shared.",
       .fixture = "v100-netns-exclusive",
       .explained_by = {},
       .check = netns_mode},
      {.id = "rdma.width",
       .title = "InfiniBand link has all its lanes",
       .why = "A link that trained with one of four lanes works, at a quarter of its speed.",
       .source = "/sys/class/infiniband/*/ports/*/rate: the text in parentheses",
       .standard = "4X, unless the rail's speed says that the port is split",
       .remedy = "Clean, reseat, swap the cable.",
       .fixture = "r730-rate-1x",
       .explained_by = {},
       .check = width},
      {.id = "rdma.gid-index-equal",
       .title = "GID has one index on every node",
       .why = "Tools that are told an index (perftest -x, NCCL_IB_GID_INDEX, MPI) use it on all nodes.",
       .source = "/sys/class/infiniband/*/ports/*/gids",
       .standard = "the rail's address has one index; NCCL chooses by family and does not mind",
       .remedy = "Let the tools choose a GID by its family.",
       .fixture = "v100-gid-index-differs",
       .explained_by = {"rdma.gid", "net.address", "rdma.gid-interface"},
       .check = gid_index_equal},
      {.id = "ib.partition",
       .title = "port is full member of a partition",
       .why = "Two limited members of a partition cannot talk to each other.",
       .source = "/sys/class/infiniband/*/ports/*/pkeys",
       .standard = "one key with its highest bit set (InfiniBand Architecture 10.9)",
       .remedy = "Correct partitions.conf of the subnet manager.",
       .fixture = "r730-partition-limited",
       .explained_by = {"rdma.port-state", "rdma.subnet-manager", "rdma.physical-state"},
       .check = partition_membership},
      {.id = "ib.partitions-equal",
       .title = "ports of a rail share their partitions",
       .why = "Connections need a common partition key.",
       .source = "/sys/class/infiniband/*/ports/*/pkeys",
       .standard = "the same set at every end",
       .remedy = "Correct partitions.conf of the subnet manager.",
       .fixture = "r730-partitions-differ",
       .explained_by = {"ib.partition", "rdma.port-state", "rdma.subnet-manager"},
       .check = partitions_equal},
      {.id = "ib.duplicate-guid",
       .title = "every adapter has its own GUID",
       .why = "The subnet manager knows adapters by GUID; two with one are routed as one.",
       .source = "/sys/class/infiniband/*/node_guid",
       .standard = "no adapter of two nodes has the same",
       .remedy = "Restore the GUID from the card's label.",
       .fixture = "r730-duplicate-guid",
       .explained_by = {},
       .check = duplicate_guid},
      {.id = "ib.subnet-manager-at-boot",
       .title = "opensm starts at boot where it should",
       .why = "A subnet manager somebody started by hand is gone after the next power cut, "
              "and with it the fabric.",
       .source = "systemctl show opensm",
       .standard =
           "on the nodes of expect.subnet_manager and no other; where nobody is named, wherever it runs",
       .remedy = "systemctl enable or disable opensm.",
       .fixture = "r730-opensm-by-hand",
       .explained_by = {},
       .settings = {"opensm/manager"},
       .of_next_boot = true,
       .check = subnet_manager_at_boot},
  };
  return kRules;
}

}  // namespace railbed
