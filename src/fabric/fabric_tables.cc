// The form of ibdiagnet's tables, by example: sections of comma-separated values, whose first line names the columns,
// which differ by version.
//
//   START_NODES
//   NodeDesc,NumPorts,NodeType,ClassVersion,BaseVersion,SystemImageGUID,NodeGUID,PortGUID,DeviceID,…
//   "node01 mlx5_0",1,1,1,1,0x248a…189,0x248a…186,0x248a…186,4123,…
//   END_NODES
//   START_PORTS …, START_LINKS
//   NodeGuid1,PortNum1,NodeGuid2,PortNum2
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
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

constexpr std::size_t kMostColumns = 256;

// Separates at commas outside quotes, and removes the quotes.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (fields.size() < kMostColumns) {
    const bool quoted = line.starts_with('"');
    const auto end = quoted ? line.find("\",", 1) : line.find(',');
    const auto whole = line.substr(0, end == line.npos ? end : end + (quoted ? 1 : 0));
    fields.push_back(quoted && whole.size() > 1 && whole.ends_with('"') ? whole.substr(1, whole.size() - 2)
                                                                        : trim(whole));
    if (end == line.npos) break;
    line.remove_prefix(end + (quoted ? 2 : 1));
  }
  return fields;
}

// Returns a number, decimal or with 0x; none for "N/A".
std::optional<std::uint64_t> table_number(std::string_view text) {
  return text.starts_with("0x") ? parse_number<std::uint64_t>(text, 16) : parse_number<std::uint64_t>(text);
}

// Bits of LinkSpeedActv and LinkSpeedSup: those of PortInfo, of its extended speeds from 256 on, and FDR10.
IbSpeed fastest_in(std::uint64_t bits) {
  constexpr std::pair<std::uint64_t, IbSpeed> kBits[] = {
      {1 << 12, IbSpeed::kXdr}, {1 << 11, IbSpeed::kNdr}, {1 << 10, IbSpeed::kHdr},
      {1 << 9, IbSpeed::kEdr},  {1 << 8, IbSpeed::kFdr},  {1 << 16, IbSpeed::kFdr10},
      {4, IbSpeed::kQdr},       {2, IbSpeed::kDdr},       {1, IbSpeed::kSdr}};
  for (const auto& [bit, speed] : kBits)
    if ((bits & bit) != 0) return speed;
  return IbSpeed::kNone;
}

// Bits of LinkWidthActv and LinkWidthSup (InfiniBand specification, PortInfo).
int widest_in(std::uint64_t bits) {
  constexpr std::pair<std::uint64_t, int> kBits[] = {{8, 12}, {4, 8}, {2, 4}, {16, 2}, {1, 1}};
  for (const auto& [bit, lanes] : kBits)
    if ((bits & bit) != 0) return lanes;
  return 0;
}

class TablesReader {
 public:
  TablesReader(std::string_view text, std::string_view file) : text_(text), complaints_(text, file) {}

  Result<IbFabric> read() {
    // Ports and links name nodes, so the sections are read in this order.
    section("NODES", &TablesReader::node);
    section("PORTS", &TablesReader::port);
    const bool links = section("LINKS", &TablesReader::link);
    if (complaints_.empty() && fabric_.nodes.empty())
      complaints_.add({0, 1}, "the section NODES holds no node");
    if (complaints_.empty() && !links)
      complaints_.add({0, 1}, "it has no section LINKS: nothing shows what is cabled to what");
    if (!complaints_.empty()) return fail(complaints_.to_error());
    fabric_.states = ports_read_;
    tell_apart(fabric_);
    return std::move(fabric_);
  }

 private:
  using Row = void (TablesReader::*)(const std::vector<std::string_view>& fields, Spot spot);

  // Calls `row` with each row of a section. Returns false if the file does not have it.
  bool section(std::string_view name, Row row) {
    const std::string begin = fmt::format("START_{}", name), end = fmt::format("END_{}", name);
    enum class Where { kOutside, kHeader, kRows } where = Where::kOutside;
    Spot first;
    for (std::size_t at = 0; at < text_.size() && complaints_.count() < kMostFabricComplaints;) {
      const std::size_t to = std::min(text_.find('\n', at), text_.size());
      const auto line = trim(text_.substr(at, to - at));
      const Spot spot{at, std::max<std::size_t>(to - at, 1)};
      at = to + 1;
      if (where == Where::kOutside) {
        if (line != begin) continue;
        where = Where::kHeader;
        first = spot;
      } else if (line == end) {
        return true;
      } else if (where == Where::kHeader) {
        columns_ = fields_of(line);
        where = Where::kRows;
      } else if (!line.empty()) {
        (this->*row)(fields_of(line), spot);
      }
    }
    if (where != Where::kOutside && complaints_.count() < kMostFabricComplaints)
      complaints_.add(first, "the section is cut off");
    return where != Where::kOutside;
  }

  std::string_view text_of(const std::vector<std::string_view>& fields, std::string_view column) const {
    const auto at = std::ranges::find(columns_, column);
    const auto index = static_cast<std::size_t>(at - columns_.begin());
    return at == columns_.end() || index >= fields.size() ? std::string_view() : fields[index];
  }
  std::optional<std::uint64_t> number_of(const std::vector<std::string_view>& fields,
                                         std::string_view column) const {
    return table_number(text_of(fields, column));
  }

