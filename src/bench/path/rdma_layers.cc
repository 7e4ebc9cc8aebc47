// The rows that judge only RDMA. They are read after the rows of the path.
#include <fmt/format.h>

#include "base/shell.h"
#include "bench/path/path_layers.h"

namespace railbed {
namespace {

using RdmaFault = std::optional<PathFault>;

const PathRdma& device_of(const PathEndSeen& end) { return *end.opened->rdma; }

// An adapter takes the packets of RDMA before any firewall of the node; software RDMA gets them from the
// kernel's IP stack, behind the firewall.
RdmaFault no_udp(const PathEndSeen& self, const PathEndSeen& peer) {
  const PathLooked& looked = *self.looked;
  const bool other_answered =
      looked.small.ping.reach == Reach::kAnswered || looked.tcp.reach == Reach::kAnswered;
  if (looked.small.udp.reach == Reach::kAnswered || !other_answered || arrives(self, peer))
    return std::nullopt;
  return PathFault{
      peer.node,
      fmt::format("a firewall, or a filter before it, drops UDP of {} on {}, by which software RDMA comes",
                  self.node, peer.interface),
      fmt::format("let UDP port {} of the rail's subnet in on {}: nft list ruleset, or iptables -S INPUT, "
                  "shows the rules",
                  kRocePort, peer.interface)};
}

RdmaFault roce_refused(const PathEndSeen& self, const PathEndSeen& peer) {
  if (self.looked->roce.reach != Reach::kRefused || device_of(peer).driver != "rxe") return std::nullopt;
  return PathFault{
      peer.node,
      fmt::format("UDP port {}, where {} should listen, refuses what {} sends", kRocePort,
                  device_of(peer).device, self.node),
      fmt::format("look for a firewall that rejects it (nft list ruleset), then at `ss -lun sport = {}` and "
                  "`rdma link`",
                  kRocePort)};
}

// Ping and other UDP pass, but not one packet of RoCE: so a filter matches the port of RoCE. Drivers count in
// their own ways, and some do not count at all. A count of zero received packets is reliable only if the same
// driver counted the sent ones.
RdmaFault roce_dropped(const PathEndSeen& self, const PathEndSeen& peer) {
  if (!self.packets || self.packets->sent == 0 || self.packets->received > 0) return std::nullopt;
  if (!peer.opened->rdma || !self.opened->rdma || device_of(self).driver != device_of(peer).driver ||
      !arrives(self, peer))
    return std::nullopt;
  const bool software = device_of(peer).is_software();
  return PathFault{
      software ? peer.node : "",
      fmt::format(
          "no RoCE packet of {} (UDP port {}) reaches {}, and its other packets do: a filter for that "
          "port, on the node or before it, drops them",
          self.node, kRocePort, device_of(peer).device),
      software
          ? fmt::format("let UDP port {} in on {}: nft list ruleset, iptables -S INPUT and tc filter show "
                        "dev {} ingress show what may drop it; then look at filters before the node",
                        kRocePort, peer.interface, peer.interface)
          : fmt::format("look for an access list on the switches that drops UDP port {}, and whether they "
                        "carry the priority that RoCE is sent with",
                        kRocePort)};
}

RdmaFault no_device(const PathEndSeen& self, const PathEndSeen&) {
  if (!device_of(self).device.empty()) return std::nullopt;
  return PathFault{self.node, fmt::format("no RDMA device belongs to {}", self.interface),
                   "see `rdma link`; `railbed verify` says which driver is missing"};
}

RdmaFault no_node(const PathEndSeen& self, const PathEndSeen&) {
  const PathRdma& rdma = device_of(self);
  if (rdma.device.empty()) return std::nullopt;
  if (rdma.node.empty())
    return PathFault{self.node,
                     fmt::format("{} has no device node, so that no program can use it", rdma.device),
                     "modprobe ib_uverbs"};
  if (rdma.node_error.empty()) return std::nullopt;
  return PathFault{self.node,
                   fmt::format("/dev/infiniband/{}, by which programs reach {}, cannot be opened: {}",
                               rdma.node, rdma.device, rdma.node_error),
                   command("ls -l /dev/infiniband/{}", rdma.node).text() +
                       ": it must be there and be for all to read and write"};
}

RdmaFault no_provider(const PathEndSeen& self, const PathEndSeen&) {
  const PathRdma& rdma = device_of(self);
  if (rdma.verbs_error.empty()) return std::nullopt;
  return PathFault{
      self.node, fmt::format("libibverbs cannot use {}: {}", rdma.device, rdma.verbs_error),
      "install the device's provider: ibverbs-providers on Debian and Ubuntu, libibverbs on RHEL; "
      "`ibv_devices` must list it"};
}

RdmaFault port_not_active(const PathEndSeen& self, const PathEndSeen&) {
  const PathRdma& rdma = device_of(self);
  if (rdma.device.empty() || rdma.state.empty() || rdma.state == "ACTIVE") return std::nullopt;
  return PathFault{self.node, fmt::format("the port of {} is {}", rdma.device, rdma.state),
                   rdma.link_layer == "InfiniBand" ? "see that a subnet manager runs (sminfo), and `ibstat`"
                                                   : "see `rdma link` and the link of its interface"};
}

RdmaFault no_gid(const PathEndSeen& self, const PathEndSeen&) {
  const PathRdma& rdma = device_of(self);
  if (rdma.device.empty() || rdma.link_layer != "Ethernet" || rdma.has_gid.value_or(true) || !self.address)
    return std::nullopt;
  return PathFault{
      self.node, fmt::format("{} has no GID of {}", rdma.device, self.address->to_text()),
      fmt::format("the kernel makes it of an address of its interface: ip address show dev {}; rdma link",
                  self.interface)};
}

RdmaFault no_cm_node(const PathEndSeen& self, const PathEndSeen&) {
  const auto& cm = self.opened->cm;
  if (!cm || cm->node_error.empty()) return std::nullopt;
  if (!cm->module.value_or(true))
    return PathFault{
        self.node,
        "rdma_ucm is not loaded: there is no /dev/infiniband/rdma_cm, by which programs use RDMA-CM",
        "modprobe rdma_ucm: the kernel loads it for a program that wants it, unless a file of "
        "modprobe.d forbids that or the module is not installed"};
  return PathFault{self.node,
                   fmt::format("/dev/infiniband/rdma_cm, by which programs use RDMA-CM, cannot be opened: {}",
                               cm->node_error),
                   "ls -l /dev/infiniband/rdma_cm: it must be there and be for all to read and write"};
}

// RoCE v1 is an Ethernet frame without an IP header, so that no router passes it on (InfiniBand Architecture,
// annexes A16 and A17).
RdmaFault v1_behind_router(const PathEndSeen& self, const PathEndSeen&) {
  const auto& cm = self.opened->cm;
  if (!cm || !cm->roce_mode.ends_with("v1") || !self.looked || self.looked->route.gateway.empty())
    return std::nullopt;
  return PathFault{
      self.node,
      fmt::format("RDMA-CM of {} connects by RoCE v1 (default_roce_mode), which no router passes on, and "
                  "the route is through {}",
                  device_of(self).device, self.looked->route.gateway),
      command("cma_roce_mode -d {} -p 1 -m 2", device_of(self).device).text() +
          "; or write \"RoCE v2\" to default_roce_mode in the device's folder of configfs, rdma_cm"};
}

}  // namespace

std::span<const PathRow> rdma_rows() {
  static const PathRow kRows[] = {
      {PathLayer::kUdp, PathNeeds::kFiltered, no_udp},
      {PathLayer::kUdp, PathNeeds::kFiltered, roce_refused},
      {PathLayer::kUdp, PathNeeds::kPackets, roce_dropped},
      {PathLayer::kRdmaDevice, PathNeeds::kRdma, no_device},
      {PathLayer::kRdmaDevice, PathNeeds::kRdma, no_node},
      {PathLayer::kRdmaDevice, PathNeeds::kRdma, no_provider},
      {PathLayer::kRdmaDevice, PathNeeds::kRdma, port_not_active},
      {PathLayer::kGid, PathNeeds::kRdma, no_gid},
      {PathLayer::kRdmaCm, PathNeeds::kRdma, no_cm_node},
      {PathLayer::kRdmaCm, PathNeeds::kRdma, v1_behind_router},
  };
  return kRows;
}

}  // namespace railbed
