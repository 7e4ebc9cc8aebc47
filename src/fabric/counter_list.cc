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
// and of ibdiagnet2.pm (ibdiagnet 2.9 and later), which has all ports; "NA" is what a device does not count:
//
//   Port=1 Lid=0x00b4 GUID=0xb0cf0e0300d33fc0 Device=54002 Port Name=leaf1/U1/P1/1/1
//   -------------------------------------------------------
//   symbol_error_counter=0x00000000
//   symbol_error_counter_extended=0x0000000000000000
//
// "port ALL" is the sum of a switch's ports. The GUID is that of the port; the ports of a switch share it.
#include "fabric/counter_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "fabric/both_ends.h"

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

constexpr std::string_view kPmPort = "Port=";

// Names of ibdiagnet2.pm. The 64-bit form follows the 32-bit one, and counts where the device has it.
constexpr std::pair<std::string_view, IbCounter> kPmNames[] = {
    {"symbol_error_counter", IbCounter::kSymbolErrors},
    {"symbol_error_counter_extended", IbCounter::kSymbolErrors},
    {"link_error_recovery_counter", IbCounter::kLinkErrorRecovery},
    {"link_error_recovery_counter_extended", IbCounter::kLinkErrorRecovery},
    {"link_down_counter", IbCounter::kLinkDowned},
    {"link_downed_counter_extended", IbCounter::kLinkDowned},
    {"port_rcv_errors", IbCounter::kRcvErrors},
    {"port_rcv_errors_extended", IbCounter::kRcvErrors},
    {"port_rcv_remote_physical_errors", IbCounter::kRcvRemotePhysicalErrors},
    {"port_rcv_remote_physical_errors_extended", IbCounter::kRcvRemotePhysicalErrors},
    {"port_rcv_switch_relay_errors", IbCounter::kRcvSwitchRelayErrors},
    {"port_rcv_switch_relay_errors_extended", IbCounter::kRcvSwitchRelayErrors},
    {"port_xmit_discard", IbCounter::kXmitDiscards},
    {"port_xmit_discards_extended", IbCounter::kXmitDiscards},
    {"port_xmit_constraint_errors", IbCounter::kXmitConstraintErrors},
    {"port_xmit_constraint_errors_extended", IbCounter::kXmitConstraintErrors},
    {"port_rcv_constraint_errors", IbCounter::kRcvConstraintErrors},
    {"port_rcv_constraint_errors_extended", IbCounter::kRcvConstraintErrors},
    {"local_link_integrity_errors", IbCounter::kLocalLinkIntegrity},
    {"local_link_integrity_errors_extended", IbCounter::kLocalLinkIntegrity},
    {"excessive_buffer_errors", IbCounter::kExcessiveBufferOverrun},
    {"excessive_buffer_overrun_errors_extended", IbCounter::kExcessiveBufferOverrun},
    {"vl15_dropped", IbCounter::kVl15Dropped},
    {"vl15_dropped_extended", IbCounter::kVl15Dropped},
    {"port_xmit_wait", IbCounter::kXmitWait},
    {"port_xmit_wait_extended", IbCounter::kXmitWait},
    {"port_xmit_data", IbCounter::kXmitData},
    {"port_xmit_data_extended", IbCounter::kXmitData},
    {"port_rcv_data", IbCounter::kRcvData},
    {"port_rcv_data_extended", IbCounter::kRcvData},
    {"port_xmit_pkts", IbCounter::kXmitPackets},
    {"port_xmit_pkts_extended", IbCounter::kXmitPackets},
    {"port_rcv_pkts", IbCounter::kRcvPackets},
    {"port_rcv_pkts_extended", IbCounter::kRcvPackets}};

struct PmHead {
  std::uint64_t guid = 0;
  int port = 0;
  std::string name;  // of the node: "leaf1 U1", "node01 mlx5_0"
};

// Reads "Port=1 Lid=0x00b4 GUID=0xb0cf0e0300d33fc0 Device=54002 Port Name=leaf1/U1/P1/1/1".
std::optional<PmHead> pm_head(std::string_view text) {
  constexpr std::string_view kGuid = " GUID=", kName = " Port Name=";
  const auto guid = text.find(kGuid), name = text.find(kName);
  if (!text.starts_with(kPmPort) || guid == text.npos || name == text.npos || name < guid)
    return std::nullopt;
  const auto digits = text.substr(guid + kGuid.size());
  const auto number = parse_number<std::uint64_t>(digits.substr(0, digits.find(' ')), 16);
  const auto port = parse_number<int>(text.substr(kPmPort.size(), text.find(' ') - kPmPort.size()));
  if (!number || *number == 0 || !port || *port < 0 || *port > kMostIbPorts) return std::nullopt;
  constexpr std::size_t kLongest = 64;  // NodeDescription
  const auto parts = split(trim(text.substr(name + kName.size())).substr(0, kLongest), '/');
  return PmHead{*number, *port, printable(parts[0]) + (parts.size() > 1 ? " " + printable(parts[1]) : "")};
}