  void node(const std::vector<std::string_view>& fields, Spot spot) {
    const auto guid = number_of(fields, "NodeGUID");
    const auto ports = number_of(fields, "NumPorts");
    const auto type = number_of(fields, "NodeType");
    if (!guid || !ports || *ports < 1 || *ports > kMostIbPorts || !type || *type < 1 || *type > 3)
      return complaints_.add(spot, "a node has a NodeGUID, NumPorts and a NodeType");
    ports_ += *ports + 1;
    if (fabric_.nodes.size() >= kMostIbNodes || ports_ > kMostIbPortsInAll)
      return complaints_.add(spot, "more nodes or ports than a subnet has");
    IbNode node;
    node.type = *type == 2 ? IbNodeType::kSwitch : *type == 3 ? IbNodeType::kRouter : IbNodeType::kHca;
    node.guid = *guid;
    node.system_guid = number_of(fields, "SystemImageGUID").value_or(0);
    if (node.is_switch()) node.port_guid = number_of(fields, "PortGUID").value_or(0);
    node.vendor = static_cast<unsigned>(number_of(fields, "VendorID").value_or(0) & 0xFFFFFF);
    node.device = static_cast<unsigned>(number_of(fields, "DeviceID").value_or(0) & 0xFFFF);
    node.description = shown_description(text_of(fields, "NodeDesc"));
    node.ports.resize(*ports + 1);
    for (std::size_t i = 0; i < node.ports.size(); ++i) node.ports[i].number = static_cast<int>(i);
    const auto [known, fresh] = by_guid_.try_emplace(*guid, static_cast<int>(fabric_.nodes.size()));
    // An adapter with several ports may have a row for each.
    if (!fresh && name_of(fabric_.nodes[static_cast<std::size_t>(known->second)]) == name_of(node)) return;
    if (!fresh)
      fabric_.conflicts.push_back(
          {*guid, fmt::format("{} and {}", name_of(fabric_.nodes[static_cast<std::size_t>(known->second)]),
                              name_of(node))});
    fabric_.nodes.push_back(std::move(node));
  }

  // Returns the port that two columns name; none, with a complaint, if there is none.
  std::optional<IbEnd> end_of(const std::vector<std::string_view>& fields, std::string_view guid,
                              std::string_view number, Spot spot) {
    const auto owner = number_of(fields, guid);
    const auto port = number_of(fields, number);
    const auto known = owner ? by_guid_.find(*owner) : by_guid_.end();
    if (known == by_guid_.end() || !port ||
        *port >
            static_cast<std::uint64_t>(fabric_.nodes[static_cast<std::size_t>(known->second)].last_port())) {
      complaints_.add(spot, "it names a port that the section NODES does not have");
      return std::nullopt;
    }
    return IbEnd{known->second, static_cast<int>(*port)};
  }

  void port(const std::vector<std::string_view>& fields, Spot spot) {
    const auto end = end_of(fields, "NodeGuid", "PortNum", spot);
    if (!end) return;
    ports_read_ = true;
    IbPort& port = fabric_.port(*end);
    const bool of_switch = fabric_.at(*end).is_switch();
    const auto number = [&](std::string_view column) { return number_of(fields, column).value_or(0); };
    if (!of_switch) port.guid = number("PortGuid");
    if (!of_switch || end->port == 0) {
      port.lid = static_cast<unsigned>(number("LID") & 0xFFFF);
      port.lmc = static_cast<unsigned>(number("LMC") & 0x7);
      port.sm_lid = static_cast<unsigned>(number("MSMLID") & 0xFFFF);
    }
    const auto state = number("PortState");
    if (state >= 1 && state <= 4) port.state = static_cast<IbState>(state);
    port.link_up = number("PortPhyState") == 5;
    if (!port.link_up || end->port == 0) return;
    const IbLink active{widest_in(number("LinkWidthActv")), fastest_in(number("LinkSpeedActv"))};
    const IbLink supported{widest_in(number("LinkWidthSup")), fastest_in(number("LinkSpeedSup"))};
    if (active.width > 0 && active.speed != IbSpeed::kNone) port.active = active;
    if (supported.width > 0 && supported.speed != IbSpeed::kNone) port.supported = supported;
  }

  void link(const std::vector<std::string_view>& fields, Spot spot) {
    const auto one = end_of(fields, "NodeGuid1", "PortNum1", spot);
    const auto other = one ? end_of(fields, "NodeGuid2", "PortNum2", spot) : std::nullopt;
    if (!one || !other) return;
    const IbEnd known = fabric_.port(*one).peer, back = fabric_.port(*other).peer;
    if (known == *other && back == *one) return;  // stated from the other end as well
    if (known || back || *one == *other || one->port == 0 || other->port == 0)
      return complaints_.add(spot, "one of these ports has another link, or can have none");
    join(fabric_, *one, *other);
    for (const IbEnd& end : std::array{*one, *other}) fabric_.port(end).link_up = true;
  }

  std::string_view text_;
  Complaints complaints_;
  IbFabric fabric_;
  std::vector<std::string_view> columns_;
  bool ports_read_ = false;
  std::size_t ports_ = 0;
  std::unordered_map<std::uint64_t, int> by_guid_;
};

}  // namespace

Result<IbFabric> parse_fabric_tables(std::string_view text, std::string_view file) {
  return TablesReader(text, file).read();
}

}  // namespace railbed
