// OpenSM on the nodes that cluster.yaml selects for it: the ports that it serves, its priority relative to a
// second one, and the size of IPoIB's multicast group.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/tools.h"
#include "settings/files.h"
#include "settings/network/ipoib.h"
#include "settings/render.h"

namespace railbed {
namespace {

// Red Hat builds OpenSM with /etc/rdma as its folder; NVIDIA's OFED and Debian use /etc/opensm.
bool is_red_hats(const Target& target) {
  return target.platform.family == OsFamily::kRhel && !has_vendor_driver(target.view);
}

std::string opensm_folder(const Target& target) { return is_red_hats(target) ? "/etc/rdma" : "/etc/opensm"; }

bool is_wanted_on(const Node& node) { return node.expect.subnet_manager.value_or(false); }

// 15 is the highest priority, 0 the default (opensm(8), -p). The first node of cluster.yaml that runs OpenSM
// gets 14, the next 13: the master does not change by chance, and a standby needs no change here.
int priority_of_manager(const Target& target) {
  int before = 0;
  for (const Node& node : target.cluster().nodes) {
    if (node.name == target.node().name) break;
    before += is_wanted_on(node) ? 1 : 0;
  }
  return std::max(1, 14 - before);
}

// The GUID of a port is the second half of its first GID.
std::optional<std::string> port_guid(const RailEnd& end) {
  if (!end.rdma) return std::nullopt;
  for (const Gid& gid : items(end.rdma.port->gids)) {
    if (gid.index != 0 || !gid.gid.ok()) continue;
    std::uint64_t guid = 0;
    for (std::size_t i = 8; i < 16; ++i) guid = guid << 8 | gid.gid->bytes()[i];
    return fmt::format("{:#018x}", guid);
  }
  return std::nullopt;
}

// Returns an empty list if any GUID is unknown.
std::vector<std::string> guids_of_rails(const Target& target) {
  std::vector<std::string> guids;
  for (const RailEnd& end : target.view.ends) {
    if (!end.infiniband()) continue;
    auto guid = port_guid(end);
    if (!guid) return {};
    guids.push_back(*std::move(guid));
  }
  return guids;
}

// The file that selects the ports: Debian's unit serves all ports, Red Hat's the first one. NVIDIA's opensmd
// has no such file.
std::optional<DesiredFile> ports_file(const Target& target) {
  const auto guids = guids_of_rails(target);
  if (guids.empty() || subnet_manager_unit(target.view) == "opensmd") return std::nullopt;
  const bool debian = target.platform.family == OsFamily::kDebian;
  return DesiredFile{.path = debian ? "/etc/default/opensm" : "/etc/sysconfig/opensm",
                     .content = fmt::format("{}=\"{}\"\n", debian ? "PORTS" : "GUIDS", fmt::join(guids, " ")),
                     .block = true};
}

Need manages(const Target& target, const std::string& unit) {
  Need need{.what = "OpenSM runs, and starts at boot"};
  if (!target.looked() || !target.facts().system.services.ok()) return need;
  const Service* service = find_service(target.view, {unit});
  need.now = service != nullptr && service->active_state == "active";
  need.at_boot = is_enabled_unit(target.view, unit);
  if (!*need.now)
    need.found = "it does not run";
  else if (!*need.at_boot)
    need.found = "it does not start at boot";
  return need;
}

void add_manager(const Target& target, const std::string& unit, std::vector<Setting>& settings) {
  const int priority = priority_of_manager(target);
  Setting setting{
      .section = Section::kOpensm,
      .name = "opensm/manager",
      .title = fmt::format("OpenSM, priority {}", priority),
      .reason =
          "InfiniBand has no addresses and no routes until a subnet manager gives them, and an unmanaged "
          "switch brings none",
      .risk = Risk::kService,
      .needs = {manages(target, unit)},
      // If a key occurs twice, the last one counts.
      .files = {{.path = opensm_folder(target) + "/opensm.conf",
                 .content = fmt::format("sm_priority {}\n", priority),
                 .block = true}}};
  if (auto ports = ports_file(target)) setting.files.push_back(*std::move(ports));
  if (!is_loaded_unit(target.view, unit)) setting.steps.push_back({StepKind::kInstallPackages, {"opensm"}});
  setting.steps.push_back({StepKind::kEnableUnit, {unit + ".service"}});
  setting.steps.push_back({StepKind::kRestartUnit, {unit + ".service"}});
  settings.push_back(std::move(setting));
}

bool wants_large_group(const RailEnd& end, const Cluster& cluster) {
  const auto wish = ipoib_of(end, cluster);
  return wish && wish->mode == "datagram" && wish->mtu.value_or(0) > kGroupMtu;
}

// The kernel never gives a datagram interface more than its multicast group has (ipoib_change_mtu,
// drivers/infiniband/ulp/ipoib/ipoib_main.c), so a larger MTU proves the group's size. A smaller one proves
// nothing.
Need carries_large_group(const Target& target, const std::string& unit) {
  Need need{.what = "IPoIB's multicast group carries datagrams of 4092 bytes"};
  for (const RailEnd& end : target.view.ends) {
    if (!wants_large_group(end, target.cluster()) || end.interface == nullptr) continue;
    if (end.interface->ipoib_mode.value_or("") != "datagram" || end.interface->mtu.value_or(0) <= kGroupMtu)
      return need;
    need.now = true;
  }
  if (need.now == true && manages(target, unit).at_boot == true) need.at_boot = true;
  return need;
}

// mtu=5 is 4096 bytes (opensm(8), "PARTITION CONFIGURATION"). No rate is given: the group would exclude
// slower ports.
constexpr std::string_view kLargePartition = "Default=0x7fff, ipoib, mtu=5 : ALL=full;\n";

void add_partition(const Target& target, const std::string& unit, std::vector<Setting>& settings) {
  if (std::ranges::none_of(target.view.ends,
                           [&](const RailEnd& end) { return wants_large_group(end, target.cluster()); }))
    return;
  std::vector<std::string> rails;
  for (const RailEnd& end : target.view.ends)
    if (wants_large_group(end, target.cluster())) rails.push_back("rail:" + end.rail->name);
  settings.push_back(
      {.section = Section::kOpensm,
       .name = "opensm/partition",
       .subjects = std::move(rails),
       .title = "OpenSM's partition for an IPoIB MTU of 4092",
       .reason = "the multicast group of the partition limits IPoIB to 2044, whatever the interface is told",
       .risk = Risk::kService,
       .needs = {carries_large_group(target, unit)},
       .files = {{.path = opensm_folder(target) + "/partitions.conf",
                  .content = std::string(kFileMark) + std::string(kLargePartition)}},
       .steps = {{StepKind::kRestartUnit, {unit + ".service"}}},
       .notes = {"Ports whose link has an MTU of 2048 cannot join such a group.",
                 "IPoIB has to start anew on every node after it, which cuts its connections."}});
}

}  // namespace

void render_opensm(const Target& target, std::vector<Setting>& settings) {
  if (!is_wanted_on(target.node()) || std::ranges::none_of(target.view.ends, &RailEnd::infiniband)) return;
  const std::string unit = subnet_manager_unit(target.view);
  add_manager(target, unit, settings);
  add_partition(target, unit, settings);
}

}  // namespace railbed
