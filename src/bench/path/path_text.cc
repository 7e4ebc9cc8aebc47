#include "bench/path/path_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace railbed {
namespace {

std::string reach_text(const Knocked& knocked) {
  const std::string_view name = enum_names(knocked.reach)[static_cast<std::size_t>(knocked.reach)];
  return knocked.why.empty() ? std::string(name) : fmt::format("{} ({})", name, knocked.why);
}

std::string state_text(const std::optional<bool>& state, std::string_view yes, std::string_view no) {
  return std::string(!state ? "" : *state ? yes : no);
}

std::string end_line(const PathEndSeen& end) {
  if (!end.opened) return fmt::format("{}: its agent did not answer", end.node);
  const PathInterface& own = end.opened->interface;
  if (!own.there) return fmt::format("{}: no interface {}", end.node, end.interface);
  std::vector<std::string> parts{state_text(own.up, "up", "down"),
                                 state_text(own.carrier, "carrier", "no carrier"),
                                 own.mtu > 0 ? fmt::format("MTU {}", own.mtu) : ""};
  if (end.address)
    parts.push_back(
        state_text(own.has_address, "has " + end.address->to_text(), "lacks " + end.address->to_text()));
  std::erase(parts, "");
  return fmt::format("{}: {} {}", end.node, end.interface, fmt::join(parts, ", "));
}

std::string rdma_line(const PathEndSeen& end) {
  const PathRdma& rdma = *end.opened->rdma;
  if (rdma.device.empty()) return fmt::format("{}: no RDMA device", end.node);
  std::string text = fmt::format("{}: {} ({}) {}, {}", end.node, rdma.device, rdma.driver, rdma.state,
                                 rdma.node.empty() ? "no device node" : rdma.node);
  if (!rdma.node_error.empty()) text += fmt::format(" ({})", rdma.node_error);
  if (const auto& cm = end.opened->cm) {
    text += cm->node_error.empty() ? ", rdma_cm" : fmt::format(", no rdma_cm ({})", cm->node_error);
    if (!cm->roce_mode.empty()) text += ", default " + cm->roce_mode;
  }
  if (rdma.has_gid) text += *rdma.has_gid ? ", has the address's GID" : ", lacks the address's GID";
  return text;
}

std::string neighbour_text(const NeighbourAnswer& entry) {
  if (!entry.error.empty()) return entry.error;
  if (entry.state.empty()) return "none";
  return entry.mac.empty() ? entry.state : fmt::format("{} ({})", entry.mac, entry.state);
}

std::string way_line(const PathEndSeen& from, const PathEndSeen& to) {
  const PathLooked& seen = *from.looked;
  const RouteAnswer& route = seen.route;
  std::string text = fmt::format(
      "{} → {}: route {}{}; neighbour {}; ping {}; UDP {}; TCP {}; ssh {}", from.node, to.node,
      route.error.empty() ? "by " + route.interface : route.error,
      route.gateway.empty() ? "" : " through " + route.gateway, neighbour_text(seen.neighbour),
      reach_text(seen.small.ping), reach_text(seen.small.udp), reach_text(seen.tcp), reach_text(seen.ssh));
  for (const SizedKnock& knock : seen.large)
    text += fmt::format("; {} bytes: ping {}, UDP {}", knock.bytes, reach_text(knock.ping),
                        reach_text(knock.udp));
  if (seen.roce.reach != Reach::kNotAsked)
    text += fmt::format(
        "; UDP {} {}{}", kRocePort, reach_text(seen.roce),
        seen.roce.reach == Reach::kSilent ? ", which says nothing where RDMA itself has the port" : "");
  if (from.packets)
    text += fmt::format("; of {} RDMA packets sent in the run, {} received", from.packets->sent,
                        from.packets->received);
  return text;
}

}  // namespace

std::vector<std::string> path_text(const PathSeen& path) {
  std::vector<std::string> lines{end_line(path.a), end_line(path.b)};
  for (const PathEndSeen* end : {&path.a, &path.b})
    if (end->opened && end->opened->rdma) lines.push_back(rdma_line(*end));
  if (path.a.looked) lines.push_back(way_line(path.a, path.b));
  if (path.b.looked) lines.push_back(way_line(path.b, path.a));
  return lines;
}

}  // namespace railbed
