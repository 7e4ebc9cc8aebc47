// The forms, by example (rdma-core, infiniband-diags/perfquery.c, ibportstate.c, smpquery.c; libibmad/dump.c):
//
//   # Port counters: Lid 6 port 1 (CapMask: 0x5200)        # Port extended counters: Lid 6 port 1 …   (perfquery -x)
//   PortSelect:......................1                     … Lid 6 port 255, Lid 6 all ports          (the sum, -a)
//   SymbolErrorCounter:..............0                     SymbolErrors:… before infiniband-diags 1.5
//
//   Switch PortInfo:                                       CA/RT PortInfo:   PortInfo:
//   # Port info: Lid 1 port 18                             # Port info: DR path slid 65535; dlid 65535; 0,1 port 15
//   LinkState:.......................Active
//   LinkSpeedActive:.................Extended speed        LinkSpeedExtActive:..............25.78125 Gbps
//   # MLNX ext Port info: Lid 1 port 18                    LinkSpeedActive:.................0x01      (FDR10)
//   Peer PortInfo:                                         (of a switch's port)
//   # Port info: Lid 1 DR path slid 2; dlid 65535; 0,18 port 17
//
//   # Node info: Lid 5                                     NodeType:........................Channel Adapter
#include "fabric/port_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/wording.h"
#include "fabric/both_ends.h"

namespace railbed {
namespace {

constexpr std::string_view kCounters = "# Port counters: ";
constexpr std::string_view kExtended = "# Port extended counters: ";
constexpr std::string_view kInfo = "# Port info: ";
constexpr std::string_view kVendorInfo = "# MLNX ext Port info: ";
constexpr std::string_view kNodeHead = "# Node info: ";
constexpr int kAllPorts = 255;
constexpr std::size_t kMostReported = 1 << 15;  // ports: each was a command of its own
constexpr std::size_t kMostReadings = 16;       // of one place that differ

// Names of infiniband-diags before 1.5.
constexpr std::pair<std::string_view, IbCounter> kOldNames[] = {
    {"SymbolErrors", IbCounter::kSymbolErrors},
    {"LinkRecovers", IbCounter::kLinkErrorRecovery},
    {"LinkDowned", IbCounter::kLinkDowned},
    {"RcvErrors", IbCounter::kRcvErrors},
    {"RcvRemotePhysErrors", IbCounter::kRcvRemotePhysicalErrors},
    {"RcvSwRelayErrors", IbCounter::kRcvSwitchRelayErrors},
    {"XmtDiscards", IbCounter::kXmitDiscards},
    {"XmtConstraintErrors", IbCounter::kXmitConstraintErrors},
    {"RcvConstraintErrors", IbCounter::kRcvConstraintErrors},
    {"LinkIntegrityErrors", IbCounter::kLocalLinkIntegrity},
    {"ExcBufOverrunErrors", IbCounter::kExcessiveBufferOverrun},
    {"XmtWait", IbCounter::kXmitWait},
    {"XmtData", IbCounter::kXmitData},
    {"RcvData", IbCounter::kRcvData},
    {"XmtPkts", IbCounter::kXmitPackets},
    {"RcvPkts", IbCounter::kRcvPackets}};

std::optional<IbCounter> counter_of(std::string_view name) {
  const auto& rows = ib_counter_rows();
  const auto row = std::ranges::find(rows, name, &IbCounterRow::name);
  if (row != rows.end()) return static_cast<IbCounter>(row - rows.begin());
  const auto old = std::ranges::find(kOldNames, name, &std::pair<std::string_view, IbCounter>::first);
  return old == std::end(kOldNames) ? std::nullopt : std::optional(old->second);
}

// Reads "LinkState:.......................Active"; nullopt for another line.
std::optional<std::pair<std::string_view, std::string_view>> dotted(std::string_view line) {
  const auto colon = line.find(":.");
  if (colon == 0 || colon == line.npos || line.substr(0, colon).find(' ') != line.npos) return std::nullopt;
  const auto value = line.find_first_not_of('.', colon + 1);
  return std::pair(line.substr(0, colon), value == line.npos ? std::string_view() : trim(line.substr(value)));
}

// The place that a head names: "Lid 6 port 1 (CapMask: …)".
struct Place {
  std::string_view node;  // "Lid 6", "Lid 1 DR path slid 2; dlid 65535; 0,18"
  unsigned lid = 0;       // 0: a path
  int port = 0;
};

std::optional<Place> place_in(std::string_view text) {
  text = trim(text.substr(0, text.find(" (")));
  Place place;
  place.node = text;
  constexpr std::string_view kPort = " port ", kAll = " all ports";
  if (text.ends_with(kAll)) {
    place.node.remove_suffix(kAll.size());
    place.port = kAllPorts;
  } else if (const auto at = text.rfind(kPort); at != text.npos) {
    const auto port = parse_number<int>(text.substr(at + kPort.size()));
    if (!port || *port < 0 || *port > kAllPorts) return std::nullopt;
    place.node = text.substr(0, at);
    place.port = *port;
  }
  constexpr std::string_view kLid = "Lid ";
  constexpr std::size_t kLongest = 400;  // a path has 64 hops at most
  if (place.node.size() > kLongest || !(place.node.starts_with(kLid) || place.node.starts_with("DR path ")))
    return std::nullopt;
  if (const auto lid = parse_number<unsigned>(place.node.substr(kLid.size()));
      place.node.starts_with(kLid) && lid && *lid <= 0xFFFF)
    place.lid = *lid;
  return place;
}

// Returns the fastest of "2.5 Gbps or 5.0 Gbps"; none for "Extended speed" and for a speed without a name here.
IbSpeed fastest_of(std::string_view text) {
  IbSpeed fastest = IbSpeed::kNone;
  for (const auto word : words(text)) fastest = std::max(fastest, signaled_speed(word));
  return fastest;
}

// Returns the widest of "1X or 4X"; 0 if none is named.
int widest_of(std::string_view text) {
  int widest = 0;
  for (const auto word : words(text)) widest = std::max(widest, ib_width(word));
  return widest;
}

// Collects the lines of a block about a port.
struct Stated {
  IbState state = IbState::kNotSaid;
  std::string_view physical = {};
  IbLink active, supported, enabled;
  bool fdr10 = false;

