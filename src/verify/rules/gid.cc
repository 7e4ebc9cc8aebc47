// The GIDs that RoCE makes of addresses, and the size of its packets.
#include <fmt/format.h>

#include <algorithm>

#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// True, and the case has ended, where this end is not on RoCE.
bool lacks_roce(Case& one, const RailEnd& end) {
  if (!end.roce()) one.not_applicable("not a RoCE rail");
  return !end.roce();
}

// Ends of which a RoCE GID can be asked, with its port's GID table; else the case has ended.
const std::vector<Gid>* roce_gids(Case& one, const RailEnd& end) {
  if (lacks_roce(one, end) || one.lacks_rdma(end)) return nullptr;
  return one.read(end.rdma.port->gids);
}

void gid_present(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& one, const RailEnd& end) {
    const auto* gids = roce_gids(one, end);
    if (gids == nullptr) return;
    const auto wanted = [&](const Gid& gid) {
      if (end.address() != nullptr) return is_gid_of(gid, end);
      return is_roce_v2(gid) && gid.gid.ok() && gid.gid->is_v4();
    };
    const auto found = std::ranges::find_if(*gids, wanted);
    if (found != gids->end()) return one.pass(fmt::format("index {}", found->index));
    const std::string what = end.address() != nullptr ? end.address()->to_text() : "an IPv4 address";
    one.fail(
        {.message = fmt::format("{} has no RoCE v2 GID for {}: RDMA has no source address on {}",
                                end.rdma_where(), what, end.name),
         .expected = fmt::format("a RoCE v2 GID for {}", what),
         .observed = fmt::format("{} other GIDs", gids->size()),
         .remedy = {"The kernel makes it from the interface's address: "
                    "bring the interface up and give it its address.",
                    {fmt::format("ip address show dev {}", end.name), "rdma link show",
                     fmt::format("grep . /sys/class/infiniband/{}/ports/{}/gid_attrs/types/* 2>/dev/null",
                                 end.rdma.device->name, end.rdma.port->number)}}});
  });
}

void gid_interface(const Survey& survey, Judge& judge) {
  const auto has_address = [](const RailEnd& end) { return end.address() != nullptr; };
  each_end_that(survey, judge, has_address, [](Case& one, const RailEnd& end) {
    const auto* gids = roce_gids(one, end);
    if (gids == nullptr) return;
    const auto found = std::ranges::find_if(*gids, [&](const Gid& gid) { return is_gid_of(gid, end); });
    if (found == gids->end()) return one.not_applicable("there is no such GID");
    const std::string* netdev = one.read(found->netdev);
    if (netdev == nullptr) return;
    if (*netdev == end.name) return one.pass(*netdev);
    one.fail({.message = fmt::format(
                  "the GID of {} on {} belongs to {}, not to {}: RDMA leaves by the wrong interface",
                  end.address()->to_text(), *end.node, *netdev, end.name),
              .expected = end.name,
              .observed = *netdev,
              .remedy = {"Remove the address where it does not belong.",
                         {fmt::format("ip address del {} dev {}", end.address_text(), *netdev)}}});
  });
}

// The largest RDMA MTU that fits into an interface MTU: the kernel takes 96 bytes of headers off first
// (iboe_get_mtu in include/rdma/ib_addr.h).
int roce_mtu_for(int interface_mtu) {
  for (const int size : {4096, 2048, 1024, 512})
    if (interface_mtu - 96 >= size) return size;
  return 256;
}

void active_mtu(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& one, const RailEnd& end) {
    if (lacks_roce(one, end) || one.lacks_interface(end) || one.lacks_rdma(end)) return;
    const int* active = one.read_if_there(end.rdma.port->active_mtu, "libibverbs does not list the device");
    if (active == nullptr) return;
    const int* link = one.read(end.interface->mtu);
    if (link == nullptr) return;
    const int asked = end.rail != nullptr && end.rail->mtu ? *end.rail->mtu : *link;
    const int want = std::min(roce_mtu_for(asked), end.rdma.port->max_mtu.value_or(4096));
    if (*active >= want) return one.pass(std::to_string(*active));
    one.fail({.message = fmt::format("{} sends RDMA packets of {} bytes, expected {}: {} has MTU {}",
                                     end.rdma_where(), *active, want, end.name, *link),
              .expected = std::to_string(want),
              .observed = std::to_string(*active),
              .remedy = {"Raise the interface's MTU; the RDMA port follows when the link restarts.",
                         {fmt::format("ip link set {} mtu {}", end.name, std::max(asked, 4200)),
                          fmt::format("ip link set {0} down && ip link set {0} up", end.name)}}});
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
       .check = active_mtu},
  };
  return kRules;
}

}  // namespace railbed
