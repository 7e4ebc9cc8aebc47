// The form of iblinkinfo, by example (rdma-core, infiniband-diags/iblinkinfo.c), plain and with -l:
//
//   CA: node01 mlx5_0:
//         0x248a070300928186      3    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       2   36[  ] "leaf1" ( )
//   Switch: 0x506b4b0300820910 leaf1:
//              2    1[  ] ==(                Down/ Polling)==>             [  ] "" ( )
//   0x248a070300928186 "               node01 mlx5_0"      3    1[  ] ==( 4X … LinkUp)==>  0x506b4b0300820910      2   36[  ] "leaf1" ( )
//
// The plain form names a peer by its LID, -l by the GUID of its port. A GUID is that of a port: a switch's ports have
// one GUID together, and each port of an adapter has its own, but planes of XDR. With -l an adapter with two ports is read
// as two.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/complaint.h"
#include "base/text.h"
#include "fabric/both_ends.h"
#include "fabric/fabric_file.h"

namespace railbed {
namespace {

// A port's line, before its peer is resolved.
struct LinkLine {
  std::uint64_t guid = 0;      // 0 on a switch's plain line
  std::string_view name = {};  // of -l
  unsigned lid = 0;
  int port = 0;
  IbPort read = {};
  bool has_peer = false;
  std::uint64_t peer_guid = 0;  // of -l
  unsigned peer_lid = 0;
  int peer_port = 0;
};

std::optional<std::uint64_t> take_guid(std::string_view& text) {
  text = trim(text);
  if (!text.starts_with("0x")) return std::nullopt;
  const auto end = std::min(text.find(' '), text.size());
  const auto guid = parse_number<std::uint64_t>(text.substr(0, end), 16);
  if (guid) text = trim(text.substr(end));
  return guid;
}

// Reads "3    1[  ]", a LID and a port. The LID of a port that has none is 0.
bool read_place(std::string_view text, unsigned& lid, int& port) {
  const auto bracket = text.find('[');
  if (bracket == text.npos) return false;
  const auto parts = words(text.substr(0, bracket));
  if (parts.size() != 2) return false;
  const auto left = parse_number<unsigned>(parts[0]);
  const auto right = parse_number<int>(parts[1]);
  if (!left || *left > 0xFFFF || !right || *right < 1 || *right > kMostIbPorts) return false;
  lid = *left;
  port = *right;
  return true;
}

// Returns the speed in words such as "25.78125", "Gbps", "(FDR10)"; none if it has no name here.
IbSpeed speed_in(const std::vector<std::string_view>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "(FDR10)" || parts[i] == "FDR10") return IbSpeed::kFdr10;
    if (const IbSpeed speed = signaled_speed(parts[i]);
        speed != IbSpeed::kNone && i + 1 < parts.size() && parts[i + 1].starts_with("Gbps"))
      return i + 2 < parts.size() && parts[i + 2] == "(FDR10)" ? IbSpeed::kFdr10 : speed;
  }
  return IbSpeed::kNone;
}

int width_in(const std::vector<std::string_view>& parts) {
  for (const auto part : parts)
    if (const int lanes = ib_width(part); lanes > 0) return lanes;
  return 0;
}

// Reads " 4X  25.78125 Gbps Active/  LinkUp", to which -p adds "(HOQ:…)" outside.
bool read_link(std::string_view text, IbPort& port) {
  const auto slash = text.find('/');
  if (slash == text.npos) return false;
  const auto before = words(text.substr(0, slash));
  const auto after = words(text.substr(slash + 1));
  if (before.empty() || after.empty()) return false;
  port.state = ib_state(before.back());
  if (port.state == IbState::kNotSaid) return false;
  port.link_up = after[0].starts_with("LinkUp");
  if (port.state == IbState::kDown) return true;
  const IbLink link{width_in(before), speed_in(before)};
  // A speed without a name here is unknown, not slow.
  if (link.width > 0 && link.speed != IbSpeed::kNone) port.active = link;
  return true;
}

