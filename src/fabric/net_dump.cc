// The form of ibdiagnet2.net_dump, by example (ibdiagnet 2.8 to 2.13): a block for each switch, a row for each port.
//
//   "MF0;leaf1:MQM8700/U1", Mellanox, 0xb8cef60300abc123, LID 7
//     #     : IB# : Sta  : PhysSta : MTU : LWA : LSA : FEC mode   : Retran : Neighbor Guid      : N#    : NLID : Neighbor Description
//     1     : 1   : ACT  : LINK UP : 5   : 4x  : 50  : RS_FEC_PLR : NO-RTR : 0x5c25730300c06f60 : 1     : 156  : "node01 mlx5_0"
//     2     : 2   : DOWN : POLL    : N/A : N/A : N/A : N/A        : N/A    :                    :       :      :
//
// "#" is the number on the housing ("1/17/1" of Quantum-2), "IB#" that of the specification. N# is the neighbour's number
// on its housing, in which an adapter's port is the last part ("B184D0F0/0/0/1"). The GUID is that of the neighbour's
// port; a switch's ports have its node's. Adapters have no block of their own. In XDR each plane of a switch has a block
// ("MF0;leaf1:Q3400_RA/U2"), whose rows are 1x at 200, with "sw1p1" as the number on the housing.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/complaint.h"
#include "base/text.h"
#include "fabric/both_ends.h"
#include "fabric/fabric_file.h"
#include "fabric/planes.h"

namespace railbed {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kFields = 13;

struct SwitchHead {
  std::string_view name;
  std::uint64_t guid = 0;
  unsigned lid = 0;
};

// Reads `"MF0;leaf1:MQM8700/U1", Mellanox, 0xb8cef60300abc123, LID 7`.
std::optional<SwitchHead> switch_head(std::string_view line) {
  constexpr std::string_view kEnd = "\", ", kLid = ", LID ";
  const auto quote = line.find(kEnd, 1);
  const auto guid = line.find(", 0x", quote == line.npos ? line.size() : quote);
  const auto lid = line.find(kLid, guid == line.npos ? line.size() : guid);
  if (!line.starts_with('"') || lid == line.npos) return std::nullopt;
  const auto number = parse_number<std::uint64_t>(line.substr(guid + 2, lid - guid - 2), 16);
  const auto address = parse_number<unsigned>(trim(line.substr(lid + kLid.size())));
  if (!number || *number == 0 || !address || *address > 0xFFFF) return std::nullopt;
  return SwitchHead{line.substr(1, quote - 1), *number, *address};
}

// Separates at " : ", which a label has not; the last field keeps its colons.
std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (fields.size() + 1 < kFields) {
    const auto colon = line.find(':');
    if (colon == line.npos) break;
    fields.push_back(trim(line.substr(0, colon)));
    line.remove_prefix(colon + 1);
  }
  fields.push_back(trim(line));
  return fields;
}

// Returns the speed of a lane in Gb/s by its name: "50" is HDR; none for a name that is not known.
IbSpeed lane_speed(std::string_view text) {
  constexpr std::pair<std::string_view, IbSpeed> kSpeeds[] = {
      {"2.5", IbSpeed::kSdr},     {"5", IbSpeed::kDdr},   {"10", IbSpeed::kQdr},
      {"FDR10", IbSpeed::kFdr10}, {"14", IbSpeed::kFdr},  {"25", IbSpeed::kEdr},
      {"50", IbSpeed::kHdr},      {"100", IbSpeed::kNdr}, {"200", IbSpeed::kXdr}};
  for (const auto& [word, speed] : kSpeeds)
    if (text == word) return speed;
  return ib_speed(text).value_or(IbSpeed::kNone);
}

IbState state_of(std::string_view text) {
  constexpr std::pair<std::string_view, IbState> kStates[] = {
      {"DOWN", IbState::kDown}, {"DWN", IbState::kDown},  {"INIT", IbState::kInit},
      {"INI", IbState::kInit},  {"ARM", IbState::kArmed}, {"ACT", IbState::kActive}};
  for (const auto& [word, state] : kStates)
    if (text == word) return state;
  return IbState::kNotSaid;
}

class NetDumpReader : FabricReader {
 public:
  NetDumpReader(std::string_view text, std::string_view file) : FabricReader(text, file) {}

  Result<IbFabric> read() {
    each_line([this](std::string_view one, Spot spot) { line(trim(one), spot); });
    if (complaints_.empty()) resolve();
    if (complaints_.empty()) check_both_ends(fabric_, stated_, complaints_);
    if (complaints_.empty() && stated_.empty()) complaints_.add({0, 1}, "no link is in it");
    fabric_.states = true;
    return finish();
  }

 private:
  // A row whose neighbour may have a block further down.
  struct Waiting {
    IbEnd end;
    std::uint64_t guid = 0;
    std::string_view number, name;
    unsigned lid = 0;
    Spot spot;
  };

  void line(std::string_view one, Spot spot) {
    if (one.empty() || one.starts_with('#')) return;
    if (one.size() > kLongestLine) return complaints_.add(spot, "the line is too long");
    if (const auto head = switch_head(one)) return begin(*head, spot);
    const auto fields = columns_of(one);
    const auto number = fields.size() == kFields ? parse_number<int>(fields[1]) : std::nullopt;
    if (current_ < 0 || !number || *number < 1 || *number > kMostIbPorts)
      return complaints_.add(spot, "this is no line of ibdiagnet2.net_dump");
    row(fields, *number, spot);
  }