  void take(std::string_view key, std::string_view value) {
    if (key == "PhysLinkState") physical = value;
    if (const IbState named = ib_state(value); key == "LinkState" && named != IbState::kNotSaid)
      state = named;
    for (const auto& [end, link] :
         {std::pair{"Active", &active}, {"Supported", &supported}, {"Enabled", &enabled}}) {
      if (key == std::string("LinkWidth").append(end)) link->width = widest_of(value);
      // LinkSpeedExtActive, LinkSpeedExtActive2
      const auto bare = key.ends_with('2') ? key.substr(0, key.size() - 1) : key;
      if (key.starts_with("LinkSpeed") && bare.ends_with(end))
        link->speed = std::max(link->speed, fastest_of(value));
    }
  }
};

class PortReportReader {
 public:
  Result<IbPortReport> read(std::string_view text, std::string_view file) {
    for (const std::string_view line : lines(text)) {
      take(trim(line));
      if (report_.fabric.nodes.size() > kMostIbNodes || ports_ > kMostIbPortsInAll ||
          std::max(counts_.size(), physical_.size()) > kMostReported)
        return fail(ErrorKind::kBadInput,
                    fmt::format("{}: more than {} ports; give ibqueryerrors or iblinkinfo of the subnet",
                                file, kMostReported));
    }
    finish();
    if (too_many_)
      return fail(ErrorKind::kBadInput,
                  fmt::format("{}: more than {} different states of one port", file, kMostReadings));
    if (nodes_.empty())
      return fail(ErrorKind::kBadInput,
                  fmt::format("{}: no block of perfquery, ibportstate or smpquery", file));
    join_peers();
    std::erase_if(report_.traffic_only, [&](const IbEnd& end) { return counts_.contains(end); });
    set_aside_passing();
    for (const auto& [end, physical] : physical_) {
      if (physical == "Disabled") report_.disabled.push_back(end);
      if (physical == "Polling" && std::ranges::find(report_.passing, end) == report_.passing.end())
        report_.polling.push_back(end);
    }
    for (auto& [end, counts] : counts_) report_.look.ports.push_back({end, counts, std::nullopt});
    report_.fabric.states = std::ranges::any_of(report_.fabric.nodes, [](const IbNode& node) {
      return std::ranges::any_of(node.ports,
                                 [](const IbPort& port) { return port.state != IbState::kNotSaid; });
    });
    report_.from = file;
    return std::move(report_);
  }

