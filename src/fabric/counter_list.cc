// The form, by example (rdma-core, infiniband-diags/ibqueryerrors.c); releases before 1.6 print the GUID of every node:
//
//   Errors for "node01 mlx5_0"
//      GUID 0x506b4b0300c3a1b2 port 1: [SymbolErrorCounter == 65535] [PortXmitWait == 4294967295]
//   Errors for 0x2c903006e29b0 "leaf1"
//      GUID 0x2c903006e29b0 port ALL: [LinkDownedCounter == 48] [PortXmitData == 52 (208.000B)]
//      GUID 0x2c903006e29b0 port 7: [LinkDownedCounter == 8]
//            Link info:  …                                          (with -r)
//   ## Summary: 26 nodes checked, 2 bad nodes found
//
// "port ALL" is the sum of a switch's ports. The GUID is that of the port; the ports of a switch share it.
#include "fabric/counter_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"

namespace railbed {
namespace {

constexpr std::string_view kNode = "Errors for ";
constexpr std::string_view kPort = "GUID 0x";

struct PortLine {
  std::uint64_t guid = 0;
  int port = 0;
  std::string_view counters = {};
};

// Reads "GUID 0x506b4b0300c3a1b2 port 1: [...]"; nullopt for another line, and for the sum of all ports.
std::optional<PortLine> port_line(std::string_view text) {
  if (!text.starts_with(kPort)) return std::nullopt;
  const auto end = text.find(' ', kPort.size());
  const auto colon = text.find(':');
  constexpr std::string_view kWord = " port ";
  if (end == text.npos || colon == text.npos || !text.substr(end).starts_with(kWord)) return std::nullopt;
  const auto guid = parse_number<std::uint64_t>(text.substr(kPort.size(), end - kPort.size()), 16);
  const auto start = end + kWord.size();
  const auto port = colon > start ? parse_number<int>(text.substr(start, colon - start)) : std::nullopt;
  if (!guid || !port || *port < 0 || *port > kMostIbPorts) return std::nullopt;
  return PortLine{*guid, *port, text.substr(colon + 1)};
}

// Reads "[SymbolErrorCounter == 65535] [PortXmitData == 52 (208.000B)]". Counters of other names are passed over.
IbCounts counts_in(std::string_view text) {
  IbCounts counts;
  const auto& rows = ib_counter_rows();
  for (auto open = text.find('['); open != text.npos; open = text.find('[', open + 1)) {
    const std::string_view one = text.substr(open + 1, text.find(']', open) - open - 1);
    constexpr std::string_view kIs = " == ";
    const auto is = one.find(kIs);
    if (is == one.npos) continue;
    const std::string_view value = one.substr(is + kIs.size());
    const auto number = parse_number<std::uint64_t>(value.substr(0, value.find(' ')));
    for (std::size_t i = 0; number && i < rows.size(); ++i)
      if (rows[i].name == one.substr(0, is)) counts.value[i] = *number;
  }
  return counts;
}

// Returns the name in quotes; empty without one.
std::string name_in(std::string_view text) {
  const auto open = text.find('"');
  const auto close = text.rfind('"');
  if (open == text.npos || close <= open) return "";
  constexpr std::size_t kLongest = 64;  // NodeDescription
  return printable(trim(text.substr(open + 1, close - open - 1)).substr(0, kLongest));
}

}  // namespace

bool is_counter_list(std::string_view text) {
  bool below_node = false;
  for (const std::string_view line : lines(text.substr(0, 64 << 10))) {
    const auto trimmed = trim(line);
    if (below_node && trimmed.starts_with(kPort) && trimmed.find(" == ") != trimmed.npos) return true;
    below_node |= trimmed.starts_with(kNode);
  }
  return false;
}

Result<IbCounterList> parse_counter_list(std::string_view text, std::string_view file) {
  IbCounterList list;
  IbNode node;  // of the last head
  bool added = false;
  std::size_t ports = 0;  // in all nodes
  for (const std::string_view line : lines(text)) {
    const auto trimmed = trim(line);
    if (trimmed.starts_with(kNode)) {
      node = {};
      added = false;
      node.description = name_in(trimmed);
      continue;
    }
    if (trimmed.starts_with(kPort) && trimmed.find(" port ALL:") != trimmed.npos)
      node.type = IbNodeType::kSwitch;
    const auto port = port_line(trimmed);
    if (!port) continue;
    auto& nodes = list.fabric.nodes;
    if (!added) {
      if (nodes.size() >= kMostIbNodes)
        return fail(ErrorKind::kBadInput, fmt::format("{}: more nodes than a subnet has", file));
      node.guid = port->guid;
      node.port_guid = port->guid;
      nodes.push_back(node);
      added = true;
    }
    IbNode& last = nodes.back();
    const auto number = static_cast<std::size_t>(port->port);
    for (; last.ports.size() <= number; ++ports) {
      const int next = static_cast<int>(last.ports.size());
      last.ports.emplace_back().number = next;
    }
    last.ports[number].guid = port->guid;
    list.look.ports.push_back({.end = {static_cast<int>(nodes.size()) - 1, port->port},
                               .first = counts_in(port->counters),
                               .second = std::nullopt});
    if (std::max(ports, list.look.ports.size()) > kMostIbPortsInAll)
      return fail(ErrorKind::kBadInput, fmt::format("{}: more ports than a subnet has", file));
  }
  if (list.look.ports.empty())
    return fail(ErrorKind::kBadInput, fmt::format("{}: no line of ibqueryerrors about a port", file));
  tell_apart(list.fabric);
  return list;
}

IbCounterLook counters_in(const IbFabric& fabric, const IbCounterList& list, std::size_t& unknown) {
  std::map<std::pair<std::uint64_t, int>, IbEnd> ends;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n) {
    const IbNode& node = fabric.nodes[n];
    for (const IbPort& port : node.ports) {
      const IbEnd end{static_cast<int>(n), port.number};
      // A port of an adapter has a GUID of its own, those of a switch have the switch's.
      if (port.guid != 0) ends.emplace(std::pair(port.guid, port.number), end);
      ends.emplace(std::pair(node.guid, port.number), end);
      if (node.port_guid != 0) ends.emplace(std::pair(node.port_guid, port.number), end);
    }
  }
  IbCounterLook look;
  unknown = 0;
  for (const IbCounterReading& reading : list.look.ports) {
    const IbPort& port = list.fabric.port(reading.end);
    const auto found = ends.find({port.guid, port.number});
    if (found == ends.end()) {
      ++unknown;
      continue;
    }
    look.ports.push_back({.end = found->second, .first = reading.first, .second = std::nullopt});
  }
  return look;
}

}  // namespace railbed