  void begin(const SwitchHead& head, Spot spot) {
    IbNode added;
    added.type = IbNodeType::kSwitch;
    added.guid = added.port_guid = head.guid;
    added.description = shown_description(head.name);
    current_ = add_node(std::move(added), spot);
    if (current_ < 0) return;
    if (!by_guid_.emplace(head.guid, current_).second)
      return complaints_.add(spot, "a switch of this GUID has had its block before");
    if (add_ports(current_, 0, spot)) node(current_).ports[0].lid = head.lid;
  }

  void row(const std::vector<std::string_view>& fields, int number, Spot spot) {
    if (!add_ports(current_, number, spot)) return;
    IbPort& port = node(current_).ports[static_cast<std::size_t>(number)];
    if (port.state != IbState::kNotSaid) return complaints_.add(spot, "this port has had its line before");
    port.state = state_of(fields[2]);
    port.link_up = fields[3] == "LINK UP" || fields[3] == "LINK_UP";
    labels_[std::to_string(current_) + " " + std::string(fields[0])] = number;
    const auto guid = fields[9].starts_with("0x") ? parse_number<std::uint64_t>(fields[9], 16) : std::nullopt;
    if (!port.link_up || !guid || *guid == 0) return;
    const IbLink link{ib_width(fields[5]), lane_speed(fields[6])};
    // A speed without a name here is unknown, not slow.
    if (link.width > 0 && link.speed != IbSpeed::kNone) port.active = link;
    auto name = fields[12];
    if (name.starts_with('"')) name.remove_prefix(1);
    if (name.ends_with('"')) name.remove_suffix(1);
    waiting_.push_back({{current_, number},
                        *guid,
                        fields[10],
                        name,
                        parse_number<unsigned>(fields[11]).value_or(0) & 0xFFFF,
                        spot});
  }

  // Returns the port of a switch by the number on its housing; 0 if it has no such row.
  int port_of_label(int index, std::string_view label) const {
    const auto found = labels_.find(std::to_string(index) + " " + std::string(label));
    return found == labels_.end() ? 0 : found->second;
  }

  // Returns the number of an adapter's port: in XDR that of the plane, whatever stands on the housing. 0 if it is unknown or
  // has a cable.
  int number_of(int index, const Waiting& one) {
    const auto is_free = [&](int number) {
      const auto& ports = node(index).ports;
      return number > 0 && (static_cast<std::size_t>(number) >= ports.size() ||
                            !ports[static_cast<std::size_t>(number)].peer);
    };
    if (fabric_.port(one.end).active == IbLink{1, IbSpeed::kXdr})
      if (const int plane = plane_of(node(one.end.node).description); is_free(plane)) return plane;
    const auto slash = one.number.rfind('/');
    const int number =
        parse_number<int>(one.number.substr(slash == one.number.npos ? 0 : slash + 1)).value_or(0);
    return number <= kMostIbPorts && is_free(number) ? number : 0;
  }

  // Returns the neighbour's end; unset after a complaint.
  IbEnd neighbour_of(const Waiting& one) {
    const auto known = by_guid_.find(one.guid);
    if (known != by_guid_.end() && node(known->second).is_switch()) {
      const int number = port_of_label(known->second, one.number);
      if (number == 0) complaints_.add(one.spot, "the switch at the other end has no port of that number");
      return number == 0 ? IbEnd{} : IbEnd{known->second, number};
    }
    // The GUID of an adapter is that of its port, and in XDR of its planes together.
    int index = known == by_guid_.end() ? -1 : known->second;
    if (index < 0) {
      IbNode added;
      added.guid = one.guid;
      added.description = shown_description(one.name);
      index = add_node(std::move(added), one.spot);
      if (index < 0) return {};
      by_guid_.emplace(one.guid, index);
    }
    const int number = number_of(index, one);
    if (number == 0) {
      complaints_.add(one.spot, "the neighbour's port has no number, or another cable");
      return {};
    }
    if (!add_ports(index, number, one.spot)) return {};
    IbPort& port = node(index).ports[static_cast<std::size_t>(number)];
    port.guid = one.guid;
    port.lid = one.lid;
    port.link_up = true;
    port.active = fabric_.port(one.end).active;
    port.peer = one.end;
    return {index, number};
  }

  void resolve() {
    for (const Waiting& one : waiting_) {
      if (complaints_.count() >= kMostFabricComplaints) return;
      const IbEnd end = neighbour_of(one);
      if (!end) continue;
      fabric_.port(one.end).peer = end;
      stated_.push_back({one.end, one.spot});
    }
  }

  int current_ = -1;
  std::vector<Waiting> waiting_;
  std::vector<StatedEnd> stated_;
  std::unordered_map<std::uint64_t, int> by_guid_;
  std::unordered_map<std::string, int> labels_;  // "node label" to IB#
};

}  // namespace

bool is_net_dump(std::string_view head) {
  bool below_switch = false;
  for (const std::string_view line : lines(head)) {
    const auto text = trim(line);
    if (text.empty()) continue;
    if (below_switch && text.starts_with('#') && text.find(": IB#") != text.npos) return true;
    below_switch = text.size() <= kLongestLine && switch_head(text).has_value();
  }
  return false;
}

Result<IbFabric> parse_net_dump(std::string_view text, std::string_view file) {
  return NetDumpReader(text, file).read();
}

}  // namespace railbed
