// The format, by example (ibnetdiscover(8) has no grammar; these are all the lines that it writes):
//
//   # Initiated from node 0002c9030010aa10 port 0002c9030010aa11
//   vendid=0x2c9
//   devid=0xbd36
//   sysimgguid=0x2c902004885ab
//   switchguid=0x2c902004885a8(2c902004885a8)
//   Switch<TAB>8 "S-0002c902004885a8"<TAB><TAB># "leaf0" base port 0 lid 1 lmc 0
//   [1]<TAB>"H-0002c9030010aa00"[1](2c9030010aa01) <TAB><TAB># "node1 mlx5_0" lid 2 4xQDR
//   caguid=0x2c9030010aa00
//   Ca<TAB>1 "H-0002c9030010aa00"<TAB><TAB># "node1 mlx5_0"
//   [1](2c9030010aa01) <TAB>"S-0002c902004885a8"[1]<TAB><TAB># lid 2 lmc 0 "leaf0" lid 1 4xQDR
//
// ibdiagnet2.ibnetdiscover has blanks for tabs and, behind a port's number, the label on the housing:
//
//   [1](1/1/1) "H-5c25730300e6706e"[1](5c25730300e6706e)      # "node1 mlx5_8" lid 164 4xNDR
//   [1](1)(b0cf0e0300e5b948) "S-b0cf0e0300e5b940"[65] # lid 25 lmc 0 "leaf0" lid 24 4xNDR
//
// A description may hold quotes: it ends at the last one of its line. Chassis lines (-g), "[ext 5]", what -f adds
// to a port's line, and the tool's warnings are skipped.
#include "fabric/topology_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/complaint.h"
#include "base/text.h"
#include "fabric/both_ends.h"

namespace railbed {
namespace {

// A port's line before identifiers are resolved. A node's identifier is "S-", "H-" or "R-" and anything
// without a quote.
struct RawEnd {
  int node = 0;
  int port = 0;
  std::string_view peer;  // identifier
  int peer_port = 0;
  Spot spot;
};

// Reads a line from its beginning, word by word.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  void skip_blanks() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\t')) text_.remove_prefix(1);
  }
  bool take(std::string_view what) {
    skip_blanks();
    if (!text_.starts_with(what)) return false;
    text_.remove_prefix(what.size());
    return true;
  }
  // Returns the text before `end` and skips both; none if `end` does not follow.
  std::optional<std::string_view> until(char end) {
    const std::size_t at = text_.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view found = text_.substr(0, at);
    text_.remove_prefix(at + 1);
    return found;
  }
  std::optional<int> bracketed() {
    if (!take("[")) return std::nullopt;
    const auto inside = until(']');
    return inside ? parse_number<int>(*inside) : std::nullopt;
  }
  std::string_view word() {
    skip_blanks();
    const std::size_t end = std::min(text_.find_first_of(" \t"), text_.size());
    const std::string_view found = text_.substr(0, end);
    text_.remove_prefix(end);
    return found;
  }
  std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
};

// The parts of a comment: words before the quoted description, the description, words after it.
struct Comment {
  std::string_view before, quoted, after;
};

Comment comment_of(std::string_view line) {
  const std::size_t hash = line.find('#');
  if (hash == std::string_view::npos) return {};
  const std::string_view text = line.substr(hash + 1);
  const std::size_t first = text.find('"');
  const std::size_t last = text.rfind('"');
  if (first == std::string_view::npos || first == last) return {text, {}, {}};
  return {text.substr(0, first), text.substr(first + 1, last - first - 1), text.substr(last + 1)};
}

// Returns the number after a word, as in "lid 7 lmc 0"; 0 if there is none. Only the low 16 bits count.
unsigned number_after(std::string_view text, std::string_view name) {
  const auto parts = words(text);
  for (std::size_t i = 0; i + 1 < parts.size(); ++i)
    if (parts[i] == name) return parse_number<unsigned>(parts[i + 1]).value_or(0) & 0xFFFF;
  return 0;
}