 private:
  enum class Block { kNone, kCounters, kInfo, kNode };

  void take(std::string_view line) {
    if (line == "Peer PortInfo:") {
      finish();
      peer_ = true;
    } else if (line.ends_with("PortInfo:")) {
      finish();
      of_switch_ = line.find("Switch") != line.npos;
    } else if (line == "After PortInfo set:") {
      finish();
      after_ = true;
    } else if (line.starts_with(kVendorInfo) && block_ == Block::kInfo) {
      vendor_ = true;
    } else if (line.starts_with("# ")) {
      head(line);
    } else if (const auto pair = dotted(line); pair && block_ != Block::kNone) {
      value(pair->first, pair->second);
    }
  }

  void head(std::string_view line) {
    const bool of_peer = peer_, after = after_;
    finish();
    constexpr std::pair<std::string_view, Block> kHeads[] = {{kCounters, Block::kCounters},
                                                             {kExtended, Block::kCounters},
                                                             {kInfo, Block::kInfo},
                                                             {kNodeHead, Block::kNode}};
    for (const auto& [begin, block] : kHeads) {
      if (!line.starts_with(begin)) continue;
      const auto place = place_in(line.substr(begin.size()));
      if (!place) return;
      end_ = {node_of(*place, of_peer), place->port == kAllPorts ? 0 : place->port};
      is_sum_ = place->port == kAllPorts;
      add_port(end_);
      block_ = block;
      of_peer_ = of_peer;
      changed_ = after;
      return;
    }
  }

  int node_of(const Place& place, bool of_peer) {
    const auto [known, fresh] = nodes_.try_emplace(std::string(place.node), static_cast<int>(nodes_.size()));
    if (!fresh) return known->second;
    IbNode node;
    node.type = of_switch_ && !of_peer ? IbNodeType::kSwitch : IbNodeType::kHca;
    node.description = place.lid != 0     ? fmt::format("LID {}", place.lid)
                       : of_peer && last_ ? "the peer of " + place_of(report_.fabric, *last_)
                                          : printable(place.node);
    report_.fabric.nodes.push_back(std::move(node));
    report_.lids.push_back(place.lid);
    readings_.push_back({known->second});
    return known->second;
  }

  // Returns the reading of the block's port that `is_it`, else a new one: two ports of one LID on two subnets, or one
  // port at two times, are both kept. nullopt if there are too many.
  template <class IsIt>
  std::optional<IbEnd> reading_of_port(IsIt is_it) {
    auto& readings = readings_[static_cast<std::size_t>(end_.node)];
    for (const int node : readings) {
      const IbEnd end{node, end_.port};
      add_port(end);
      if (is_it(end)) return end;
    }
    if (readings.size() >= kMostReadings) return std::nullopt;
    IbNode again = report_.fabric.at(end_);
    again.ports.clear();
    again.description += fmt::format(", reading {}", readings.size() + 1);
    const IbEnd end{static_cast<int>(report_.fabric.nodes.size()), end_.port};
    readings.push_back(end.node);
    report_.fabric.nodes.push_back(std::move(again));
    report_.lids.push_back(report_.lids[static_cast<std::size_t>(end_.node)]);
    readings_.emplace_back();
    report_.differing.push_back(end_);
    add_port(end);
    return end;
  }

  void add_port(const IbEnd& end) {
    ports_ += grow_ports(report_.fabric.nodes[static_cast<std::size_t>(end.node)], end.port);
  }