// Reads "symbol_error_counter=0x00000000" into the counts. Returns false for another line.
bool add_pm_count(std::string_view text, IbCounts& counts) {
  const auto is = text.find('=');
  const auto name =
      std::ranges::find(kPmNames, text.substr(0, is), &std::pair<std::string_view, IbCounter>::first);
  if (is == text.npos || name == std::end(kPmNames)) return false;
  if (const auto number = parse_number<std::uint64_t>(text.substr(is + 1), 16))
    counts.value[static_cast<std::size_t>(name->second)] = *number;
  return true;
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
  bool below_node = false, below_port = false;
  for (const std::string_view line : lines(text.substr(0, 64 << 10))) {
    const auto trimmed = trim(line);
    if (below_node && trimmed.starts_with(kPort) && trimmed.find(" == ") != trimmed.npos) return true;
    below_node |= trimmed.starts_with(kNode);
    IbCounts none;
    if (below_port && add_pm_count(trimmed, none)) return true;
    below_port |= pm_head(trimmed).has_value();
  }
  return false;
}

namespace {

class CounterListReader {
 public:
  Result<IbCounterList> read(std::string_view text, std::string_view file) {
    for (const std::string_view line : lines(text)) {
      take(trim(line));
      if (list_.fabric.nodes.size() > kMostIbNodes ||
          std::max(ports_, list_.look.ports.size()) > kMostIbPortsInAll)
        return fail(ErrorKind::kBadInput, fmt::format("{}: more nodes or ports than a subnet has", file));
    }
    if (list_.look.ports.empty())
      return fail(ErrorKind::kBadInput,
                  fmt::format("{}: no line of ibqueryerrors or of ibdiagnet2.pm about a port", file));
    tell_apart(list_.fabric);
    return std::move(list_);
  }

 private:
  void take(std::string_view line) {
    if (line.starts_with(kNode)) {
      node_ = {};
      current_.reset();
      added_ = false;
      node_.description = name_in(line);
    } else if (line.starts_with(kPort)) {
      current_.reset();
      if (line.find(" port ALL:") != line.npos) node_.type = IbNodeType::kSwitch;
      if (const auto port = port_line(line)) {
        if (!added_) last_ = add_node(node_, port->guid);
        added_ = true;
        add_port(last_, port->guid, port->port).first = counts_in(port->counters);
      }
    } else if (line.starts_with(kPmPort)) {
      // Counters below a head that cannot be read belong to no port.
      current_.reset();
      const auto head = pm_head(line);
      if (!head) return;
      const auto [known, fresh] =
          by_guid_.try_emplace(head->guid, static_cast<int>(list_.fabric.nodes.size()));
      IbNode node;
      node.description = head->name;
      if (fresh) (void)add_node(std::move(node), head->guid);
      (void)add_port(known->second, head->guid, head->port);
      current_ = list_.look.ports.size() - 1;
    } else if (current_) {
      (void)add_pm_count(line, list_.look.ports[*current_].first);
    }
  }

  int add_node(IbNode node, std::uint64_t guid) {
    node.guid = node.port_guid = guid;
    list_.fabric.nodes.push_back(std::move(node));
    return static_cast<int>(list_.fabric.nodes.size()) - 1;
  }

  // Returns the reading of the port, which is valid until the next one is added.
  IbCounterReading& add_port(int index, std::uint64_t guid, int port) {
    IbNode& node = list_.fabric.nodes[static_cast<std::size_t>(index)];
    ports_ += grow_ports(node, port);
    node.ports[static_cast<std::size_t>(port)].guid = guid;
    list_.look.ports.push_back({.end = {index, port}, .first = {}, .second = std::nullopt, .plane = 0});
    return list_.look.ports.back();
  }

  IbCounterList list_;
  IbNode node_;         // of the last head of ibqueryerrors
  bool added_ = false;  // to the list, as `last_`
  int last_ = -1;
  std::optional<std::size_t> current_;  // the reading that lines of ibdiagnet2.pm belong to
  std::map<std::uint64_t, int> by_guid_;
  std::size_t ports_ = 0;  // in all nodes
};

}  // namespace

Result<IbCounterList> parse_counter_list(std::string_view text, std::string_view file) {
  return CounterListReader().read(text, file);
}

IbCounterLook counters_in(const IbFabric& fabric, const IbCounterList& list, std::size_t& unknown) {
  std::map<std::pair<std::uint64_t, int>, std::pair<IbEnd, int>> ends;  // with the plane
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n) {
    const IbNode& node = fabric.nodes[n];
    for (const IbPort& port : node.ports) {
      const IbEnd end{static_cast<int>(n), port.number};
      // A port of an adapter has a GUID of its own, those of a switch have the switch's.
      for (const IbPlane& plane : node.planes)
        ends.emplace(std::pair(plane.guid, port.number), std::pair(end, plane.number));
      if (port.guid != 0) ends.emplace(std::pair(port.guid, port.number), std::pair(end, 0));
      ends.emplace(std::pair(node.guid, port.number), std::pair(end, 0));
      if (node.port_guid != 0) ends.emplace(std::pair(node.port_guid, port.number), std::pair(end, 0));
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
    const auto& [end, plane] = found->second;
    look.ports.push_back({.end = end, .first = reading.first, .second = std::nullopt, .plane = plane});
  }
  return look;
}

}  // namespace railbed