// Reads what follows the peer's name, "( )" or "(Could be 4X Could be 10.0 Gbps)": what both ends could do at most.
void read_could_be(std::string_view text, IbPort& port) {
  if (port.active.width == 0) return;
  const auto parts = words(text);
  const int width = width_in(parts);
  const IbSpeed speed = speed_in(parts);
  port.supported = {std::max(width, port.active.width), std::max(speed, port.active.speed)};
}

// Reads what stands behind the arrow: `0x… 2   36[  ] "leaf1" ( )`, `[  ] "" ( )`, `"Port not available"`.
bool read_peer(std::string_view text, LinkLine& line) {
  text = trim(text);
  if (text.starts_with('[') || text.starts_with('"')) return true;
  line.peer_guid = take_guid(text).value_or(0);
  if (!read_place(text, line.peer_lid, line.peer_port)) return false;
  line.has_peer = true;
  const auto quote = text.rfind('"');
  if (quote != text.npos) read_could_be(trim(text.substr(quote + 1)).substr(0, 128), line.read);
  return true;
}

std::optional<LinkLine> link_line(std::string_view text) {
  constexpr std::string_view kOpens = "==(";
  constexpr std::string_view kArrow = "==>";
  const auto arrow = text.find(kArrow);
  const auto opens = text.rfind(kOpens, arrow);
  if (arrow == text.npos || opens == text.npos) return std::nullopt;
  LinkLine line;
  auto left = text.substr(0, opens);
  line.guid = take_guid(left).value_or(0);
  if (left.starts_with('"')) {
    const auto quote = left.rfind('"');
    if (quote == 0) return std::nullopt;
    line.name = trim(left.substr(1, quote - 1));
    left = left.substr(quote + 1);
  }
  if (!read_place(left, line.lid, line.port)) return std::nullopt;
  line.read.number = line.port;
  if (!read_link(text.substr(opens + kOpens.size(), arrow - opens - kOpens.size()), line.read))
    return std::nullopt;
  if (!read_peer(text.substr(arrow + kArrow.size()), line)) return std::nullopt;
  return line;
}

class LinkListReader : FabricReader {
 public:
  LinkListReader(std::string_view text, std::string_view file) : FabricReader(text, file) {}

  Result<IbFabric> read() {
    each_line([this](std::string_view one, Spot spot) { line(one, spot); });
    if (complaints_.empty()) resolve();
    if (complaints_.empty()) check_both_ends(fabric_, stated_, complaints_);
    if (complaints_.empty() && stated_.empty())
      complaints_.add({0, 1}, "no link is in it: give the whole output, without -d");
    fabric_.states = true;
    return finish();
  }

 private:
  struct Waiting {
    int node;
    LinkLine line;
    Spot spot;
  };

  void line(std::string_view one, Spot spot) {
    const auto text = trim(one);
    if (text.empty() || text.starts_with("ibwarn: [") || text.starts_with("src/")) return;
    if (text.starts_with("CA: ") || text.starts_with("Switch: ") || text.starts_with("Router: "))
      return head(text, spot);
    constexpr std::size_t kLongestLine = 4096;
    auto link = text.size() > kLongestLine ? std::nullopt : link_line(text);
    if (!link) return complaints_.add(spot, "this is no line that iblinkinfo writes");
    if (!link->name.empty())
      current_ = node_of_guid(*link, spot);
    else if (current_ < 0)
      return complaints_.add(spot, "a port's line stands below its node's");
    if (current_ >= 0) add_port(std::move(*link), spot);
  }

  // "CA: node01 mlx5_0:", "Switch: 0x506b4b0300820910 leaf1:"
  void head(std::string_view text, Spot spot) {
    IbNode node;
    node.type = text.starts_with("Switch")   ? IbNodeType::kSwitch
                : text.starts_with("Router") ? IbNodeType::kRouter
                                             : IbNodeType::kHca;
    text = trim(text.substr(text.find(' ')));
    if (text.ends_with(':')) text.remove_suffix(1);
    if (node.is_switch()) node.guid = node.port_guid = take_guid(text).value_or(0);
    node.description = shown_description(text);
    current_ = add_node(std::move(node), spot);
  }