  void value(std::string_view key, std::string_view text) {
    if (block_ == Block::kCounters) return count(key, text);
    if (block_ == Block::kInfo && vendor_) {
      stated_.fdr10 |= key == "LinkSpeedActive" && text == "0x01";
      return;
    }
    if (block_ == Block::kInfo) return stated_.take(key, text);
    IbNode& node = report_.fabric.nodes[static_cast<std::size_t>(end_.node)];
    if (key == "NodeType" && text == "Switch") node.type = IbNodeType::kSwitch;
    if (key == "Guid") node.guid = parse_number<std::uint64_t>(text, 16).value_or(0);
  }

  void count(std::string_view key, std::string_view text) {
    const auto number = parse_number<std::uint64_t>(text);
    if (key == "PortSelect" && number == kAllPorts) is_sum_ = true;
    const auto counter = counter_of(key);
    if (!counter || !number) return;
    read_.value[static_cast<std::size_t>(*counter)] = *number;
    errors_ |= !is_traffic(*counter) && *counter != IbCounter::kXmitWait;
    any_ = true;
  }

  // Ends the block.
  void finish() {
    if (block_ == Block::kCounters && any_) {
      if (is_sum_)
        report_.sums.push_back(end_);
      else if (errors_)
        add_counts();
      else
        report_.traffic_only.push_back(end_);
    }
    if (block_ == Block::kInfo) end_info();
    block_ = Block::kNone;
    stated_ = {};
    read_ = {};
    any_ = errors_ = vendor_ = peer_ = is_sum_ = after_ = of_peer_ = changed_ = false;
  }

  void add_counts() {
    // Traffic grows between two readings of a port, and is no other reading.
    const auto same_errors = [&](const IbEnd& end) {
      const auto known = counts_.find(end);
      constexpr auto kErrors = static_cast<std::ptrdiff_t>(IbCounter::kXmitWait);
      return known == counts_.end() ||
             std::equal(read_.value.begin(), read_.value.begin() + kErrors, known->second.value.begin());
    };
    if (const auto end = reading_of_port(same_errors)) {
      counts_.insert_or_assign(*end, read_);
      return;
    }
    // The last reading has the most that was read at any time.
    IbCounts& last = counts_.at({readings_[static_cast<std::size_t>(end_.node)].back(), end_.port});
    for (std::size_t i = 0; i < kIbCounters; ++i) last.value[i] = std::max(last.value[i], read_.value[i]);
  }

  // Keeps the block's state of a port. The state after the port was set replaces the one before.
  void end_info() {
    IbPort read;
    set_port(read);
    const auto is_it = [&](const IbEnd& end) {
      const IbPort& port = report_.fabric.port(end);
      const auto physical = physical_.find(end);
      return read.state == IbState::kNotSaid || port.state == IbState::kNotSaid ||
             (port.state == read.state && physical->second == stated_.physical &&
              port.active == read.active && port.supported == read.supported && port.enabled == read.enabled);
    };
    const bool replaces = changed_ && !of_peer_ && place_ == end_ && last_;
    const auto end = replaces ? last_ : reading_of_port(is_it);
    too_many_ |= !end;
    if (!end) return;
    if (read.state != IbState::kNotSaid) {
      physical_.insert_or_assign(*end, stated_.physical);
      if (read.state == IbState::kActive) was_active_.insert(*end);
      if (replaces) set_.insert(*end);
      set_port(report_.fabric.port(*end));
    }
    if (of_peer_ && last_) {
      peers_.insert_or_assign(*last_, *end);
    } else {
      last_ = end;
      place_ = end_;
    }
  }

  void set_port(IbPort& port) {
    if (stated_.state == IbState::kNotSaid) return;
    port.state = stated_.state;
    port.link_up = stated_.physical == "LinkUp";
    const auto known = [](const IbLink& link) { return link.width > 0 && link.speed != IbSpeed::kNone; };
    if (stated_.fdr10 && stated_.active.speed == IbSpeed::kQdr) stated_.active.speed = IbSpeed::kFdr10;
    // A port without a link keeps what it would begin with.
    port.active = known(stated_.active) && port.link_up ? stated_.active : IbLink{};
    port.supported = known(stated_.supported) ? stated_.supported : IbLink{};
    port.enabled = known(stated_.enabled) ? stated_.enabled : IbLink{};
  }

