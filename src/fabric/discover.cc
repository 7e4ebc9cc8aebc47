#include "fabric/discover.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fabric/questions.h"

namespace railbed {
namespace {

// A search by directed routes. A request for NodeInfo goes along a path of ports, and the GUID in the
// response identifies the node at its end. A node seen for the first time is queried for its description and
// for PortInfo of every port. Each switch port with a link extends the path by one hop, to the node behind
// it. A node that was reached before only gets the new cable, at both ends, and a cable that is known is not
// followed again. So the cost is about one request for each port and each cable. Two nodes with the same GUID
// show up as a node that has two types, or two cables in one port: a conflict. Handlers run inside
// Questions::run(), which keeps many requests in flight.
class Discovery {
 public:
  Discovery(MadDoor& door, const DiscoveryLimits& limits) : limits_(limits), questions_(door, limits) {}

  Result<IbFabric> run() {
    fabric_.live = true;
    ask_node({}, {});
    if (auto done = questions_.run(); !done) return fail(done.error(), "discover the subnet");
    if (fabric_.nodes.empty())
      return fail(ErrorKind::kUnavailable,
                  "the port does not answer for itself: is its link layer InfiniBand?");
    tell_apart(fabric_);
    return std::move(fabric_);
  }

 private:
  // Identifies the node at the end of `path`, behind the port `from`.
  void ask_node(const IbEnd& from, MadPath path) {
    Mad question = ask_directed(path, MadAttribute::kNodeInfo, 0, 0);
    questions_.ask(question, {}, [this, from, path = std::move(path)](const Mad* answer) mutable {
      found_node(from, std::move(path), answer);
    });
  }

  void silent(const IbEnd& from, std::string text) {
    if (from) fabric_.silent.push_back({from, std::move(text)});
  }

  void found_node(const IbEnd& from, MadPath path, const Mad* answer) {
    if (answer == nullptr) return silent(from, "no answer to NodeInfo");
    auto info = node_info(*answer);
    if (!info) return silent(from, "its NodeInfo makes no sense");
    const auto [known, fresh] = by_guid_.emplace(info->node.guid, static_cast<int>(fabric_.nodes.size()));
    const int local_port = info->local_port;
    if (fresh) {
      ports_ += info->node.ports.size();
      if (fabric_.nodes.size() >= limits_.nodes || ports_ > limits_.ports) {
        by_guid_.erase(known);
        return silent(from, "there are more nodes than a subnet has");
      }
      if (fabric_.nodes.empty()) {
        fabric_.from_node = info->node.guid;
        fabric_.from_port = info->node.port_guid;
      }
      fabric_.nodes.push_back(std::move(info->node));
      ask_about(known->second, local_port, path);
    } else if (const IbNode& there = fabric_.nodes[static_cast<std::size_t>(known->second)];
               there.type != info->node.type || there.ports.size() != info->node.ports.size()) {
      return conflict(info->node.guid, from, "which differ in type or ports");
    }
    if (!from) return;
    const IbEnd here{known->second, local_port};
    if (!fabric_.at(here).is_switch()) fabric_.port(here).guid = info->node.port_guid;
    const IbEnd peer = fabric_.port(here).peer;
    if (peer && peer != from)
      return conflict(fabric_.at(here).guid, from, "which are cabled to different ports");
    if (!peer && !fabric_.port(from).peer) join(fabric_, from, here);
  }

  void conflict(std::uint64_t guid, const IbEnd& from, std::string_view how) {
    // The GUID is the identifier here: the name is read at the same time and may not be known yet.
    if (fabric_.conflicts.size() < kMostConflicts)
      fabric_.conflicts.push_back({guid, from ? fmt::format("one is behind port {} of {}; {}", from.port,
                                                            guid_text(fabric_.at(from).guid), how)
                                              : std::string(how)});
  }

