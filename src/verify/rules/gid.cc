// The GIDs that RoCE derives from addresses, and its packet size.
#include <fmt/format.h>

#include <algorithm>

#include "model/link_remedy.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Returns true after ending the case if this end is not on RoCE.
bool lacks_roce(Case& verdict, const RailEnd& end) {
  if (!end.roce()) verdict.not_applicable("not a RoCE rail");
  return !end.roce();
}

// Returns the GID table of the end's RoCE port; null after ending the case if there is none.
const std::vector<Gid>* roce_gids(Case& verdict, const RailEnd& end) {
  if (lacks_roce(verdict, end) || verdict.lacks_rdma(end)) return nullptr;
  return verdict.read(end.rdma.port->gids);
}

std::vector<ShellCommand> show_gids_with(const RailEnd& end) {
  return {command("ip address show dev {}", end.name), "rdma link show",
          command("grep . /sys/class/infiniband/{}/ports/{}/gid_attrs/types/* 2>/dev/null",
                  end.rdma.device->name, end.rdma.port->number)};
}

// Returns true if the port has a RoCE v1 GID of this address and no v2 GID.
bool speaks_v1_only(const RailEnd& end, const std::vector<Gid>& gids) {
  const auto of_address = [&](const Gid& gid) {
    return gid.gid.ok() && (end.address() == nullptr ? gid.gid->is_v4() : *gid.gid == *end.address());
  };
  return std::ranges::any_of(gids, of_address) && std::ranges::none_of(gids, is_roce_v2);
}

Remedy leave_v1(const RailEnd& end) {
  if (end.model != nullptr && !end.model->roce_v2)
    return {
        .text = fmt::format("A {} speaks RoCE v1 alone: replace it, or let every end of the rail speak v1 "
                            "(NCCL_IB_ROCE_VERSION_NUM=1) inside one Ethernet segment.",
                            end.model->name),
        .by_hand_only = true};
  Remedy remedy{.text =
                    "The adapter can speak RoCE v2 and its driver does not: update driver and firmware, "
                    "and look for a mode that somebody set.",
                .by_hand_only = true};
  if (end.model != nullptr)
    remedy.commands.push_back(command("modinfo -p {} | grep -i roce", end.model->module));
  if (end.rdma.device->pci_address.ok())
    remedy.commands.push_back(show_firmware_with(*end.rdma.device->pci_address));
  return remedy;
}

// The remedy if the interface has the address and is up: the kernel missed the event that creates a GID.
// Adding the address again raises a new event (drivers/infiniband/core/roce_gid_mgmt.c).
Remedy repeat_event(const RailEnd& end) {
  if (!may_lose_address(*end.facts, end.interface))
    return {
        .text = fmt::format("The interface has its address, the kernel missed it: take it away and give it "
                            "again where {} is configured, from the console if you came in through it.",
                            end.name),
        .commands = show_gids_with(end),
        .by_hand_only = true};
  const std::string held = held_as(*end.interface, *end.address());
  return {
      .text =
          "The interface has its address, the kernel missed it: give it again. Connections of the rail are "
          "cut for a moment, and routes that were added by hand are lost.",
      .commands = {command("ip address del {} dev {}", held, end.name),
                   command("ip address add {} dev {}", held, end.name), "rdma link show"},
      .by_hand_only = true};
}

Remedy make_gid(const RailEnd& end, const std::vector<Gid>& gids) {
  if (speaks_v1_only(end, gids)) return leave_v1(end);
  const bool is_on = end.interface != nullptr && end.interface->administratively_up.value_or(false);
  if (is_on && end.address() != nullptr && !held_as(*end.interface, *end.address()).empty())
    return repeat_event(end);
  if (end.address() != nullptr && end.interface != nullptr && end.interface->master.ok())
    return give_address(end);
  return {"The kernel makes it from the interface's address: bring the interface up and give it its address.",
          show_gids_with(end)};
}

void gid_present(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    const auto* gids = roce_gids(verdict, end);
    if (gids == nullptr) return;
    const auto wanted = [&](const Gid& gid) {
      if (end.address() != nullptr) return is_gid_of(gid, end);
      return is_roce_v2(gid) && gid.gid.ok() && gid.gid->is_v4();
    };
    const auto found = std::ranges::find_if(*gids, wanted);
    if (found != gids->end()) return verdict.pass(fmt::format("index {}", found->index));
    const std::string what = end.address() != nullptr ? end.address()->to_text() : "an IPv4 address";
    verdict.fail({.message = fmt::format("{} has no RoCE v2 GID for {}: RDMA has no source address on {}",
                                         end.rdma_where(), what, end.name),
                  .expected = fmt::format("a RoCE v2 GID for {}", what),
                  .observed = fmt::format("{} other GIDs", gids->size()),
                  .remedy = make_gid(end, *gids)});
  });
}

// An address on another interface is certainly wrong only if the rail's interface has it, too.
Remedy return_address(const RailEnd& end, const std::string& netdev) {
  const NetInterface* other = find_interface(end.facts->net, netdev);
  const bool both = end.interface != nullptr && !held_as(*end.interface, *end.address()).empty();
  const auto take =
      other == nullptr ? std::vector<ShellCommand>() : take_address_with(*other, *end.address());
  if (!both || take.empty() || !may_lose_address(*end.facts, other))
    return {fmt::format("Name {} in cluster.yaml if the rail runs over it; else move the address to {}.",
                        netdev, end.name),
            {"ip -brief address show"}};
  return {"Both have the address: remove it where it does not belong; connections through it are cut.", take};
}

