// The form of `ibnetdiscover -p`, by example (rdma-core, infiniband-diags/ibnetdiscover.c):
//
//   CA   134  1 0x7cfe9003003b4bde 4x EDR - SW  1719 10 0x7cfe9003009ce5b0 ( 'node01 HCA-1' - 'leaf1' )
//   SW    24  1 0x946dae0300618c82 4x SDR                                    'leaf2'
//
// A line has the type, LID, port and port GUID of an end, the link, and the same of the other end; a port without a
// cable has its node's name instead. The GUID of a switch's ports is that of its port 0. Each end is stated whole, so a
// list of a part of the subnet is read, too: a node that has no line of its own is one.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/complaint.h"
#include "base/text.h"
#include "fabric/both_ends.h"
#include "fabric/fabric_file.h"

namespace railbed {
namespace {

struct ListedEnd {
  IbNodeType type = IbNodeType::kHca;
  unsigned lid = 0;
  int port = 0;
  std::uint64_t guid = 0;
  std::string_view name = {};
};

struct ListedPort {
  ListedEnd end;
  IbLink link;
  std::optional<ListedEnd> peer;
};

// Takes the first word off a text.
std::string_view take_word(std::string_view& text) {
  text = trim(text);
  const auto word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

// Takes "CA   134  1 0x7cfe9003003b4bde" off a text.
std::optional<ListedEnd> take_end(std::string_view& text) {
  constexpr std::pair<std::string_view, IbNodeType> kTypes[] = {
      {"CA", IbNodeType::kHca}, {"SW", IbNodeType::kSwitch}, {"RT", IbNodeType::kRouter}};
  const auto type =
      std::ranges::find(kTypes, take_word(text), &std::pair<std::string_view, IbNodeType>::first);
  const auto lid = parse_number<unsigned>(take_word(text));
  const auto port = parse_number<int>(take_word(text));
  const auto digits = take_word(text);
  // 0 is no GUID.
  const auto guid = digits.size() == 18 && digits.starts_with("0x")
                        ? parse_number<std::uint64_t>(digits, 16).value_or(0)
                        : 0;
  const bool fits = type != std::end(kTypes) && lid && *lid <= 0xFFFF && port && *port >= 1 &&
                    *port <= kMostIbPorts && guid != 0;
  if (!fits) return std::nullopt;
  return ListedEnd{type->second, *lid, *port, guid, {}};
}

// Takes "4x EDR" off a text; "??" and "???" are what the program prints for what it does not know.
std::optional<IbLink> take_link(std::string_view& text) {
  const auto width = take_word(text);
  const auto speed = take_word(text);
  if (width.empty() || speed.empty()) return std::nullopt;
  if (width.starts_with('?') || speed.starts_with('?')) return IbLink{};
  return IbLink::parse(std::string(width).append(speed));
}

std::string_view without_quotes(std::string_view text) {
  text = trim(text);
  if (text.starts_with('\'')) text.remove_prefix(1);
  if (text.ends_with('\'')) text.remove_suffix(1);
  return text;
}

std::optional<ListedPort> listed_port(std::string_view text) {
  ListedPort line;
  const auto end = take_end(text);
  const auto link = end ? take_link(text) : std::nullopt;
  if (!link) return std::nullopt;
  line.end = *end;
  line.link = *link;
  text = trim(text);
  if (!text.starts_with("- ")) {
    line.end.name = without_quotes(text);
    return line;
  }
  text.remove_prefix(2);
  line.peer = take_end(text);
  text = trim(text);
  // A name may hold what separates the two; then neither is known.
  constexpr std::string_view kBetween = "' - '";
  const auto between = text.find(kBetween);
  if (!line.peer || !text.starts_with('(') || !text.ends_with(')')) return std::nullopt;
  if (between != text.npos && between == text.rfind(kBetween)) {
    line.end.name = without_quotes(text.substr(1, between));
    line.peer->name = without_quotes(text.substr(between + 4, text.size() - between - 5));
  }
  return line;
}

class PortListReader : FabricReader {
 public:
  PortListReader(std::string_view text, std::string_view file) : FabricReader(text, file) {}

  Result<IbFabric> read() {
    each_line([this](std::string_view one, Spot spot) { line(one, spot); });
    if (complaints_.empty()) check_both_ends(fabric_, stated_, complaints_);
    return finish();
  }

 private:
  void line(std::string_view one, Spot spot) {
    const auto text = trim(one);
    constexpr std::size_t kLongestLine = 4096;
    if (text.empty() || text.starts_with("ibwarn: [") || text.starts_with("src/")) return;
    const auto listed = text.size() > kLongestLine ? std::nullopt : listed_port(text);
    if (!listed) return complaints_.add(spot, "this is no line that ibnetdiscover -p writes");
    const auto end = place(listed->end, spot);
    if (!end) return;
    if (!seen_.insert(*end).second) return complaints_.add(spot, "this port has had its line before");
    fabric_.port(*end).active = listed->peer ? listed->link : IbLink{};
    fabric_.port(*end).link_up = listed->peer.has_value();
    if (!listed->peer) return;
    const auto peer = place(*listed->peer, spot);
    if (!peer) return;
    fabric_.port(*end).peer = *peer;
    stated_.push_back({*end, spot});
  }

  // Returns the port of an end, which is added if it is new; nothing after a complaint.
  std::optional<IbEnd> place(const ListedEnd& end, Spot spot) {
    const auto [known, fresh] = by_guid_.try_emplace(end.guid, static_cast<int>(fabric_.nodes.size()));
    if (fresh) {
      IbNode added;
      added.type = end.type;
      added.guid = end.guid;
      if (added.is_switch()) added.port_guid = end.guid;
      if (add_node(std::move(added), spot) < 0) return std::nullopt;
    }
    IbNode& node = FabricReader::node(known->second);
    if (node.type != end.type) {
      complaints_.add(spot, "another line gives this GUID to a node of another type");
      return std::nullopt;
    }
    if (node.description.empty()) node.description = shown_description(end.name);
    if (!add_ports(known->second, end.port, spot)) return std::nullopt;
    IbPort& port = node.ports[static_cast<std::size_t>(end.port)];
    if (!node.is_switch()) port.guid = end.guid;
    (node.is_switch() ? node.ports[0] : port).lid = end.lid;
    return IbEnd{known->second, end.port};
  }

  std::vector<StatedEnd> stated_;
  std::set<IbEnd> seen_;
  std::unordered_map<std::uint64_t, int> by_guid_;
};

}  // namespace

bool is_port_list(std::string_view head) {
  for (const std::string_view line : lines(head)) {
    const auto text = trim(line);
    if (text.empty() || text.starts_with("ibwarn: [") || text.starts_with("src/")) continue;
    return listed_port(text.substr(0, 4096)).has_value();
  }
  return false;
}

Result<IbFabric> parse_port_list(std::string_view text, std::string_view file) {
  return PortListReader(text, file).read();
}

}  // namespace railbed