  // Reads the rest of a node that was seen for the first time.
  void ask_about(int node, int local_port, const MadPath& path) {
    questions_.ask(ask_directed(path, MadAttribute::kNodeDescription, 0, 0), {},
                   [this, node](const Mad* answer) {
                     if (answer != nullptr)
                       fabric_.nodes[static_cast<std::size_t>(node)].description = node_description(*answer);
                   });
    const IbNode& added = fabric_.nodes[static_cast<std::size_t>(node)];
    if (!added.is_switch()) fabric_.port({node, local_port}).guid = added.port_guid;
    if (added.is_switch())
      questions_.ask(
          ask_directed(path, MadAttribute::kSwitchInfo, 0, 0), {}, [this, node](const Mad* answer) {
            if (answer != nullptr)
              fabric_.nodes[static_cast<std::size_t>(node)].enhanced_port0 = has_enhanced_port0(*answer);
          });
    const int first = added.is_switch() ? 0 : 1;
    const int last = added.last_port();
    for (int port = first; port <= last; ++port) {
      // An HCA does not forward. Only its port that was reached leads on, and only where discovery began.
      const bool leads_on = added.is_switch() ? port > 0 : path.empty() && port == local_port;
      questions_.ask(ask_directed(path, MadAttribute::kPortInfo, static_cast<std::uint32_t>(port), 0), {},
                     [this, end = IbEnd{node, port}, leads_on, path](const Mad* answer) {
                       if (answer != nullptr) found_port(end, leads_on, path, *answer);
                     });
    }
  }

  void found_port(const IbEnd& end, bool leads_on, const MadPath& path, const Mad& answer) {
    IbPort& port = fabric_.port(end);
    port_info(answer, port);
    if (may_run_fdr10(fabric_.at(end), port)) ask_vendor(end, path);
    if (port.runs_manager) ask_manager(end, path);
    if (!leads_on || !port.link_up || port.peer || path.size() >= kMostHops) return;
    MadPath further = path;
    further.push_back(static_cast<std::uint8_t>(end.port));
    ask_node(end, std::move(further));
  }

  void ask_vendor(const IbEnd& end, const MadPath& path) {
    Mad question = ask_directed(path, MadAttribute::kVendorPortInfo, static_cast<std::uint32_t>(end.port), 0);
    questions_.ask(question, {}, [this, end](const Mad* answer) {
      if (answer != nullptr) vendor_port_info(*answer, fabric_.port(end));
    });
  }

  void ask_manager(const IbEnd& end, const MadPath& path) {
    questions_.ask(ask_directed(path, MadAttribute::kSmInfo, 0, 0), {}, [this, end](const Mad* answer) {
      if (answer == nullptr) return fabric_.mute_managers.push_back(end);
      IbManager manager = sm_info(*answer);
      manager.end = end;
      manager.lid = fabric_.port(end).lid;
      fabric_.managers.push_back(manager);
    });
  }

  static constexpr std::size_t kMostConflicts = 1000;