  // A port that was active and was set comes up again within seconds. What it was in between is no verdict.
  void set_aside_passing() {
    for (const IbEnd& end : set_) {
      IbPort& port = report_.fabric.port(end);
      const bool passes =
          port.state == IbState::kInit || port.state == IbState::kArmed || physical_.at(end) == "Polling";
      if (!passes || !was_active_.contains(end)) continue;
      port.state = IbState::kNotSaid;
      port.link_up = false;
      port.active = {};
      report_.passing.push_back(end);
    }
  }

  void join_peers() {
    for (const auto& [end, peer] : peers_)
      if (end != peer && !report_.fabric.port(end).peer && !report_.fabric.port(peer).peer)
        join(report_.fabric, end, peer);
  }

  IbPortReport report_;
  std::map<std::string, int> nodes_;        // by their places
  std::vector<std::vector<int>> readings_;  // of each node: itself and what differs; empty for the latter
  std::map<IbEnd, IbCounts> counts_;
  std::map<IbEnd, std::string_view> physical_;
  std::map<IbEnd, IbEnd> peers_;
  std::size_t ports_ = 0;
  std::set<IbEnd> was_active_, set_;
  bool too_many_ = false;  // states of one port

  // The block that is read.
  Block block_ = Block::kNone;
  IbEnd end_;
  std::optional<IbEnd> last_;  // the reading of the last block of Port info that is no peer's
  IbEnd place_;                // its port
  Stated stated_;
  IbCounts read_;
  bool any_ = false, errors_ = false, vendor_ = false, peer_ = false, is_sum_ = false, of_switch_ = false;
  bool after_ = false;    // the next block is what a port was set to
  bool of_peer_ = false;  // the block is
  bool changed_ = false;
};

constexpr std::size_t kMostShown = 8;

// Returns whether the settings of a port keep it below what it could do with any cable that is sold.
bool is_set_below(const IbPort& port) {
  constexpr int kWidestSold = 4;
  return port.enabled.width > 0 && port.supported.width > 0 &&
         (port.enabled.width < std::min(port.supported.width, kWidestSold) ||
          port.enabled.speed < port.supported.speed);
}

// Returns the places of some ports, no more than a line holds.
std::string places(const IbFabric& fabric, const std::vector<IbEnd>& ends) {
  std::vector<std::string> named;
  for (const IbEnd& end : ends)
    if (named.size() < kMostShown) named.push_back(place_of(fabric, end));
  return fmt::format("{}{}", fmt::join(named, ", "),
                     ends.size() > kMostShown ? fmt::format(" and {} more", ends.size() - kMostShown) : "");
}

}  // namespace

std::string IbPortReport::summary() const {
  std::size_t states = 0;
  for (const IbNode& node : fabric.nodes)
    states += static_cast<std::size_t>(std::ranges::count_if(
        node.ports, [](const IbPort& port) { return port.state != IbState::kNotSaid; }));
  std::vector<std::string> parts;
  if (!look.ports.empty()) parts.push_back("error counters of " + counted(look.ports.size(), "port"));
  if (states > 0) parts.push_back("the state of " + counted(states, "port"));
  std::string text =
      "ports of an InfiniBand subnet: " +
      (parts.empty() ? std::string("nothing that is judged") : fmt::format("{}", fmt::join(parts, ", ")));
  if (!disabled.empty())
    text +=
        fmt::format("; disabled: {} (`ibportstate LID PORT enable` undoes that)", places(fabric, disabled));
  if (!polling.empty())
    text += fmt::format("; no cable, or nothing alive at its other end: {}", places(fabric, polling));
  if (!passing.empty())
    text += fmt::format("; on the way up after it was set, so that its state is not known: {} (ask again)",
                        places(fabric, passing));
  std::vector<std::string> narrowed;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    for (const IbPort& port : fabric.nodes[n].ports)
      if (is_set_below(port) && narrowed.size() < kMostShown)
        narrowed.push_back(fmt::format("{} is set to {} of {}",
                                       place_of(fabric, {static_cast<int>(n), port.number}),
                                       port.enabled.to_text(), port.supported.to_text()));
  if (!narrowed.empty()) text += fmt::format("; {}", fmt::join(narrowed, ", "));
  if (!differing.empty())
    text += fmt::format(
        "; printed with different values, of two ports or at two times, of which each is judged: {}",
        places(fabric, differing));
  if (!sums.empty()) text += "; sums of all ports of a node are not judged, since limits are for one port";
  if (!traffic_only.empty())
    text += fmt::format("; no errors are printed of {}: give `perfquery` without -x as well",
                        places(fabric, traffic_only));
  return text;
}

bool is_port_report(std::string_view text) {
  bool below_head = false;
  for (const std::string_view line : lines(text.substr(0, 64 << 10))) {
    const auto trimmed = trim(line);
    if (below_head && dotted(trimmed)) return true;
    below_head = false;
    for (const auto head : {kCounters, kExtended, kInfo, kNodeHead})
      below_head |= trimmed.starts_with(head) && place_in(trimmed.substr(head.size())).has_value();
  }
  return false;
}

Result<IbPortReport> parse_port_report(std::string_view text, std::string_view file) {
  return PortReportReader().read(text, file);
}

IbPortReport joined(std::vector<IbPortReport> reports) {
  std::map<std::string, std::size_t> files;  // of each name
  for (const IbPortReport& report : reports) {
    std::set<std::string> names;
    for (const IbNode& node : report.fabric.nodes) names.insert(node.description);
    for (const std::string& name : names) ++files[name];
  }
  IbPortReport all;
  for (IbPortReport& report : reports) {
    const int first = static_cast<int>(all.fabric.nodes.size());
    if (first == 0) all.from = report.from;
    all.fabric.states |= report.fabric.states;
    for (IbNode& node : report.fabric.nodes) {
      for (IbPort& port : node.ports)
        if (port.peer) port.peer.node += first;
      if (files[node.description] > 1)
        node.label = fmt::format("{} ({})", node.description, printable(report.from));
      all.fabric.nodes.push_back(std::move(node));
    }
    all.lids.insert(all.lids.end(), report.lids.begin(), report.lids.end());
    for (IbCounterReading& reading : report.look.ports) {
      reading.end.node += first;
      all.look.ports.push_back(reading);
    }
    for (const auto ends : {&IbPortReport::disabled, &IbPortReport::polling, &IbPortReport::sums,
                            &IbPortReport::traffic_only, &IbPortReport::differing, &IbPortReport::passing})
      for (const IbEnd& end : report.*ends) (all.*ends).push_back({end.node + first, end.port});
  }
  return all;
}

IbCounterLook counters_in(const IbFabric& fabric, const IbPortReport& report, std::size_t& unknown) {
  std::map<unsigned, std::pair<IbEnd, int>>
      owners;  // the port that has a LID, of a switch port 0; and its plane
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n) {
    const int node = static_cast<int>(n);
    if (fabric.nodes[n].is_switch())
      for (const IbPlane& plane : fabric.nodes[n].planes)
        owners.emplace(plane.lid, std::pair(IbEnd{node, 0}, plane.number));
    for (const IbPort& port : fabric.nodes[n].ports)
      if (port.lid != 0 && fabric.nodes[n].is_switch() == (port.number == 0))
        owners.emplace(port.lid, std::pair(IbEnd{node, port.number}, 0));
  }
  IbCounterLook look;
  unknown = 0;
  for (const IbCounterReading& reading : report.look.ports) {
    const auto owner = owners.find(report.lids[static_cast<std::size_t>(reading.end.node)]);
    const auto [end, plane] = owner == owners.end() ? std::pair(IbEnd{}, 0) : owner->second;
    const bool found = end && (fabric.at(end).is_switch() ? reading.end.port <= fabric.at(end).last_port()
                                                          : reading.end.port == end.port);
    if (found)
      look.ports.push_back({{end.node, reading.end.port}, reading.first, std::nullopt, plane});
    else
      ++unknown;
  }
  return look;
}

}  // namespace railbed