void gid_interface(const Survey& survey, Judge& judge) {
  const auto has_address = [](const RailEnd& end) { return end.address() != nullptr; };
  each_end_that(survey, judge, has_address, [](Case& verdict, const RailEnd& end) {
    const auto* gids = roce_gids(verdict, end);
    if (gids == nullptr) return;
    const auto found = std::ranges::find_if(*gids, [&](const Gid& gid) { return is_gid_of(gid, end); });
    if (found == gids->end()) return verdict.not_applicable("there is no such GID");
    const std::string* netdev = verdict.read(found->netdev);
    if (netdev == nullptr) return;
    if (*netdev == end.name) return verdict.pass(*netdev);
    verdict.fail({.message = fmt::format(
                      "the GID of {} on {} belongs to {}, not to {}: RDMA leaves by the wrong interface",
                      end.address()->to_text(), *end.node, *netdev, end.name),
                  .expected = end.name,
                  .observed = *netdev,
                  .remedy = return_address(end, *netdev)});
  });
}

// Returns the largest RDMA MTU that fits into an interface MTU. The kernel first subtracts 96 bytes of
// headers (iboe_get_mtu in include/rdma/ib_addr.h).
int roce_mtu_for(int interface_mtu) {
  for (const int size : {4096, 2048, 1024, 512})
    if (interface_mtu - 96 >= size) return size;
  return 256;
}

// The port's MTU follows the interface's immediately (eth_link_query_port of mlx4, mlx5_query_port_roce,
// rxe_set_mtu).
Remedy raise_active_mtu(const RailEnd& end, int link, int asked) {
  if (roce_mtu_for(link) < roce_mtu_for(std::max(asked, 4200)))
    return {"Raise the interface's MTU; the RDMA port follows.", set_mtu_with(end, std::max(asked, 4200))};
  if (!stands_alone(end))
    return {
        "The interface's MTU is right and the port did not follow: restart the link when no job runs, "
        "from the console."};
  return {
      "The interface's MTU is right and the port did not follow: restart the link when no job runs, which "
      "cuts its connections.",
      {command("ip link set {} down && ip link set {} up", end.name, end.name)}};
}

void active_mtu(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (lacks_roce(verdict, end) || verdict.lacks_interface(end) || verdict.lacks_rdma(end)) return;
    const int* active =
        verdict.read_if_there(end.rdma.port->active_mtu, "libibverbs does not list the device");
    if (active == nullptr) return;
    const int* link = verdict.read(end.interface->mtu);
    if (link == nullptr) return;
    const int asked = end.rail != nullptr && end.rail->mtu ? *end.rail->mtu : *link;
    const int want = std::min(roce_mtu_for(asked), end.rdma.port->max_mtu.value_or(4096));
    if (*active >= want) return verdict.pass(std::to_string(*active));
    verdict.fail({.message = fmt::format("{} sends RDMA packets of {} bytes, expected {}: {} has MTU {}",
                                         end.rdma_where(), *active, want, end.name, *link),
                  .expected = std::to_string(want),
                  .observed = std::to_string(*active),
                  .remedy = raise_active_mtu(end, *link, asked)});
  });
}

}  // namespace

std::span<const Rule> gid_rules() {
  static const Rule kRules[] = {
      {.id = "rdma.gid",
       .title = "RoCE v2 GID for the rail's address",
       .why = "A GID is RoCE's source address. Without the right one connections fail at once, "
              "or NCCL takes index 0 (fe80::) and stops with error 12.",
       .source = "/sys/class/infiniband/*/ports/*/{gids,gid_attrs/types}",
       .standard = "a RoCE v2 entry that holds the rail's IPv4 address",
       .remedy = "Bring the interface up with its address; the kernel then makes the GID.",
       .fixture = "v100-gid-missing",
       .explained_by = {"net.address", "net.subnet", "net.admin-up", "rdma.rail-device", "rdma.port-state"},
       .settings = {"network/rails"},
       .check = gid_present},
      {.id = "rdma.gid-interface",
       .title = "GID belongs to the rail's interface",
       .why = "When a bridge, VLAN or sibling port holds the GID, "
              "RDMA packets leave with the wrong tag or port.",
       .source = "/sys/class/infiniband/*/ports/*/gid_attrs/ndevs",
       .standard = "the rail's interface",
       .remedy = "Remove the address where it does not belong.",
       .fixture = "v100-gid-elsewhere",
       .explained_by = {"net.duplicate-address"},
       .check = gid_interface},
      {.id = "rdma.active-mtu",
       .title = "RDMA packets are as large as they can be",
       .why = "Smaller packets mean more of them: "
              "at 1024 bytes the adapter's packet rate limits before the wire does.",
       .source = "ibv_query_port: active_mtu, max_mtu",
       .standard =
           "the largest power of two that fits the rail's MTU less 96 bytes of headers (kernel iboe_get_mtu)",
       .remedy = "Raise the interface's MTU and restart the link.",
       .fixture = "h100-active-mtu",
       .explained_by = {"net.mtu"},
       .settings = {"network/rails"},
       .check = active_mtu},
  };
  return kRules;
}

}  // namespace railbed