std::uint64_t hex(std::string_view text) { return parse_number<std::uint64_t>(text, 16).value_or(0); }

// Returns true for what the tool and its libraries write to stderr, which often ends up in the same file.
bool is_warning(std::string_view text) {
  constexpr std::string_view kBegins[] = {"ibwarn: [", "ibpanic: [", "ibdebug: [", "src/",
                                          "ibnetdiscover: iberror:"};
  return std::ranges::any_of(kBegins, [&](std::string_view begins) { return text.starts_with(begins); });
}

// Reads in two passes: the lines first, then the cables, because a port's line may name a node that follows.
class TopologyReader : FabricReader {
 public:
  TopologyReader(std::string_view text, std::string_view file) : FabricReader(text, file) {}

  Result<IbFabric> read() {
    each_line([this](std::string_view one, Spot spot) {
      if (one.ends_with('\r')) one.remove_suffix(1);
      line(one, {spot.offset, std::max<std::size_t>(one.size(), 1)});
    });
    if (fabric_.nodes.empty() && complaints_.empty())
      complaints_.add({0, 1}, "no node is in it: is it what ibnetdiscover wrote?");
    resolve();
    return finish();
  }

 private:
  void line(std::string_view one, Spot spot) {
    const std::string_view text = trim(one);
    if (text.empty()) return;
    if (text.front() == '#') return initiated_from(text);
    if (text.front() == '[') return port_line(one, spot);
    if (text.starts_with("Switch") || text.starts_with("Ca") || text.starts_with("Hca") ||
        text.starts_with("Rt"))
      return node_line(one, spot);
    if (text.starts_with("Chassis") || text == "Non-Chassis Nodes" || text.starts_with("DR path")) return;
    if (is_warning(text)) return;
    if (const auto pair = key_value(text, '=')) return attribute(pair->first, pair->second, spot);
    complaints_.add(spot, "this is no line that ibnetdiscover writes");
  }

  void initiated_from(std::string_view text) {
    const auto parts = words(text);
    if (parts.size() < 7 || parts[1] != "Initiated") return;
    fabric_.from_node = hex(parts[4]);
    fabric_.from_port = hex(parts[6]);
  }

  void attribute(std::string_view key, std::string_view value, Spot spot) {
    const std::string_view number = value.substr(0, value.find('('));
    const auto parsed = parse_number<std::uint64_t>(number, 16);
    if (!parsed) return complaints_.add(spot, fmt::format("{} is a hexadecimal number", printable(key)));
    if (key == "vendid") next_.vendor = static_cast<unsigned>(*parsed);
    if (key == "devid") next_.device = static_cast<unsigned>(*parsed);
    if (key == "sysimgguid") next_.system_guid = *parsed;
    if (key == "switchguid" || key == "caguid" || key == "rtguid") next_.guid = *parsed;
    if (key != "switchguid" || number.size() == value.size()) return;
    std::string_view inside = value.substr(number.size() + 1);
    next_.port_guid = hex(inside.substr(0, inside.find(')')));
  }