  const DiscoveryLimits& limits_;
  IbFabric fabric_;
  std::unordered_map<std::uint64_t, int> by_guid_;
  std::size_t ports_ = 0;
  Questions questions_;
};

// Returns the LID that reaches a port: for a switch's ports, the LID of its port 0.
unsigned lid_for(const IbNode& node, const IbPort& port) {
  return node.is_switch() ? node.ports[0].lid : port.lid;
}

// By node: its 64-bit counters. A node that does not respond counts as one that has none.
using Extended = std::vector<ExtendedCounters>;

Result<Extended> ask_extended(MadDoor& door, const IbFabric& fabric, const IbCounterLook& look,
                              const DiscoveryLimits& limits) {
  Extended extended(fabric.nodes.size());
  Questions questions(door, limits);
  int last = -1;
  for (const IbCounterReading& reading : look.ports) {
    if (std::exchange(last, reading.end.node) == reading.end.node) continue;
    const auto lid = static_cast<std::uint16_t>(lid_for(fabric.at(reading.end), fabric.port(reading.end)));
    questions.ask(ask_counters(MadAttribute::kClassPortInfo, 0), {lid, true},
                  [&has = extended[static_cast<std::size_t>(reading.end.node)]](const Mad* answer) {
                    if (answer != nullptr) has = extended_counters(*answer);
                  });
  }
  RETURN_IF_ERROR(questions.run());
  return extended;
}

// Reads every port in `look` into `first`, or into `second` if `again`. Ports that do not respond are counted
// and then removed.
Result<void> read_once(MadDoor& door, const IbFabric& fabric, IbCounterLook& look, bool again,
                       const Extended& extended, const DiscoveryLimits& limits) {
  Questions questions(door, limits);
  for (IbCounterReading& reading : look.ports) {
    const int port = reading.end.port;
    const auto lid = static_cast<std::uint16_t>(lid_for(fabric.at(reading.end), fabric.port(reading.end)));
    IbCounts& counts = again ? reading.second.emplace() : reading.first;
    const ExtendedCounters has =
        extended.empty() ? ExtendedCounters{} : extended[static_cast<std::size_t>(reading.end.node)];
    if (has.data || has.errors)
      questions.ask(ask_counters(MadAttribute::kPortCountersExtended, port), {lid, true},
                    [&counts, port, has](const Mad* answer) {
                      if (answer != nullptr) add_extended_counters(*answer, port, has, counts);
                    });
    questions.ask(ask_counters(MadAttribute::kPortCounters, port), {lid, true},
                  [&look, &reading, &counts, port](const Mad* answer) {
                    const auto said = answer != nullptr ? port_counters(*answer, port) : std::nullopt;
                    if (!said) {
                      ++look.unanswered;
                      reading.end = {};
                      return;
                    }
                    for (std::size_t i = 0; i < kIbCounters; ++i)
                      counts.value[i] = std::max(counts.value[i], said->value[i]);
                  });
  }
  auto done = questions.run();
  std::erase_if(look.ports, [](const IbCounterReading& reading) { return !reading.end; });
  return done;
}

}  // namespace

Result<IbFabric> discover_fabric(MadDoor& door, const DiscoveryLimits& limits) {
  return Discovery(door, limits).run();
}

Result<IbCounterLook> read_ib_totals(MadDoor& door, const IbFabric& fabric, const DiscoveryLimits& limits) {
  constexpr std::size_t kMostDarkPorts = 65536;  // a limit, since a switch may report any number of ports
  std::size_t dark = 0;
  IbCounterLook look;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    for (const IbPort& port : fabric.nodes[n].ports) {
      const bool is_linked = port.peer && port.state == IbState::kActive;
      // A switch responds for its ports without a link; an HCA cannot be reached through such a port.
      const bool answers = is_linked || (fabric.nodes[n].is_switch() && dark < kMostDarkPorts);
      if (port.number == 0 || !answers || lid_for(fabric.nodes[n], port) == 0) continue;
      look.ports.push_back({{static_cast<int>(n), port.number}, {}, std::nullopt});
      dark += is_linked ? 0 : 1;
    }
  const auto extended = ask_extended(door, fabric, look, limits);
  if (!extended) return fail(extended.error(), "read the counters");
  if (auto read = read_once(door, fabric, look, false, *extended, limits); !read)
    return fail(read.error(), "read the counters");
  return look;
}

Result<IbCounterLook> read_ib_counters(MadDoor& door, const IbFabric& fabric, double seconds,
                                       const Sleep& wait, const DiscoveryLimits& limits) {
  IbCounterLook look;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    for (const IbPort& port : fabric.nodes[n].ports)
      // Other ports cannot be read: only management of the subnet passes a port that is not active.
      if (port.peer && port.state == IbState::kActive && lid_for(fabric.nodes[n], port) != 0)
        look.ports.push_back({{static_cast<int>(n), port.number}, {}, std::nullopt});
  // The 32-bit counters of a port in use stop at their maximum, so growth needs the 64-bit ones.
  Extended extended;
  if (seconds > 0) {
    auto said = ask_extended(door, fabric, look, limits);
    if (!said) return fail(said.error(), "read the counters");
    extended = std::move(*said);
  }
  const auto begin = std::chrono::steady_clock::now();
  if (auto read = read_once(door, fabric, look, false, extended, limits); !read)
    return fail(read.error(), "read the counters");
  if (seconds <= 0 || look.ports.empty()) return look;
  if (!wait(std::chrono::duration<double>(seconds))) return fail(ErrorKind::kCancelled, "stopped");
  look.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (auto read = read_once(door, fabric, look, true, extended, limits); !read)
    return fail(read.error(), "read the counters");
  return look;
}

void ask_managers(MadDoor& door, IbFabric& fabric, const DiscoveryLimits& limits) {
  Questions questions(door, limits);
  for (IbManager& manager : fabric.managers) {
    if (manager.lid == 0) continue;
    questions.ask(ask_by_lid(MadAttribute::kSmInfo, 0, 0), {static_cast<std::uint16_t>(manager.lid), false},
                  [&manager](const Mad* answer) {
                    if (answer == nullptr) return;
                    const IbManager now = sm_info(*answer);
                    manager.activity = now.activity;
                    manager.state = now.state;
                    manager.priority = now.priority;
                  });
  }
  // A manager that does not respond keeps its earlier values; so do the rest if the run ends early.
  static_cast<void>(questions.run());
}

}  // namespace railbed