  int node_of_guid(const LinkLine& line, Spot spot) {
    const auto [known, fresh] = by_guid_.try_emplace(line.guid, -1);
    if (!fresh) return known->second;
    IbNode node;
    node.guid = line.guid;
    node.description = shown_description(line.name);
    return known->second = add_node(std::move(node), spot);
  }

  void add_port(LinkLine line, Spot spot) {
    if (!add_ports(current_, line.port, spot)) return;
    IbNode& node = FabricReader::node(current_);
    if (!seen_.emplace(current_, line.port).second)
      return complaints_.add(spot, "this port has had its line before");
    if (node.guid == 0) node.guid = line.guid;
    if (!line.name.empty()) ++lines_[current_];
    IbPort& port = node.ports[static_cast<std::size_t>(line.port)];
    port = line.read;
    if (node.is_switch()) {
      node.ports[0].lid = line.lid;
    } else {
      port.guid = line.guid;
      port.lid = line.lid;
    }
    if (line.has_peer) waiting_.push_back({current_, std::move(line), spot});
  }

  // Returns the node of a peer, by the GUID that the line states, else by its LID; −1 if it has no lines.
  int peer_of(const LinkLine& line) const {
    if (line.peer_guid != 0) {
      const auto found = by_guid_.find(line.peer_guid);
      return found == by_guid_.end() ? -1 : found->second;
    }
    const auto found = by_lid_.find(line.peer_lid);
    return found == by_lid_.end() ? -1 : found->second;
  }

  // Ports of one GUID are a switch's, in the form of -l, or the planes of an adapter's port.
  void find_switches() {
    for (const auto& [index, count] : lines_) {
      IbNode& one = node(index);
      const bool planes =
          one.last_port() <= kMostIbPlanes &&
          std::ranges::all_of(one.ports,
                              [](const IbPort& port) {
                                return port.active.width == 0 || port.active == IbLink{1, IbSpeed::kXdr};
                              }) &&
          std::ranges::any_of(one.ports, [](const IbPort& port) { return port.active.width > 0; });
      if (count < 2 || planes) continue;
      one.type = IbNodeType::kSwitch;
      one.port_guid = one.guid;
      for (IbPort& port : one.ports) {
        if (port.number > 0 && port.lid != 0) one.ports[0].lid = port.lid;
        if (port.number == 0) continue;
        port.guid = 0;
        port.lid = 0;
      }
    }
  }

  void resolve() {
    find_switches();
    for (std::size_t n = 0; n < fabric_.nodes.size(); ++n)
      for (const IbPort& port : fabric_.nodes[n].ports)
        if (port.lid != 0) by_lid_.try_emplace(port.lid, static_cast<int>(n));
    for (const Waiting& one : waiting_) {
      if (complaints_.count() >= kMostFabricComplaints) return;
      const int peer = peer_of(one.line);
      if (peer < 0) {
        complaints_.add(
            one.spot,
            "it is cabled to a node that has no line of its own: give the whole output, without -S, "
            "-D, --switches-only and --cas-only");
        continue;
      }
      if (one.line.peer_port > fabric_.nodes[static_cast<std::size_t>(peer)].last_port()) {
        complaints_.add(one.spot, "the node at the other end has no port of that number");
        continue;
      }
      const IbEnd end{one.node, one.line.port};
      fabric_.port(end).peer = {peer, one.line.peer_port};
      stated_.push_back({end, one.spot});
    }
  }

  int current_ = -1;
  std::vector<Waiting> waiting_;
  std::vector<StatedEnd> stated_;
  std::set<std::pair<int, int>> seen_;
  std::unordered_map<std::uint64_t, int> by_guid_;  // of -l
  std::map<int, int> lines_;                        // of -l: how many a node has
  std::unordered_map<unsigned, int> by_lid_;
};

}  // namespace

Result<IbFabric> parse_link_list(std::string_view text, std::string_view file) {
  return LinkListReader(text, file).read();
}

}  // namespace railbed