  void node_line(std::string_view one, Spot spot) {
    Cursor cursor(one);
    const std::string_view type = cursor.word();
    const auto count = parse_number<int>(cursor.word());
    const bool quoted = cursor.take("\"");
    const auto id = quoted ? cursor.until('"') : std::nullopt;
    if (!count || !id || *count < 1 || *count > kMostIbPorts) {
      current_ = -1;
      return complaints_.add(
          spot, fmt::format("a node's line has a type, 1 to {} ports and a name in quotes", kMostIbPorts));
    }
    ports_ += static_cast<std::size_t>(*count) + 1;
    if (fabric_.nodes.size() >= kMostIbNodes || ports_ > kMostIbPortsInAll) {
      current_ = -1;
      return complaints_.add(spot, "more nodes or ports than a subnet has");
    }
    IbNode node = std::exchange(next_, {});
    node.type = type == "Switch" ? IbNodeType::kSwitch
                : type == "Rt"   ? IbNodeType::kRouter
                                 : IbNodeType::kHca;
    if (node.guid == 0 && id->size() > 2) node.guid = hex(id->substr(2));
    node.ports.resize(static_cast<std::size_t>(*count) + 1);
    for (std::size_t i = 0; i < node.ports.size(); ++i) node.ports[i].number = static_cast<int>(i);
    const Comment comment = comment_of(cursor.rest());
    node.description = shown_description(comment.quoted);
    node.enhanced_port0 = comment.after.find("enhanced") != std::string_view::npos;
    if (node.is_switch()) {
      node.ports[0].lid = number_after(comment.after, "lid");
      node.ports[0].lmc = number_after(comment.after, "lmc");
    }
    current_ = static_cast<int>(fabric_.nodes.size());
    const auto [known, fresh] = by_id_.emplace(*id, current_);
    if (!fresh) {
      const IbNode& first = fabric_.nodes[static_cast<std::size_t>(known->second)];
      fabric_.conflicts.push_back({node.guid, fmt::format("{} and {}", name_of(first), name_of(node))});
    } else if (node.guid != 0) {
      if (const auto [same, only] = by_guid_.emplace(node.guid, current_); !only)
        fabric_.conflicts.push_back(
            {node.guid,
             fmt::format("{} and {}", name_of(fabric_.nodes[static_cast<std::size_t>(same->second)]),
                         name_of(node))});
    }
    fabric_.nodes.push_back(std::move(node));
  }

  void port_line(std::string_view one, Spot spot) {
    if (current_ < 0) {
      if (fabric_.nodes.empty()) complaints_.add(spot, "a port's line stands below its node's");
      return;
    }
    IbNode& node = fabric_.nodes[static_cast<std::size_t>(current_)];
    Cursor cursor(one);
    const auto number = cursor.bracketed();
    if (!number || *number < 1 || *number > node.last_port())
      return complaints_.add(spot, fmt::format("its node has ports 1 to {}", node.last_port()));
    IbPort& port = node.ports[static_cast<std::size_t>(*number)];
    if (cursor.take("[ext")) cursor.until(']');
    while (cursor.take("(")) {
      const auto inside = cursor.until(')');
      if (!inside) break;
      if (!node.is_switch()) port.guid = hex(*inside);  // the last one: a label may stand before it
    }
    const bool quoted = cursor.take("\"");
    const auto peer = quoted ? cursor.until('"') : std::nullopt;
    const auto peer_port = peer ? cursor.bracketed() : std::nullopt;
    if (!peer_port)
      return complaints_.add(spot, "a port's line says what it is cabled to: [1] \"S-GUID\"[2]");
    const Comment comment = comment_of(cursor.rest());
    if (!node.is_switch()) {
      port.lid = number_after(comment.before, "lid");
      port.lmc = number_after(comment.before, "lmc");
    }
    // "lid 256 4xEDR", and with -f "s=32 w=2 v=4 e=4" behind it.
    for (const auto word : words(comment.after))
      if (const auto active = IbLink::parse(word)) port.active = *active;
    port.link_up = true;
    ends_.push_back({current_, *number, *peer, *peer_port, spot});
  }

  void resolve() {
    for (const RawEnd& raw : ends_) {
      if (complaints_.count() >= kMostFabricComplaints) return;
      const auto found = by_id_.find(raw.peer);
      if (found == by_id_.end()) {
        complaints_.add(raw.spot, "it is cabled to a node that has no line of its own");
        continue;
      }
      if (raw.peer_port < 1 ||
          raw.peer_port > fabric_.nodes[static_cast<std::size_t>(found->second)].last_port()) {
        complaints_.add(raw.spot, "the node at the other end has no port of that number");
        continue;
      }
      IbPort& port = fabric_.port(IbEnd{raw.node, raw.port});
      if (port.peer) {
        complaints_.add(raw.spot, "this port has had its line before");
        continue;
      }
      port.peer = {found->second, raw.peer_port};
    }
    std::vector<StatedEnd> stated;
    for (const RawEnd& raw : ends_) stated.push_back({{raw.node, raw.port}, raw.spot});
    if (complaints_.empty()) check_both_ends(fabric_, stated, complaints_);
  }

  IbNode next_;
  int current_ = -1;
  std::size_t ports_ = 0;
  std::unordered_map<std::string_view, int> by_id_;
  std::unordered_map<std::uint64_t, int> by_guid_;
  std::vector<RawEnd> ends_;
};

char letter_of(const IbNode& node) {
  return node.is_switch() ? 'S' : node.type == IbNodeType::kRouter ? 'R' : 'H';
}

// Returns the description in quotes, on one line and without a quote inside, so that no reader takes a part
// of it for something else.
std::string quoted(const IbNode& node) {
  std::string text = printable(node.description);
  std::ranges::replace(text, '"', '\'');
  return '"' + text + '"';
}

unsigned lid_of(const IbNode& node, int port) {
  return node.ports[node.is_switch() ? 0 : static_cast<std::size_t>(port)].lid;
}

void write_head(std::string& out, const IbNode& node) {
  const bool is_switch = node.is_switch();
  auto to = std::back_inserter(out);
  fmt::format_to(to, "vendid=0x{:x}\ndevid=0x{:x}\nsysimgguid=0x{:x}\n", node.vendor, node.device,
                 node.system_guid);
  if (is_switch)
    fmt::format_to(to, "switchguid=0x{:x}({:x})\n", node.guid, node.port_guid);
  else
    fmt::format_to(to, "{}guid=0x{:x}\n", node.type == IbNodeType::kRouter ? "rt" : "ca", node.guid);
  fmt::format_to(to, "{}\t{} \"{}-{:016x}\"\t\t# {}",
                 is_switch                          ? "Switch"
                 : node.type == IbNodeType::kRouter ? "Rt"
                                                    : "Ca",
                 node.last_port(), letter_of(node), node.guid, quoted(node));
  if (is_switch)
    fmt::format_to(to, " {} port 0 lid {} lmc {}", node.enhanced_port0 ? "enhanced" : "base",
                   node.ports[0].lid, node.ports[0].lmc);
  out += '\n';
}

void write_port(std::string& out, const IbFabric& fabric, const IbNode& node, const IbPort& port) {
  const IbNode& peer = fabric.at(port.peer);
  const IbPort& far = fabric.port(port.peer);
  auto to = std::back_inserter(out);
  fmt::format_to(to, "[{}]", port.number);
  if (!node.is_switch()) fmt::format_to(to, "({:x}) ", port.guid);
  fmt::format_to(to, "\t\"{}-{:016x}\"[{}]", letter_of(peer), peer.guid, port.peer.port);
  if (!peer.is_switch()) fmt::format_to(to, "({:x}) ", far.guid);
  out += "\t\t# ";
  if (!node.is_switch()) fmt::format_to(to, "lid {} lmc {} ", port.lid, port.lmc);
  fmt::format_to(to, "{} lid {}", quoted(peer), lid_of(peer, port.peer.port));
  if (port.active.width > 0) fmt::format_to(to, " {}", port.active.to_text());
  out += '\n';
}

}  // namespace

Result<IbFabric> parse_topology(std::string_view text, std::string_view file) {
  return TopologyReader(text, file).read();
}

std::string topology_text(const IbFabric& fabric) {
  std::string out = "#\n# Topology file: written by railbed in the format of ibnetdiscover\n#\n";
  if (fabric.from_node != 0)
    out += fmt::format("# Initiated from node {:016x} port {:016x}\n", fabric.from_node, fabric.from_port);
  for (const bool switches : {true, false})
    for (const IbNode& node : fabric.nodes) {
      if (node.is_switch() != switches) continue;
      out += '\n';
      write_head(out, node);
      for (const IbPort& port : node.ports)
        if (port.peer) write_port(out, fabric, node, port);
    }
  return out;
}

}  // namespace railbed
