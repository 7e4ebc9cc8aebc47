#include "fabric/planes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "fabric/both_ends.h"

namespace railbed {
namespace {

constexpr IbLink kLinkOfPlane{1, IbSpeed::kXdr};

// A description apart from its plane: "MF0;leaf1:Q3400_RA" and 2, of a router in it with "/RT" behind.
struct PlaneName {
  std::string box;
  int plane = 0;
};

std::optional<PlaneName> plane_name(std::string_view description) {
  constexpr std::string_view kRouter = "/RT", kMark = "/U";
  const bool router = description.ends_with(kRouter);
  if (router) description.remove_suffix(kRouter.size());
  const auto mark = description.rfind(kMark);
  if (mark == description.npos) return std::nullopt;
  const auto plane = parse_number<int>(description.substr(mark + kMark.size()));
  if (!plane || *plane < 1 || *plane > kMostIbPlanes) return std::nullopt;
  return PlaneName{std::string(description.substr(0, mark)).append(router ? kRouter : ""), *plane};
}

// A switch with its ASICs: plane → node.
using Planes = std::map<int, int>;

class Merger {
 public:
  explicit Merger(IbFabric& fabric) : fabric_(fabric), box_of_(fabric.nodes.size(), -1) {}

  void run(IbCounterLook* counters) {
    find_switches();
    if (!find_ports()) return;
    renumber();
    merge_adapters();
    merge_switches();
    for (const auto& [first, planes] : behind_) merge_node(first, planes);
    if (counters != nullptr) follow(*counters);
    rebuild();
  }

 private:
  // Where the planes of a port of a switch lead to: plane → end.
  using Peers = std::map<int, IbEnd>;

  IbNode& node(int index) { return fabric_.nodes[static_cast<std::size_t>(index)]; }
  int box_of(int index) const { return box_of_[static_cast<std::size_t>(index)]; }
  bool is_within(const IbNode& one, const IbPort& port) const {
    return port.peer && box_of(index_of(one)) >= 0 && box_of(port.peer.node) == box_of(index_of(one));
  }
  int index_of(const IbNode& one) const { return static_cast<int>(&one - fabric_.nodes.data()); }

  // A chassis has several ASICs of one name, too; only planes have cables of 1xXDR alone.
  void find_switches() {
    std::map<std::pair<std::uint64_t, std::string>, Planes> found;
    std::set<std::pair<std::uint64_t, std::string>> unclear;
    for (const IbNode& one : fabric_.nodes) {
      const auto name = one.is_switch() ? plane_name(one.description) : std::nullopt;
      if (!name) continue;
      const std::pair key{one.system_guid, name->box};
      if (!found[key].emplace(name->plane, index_of(one)).second) unclear.insert(key);
    }
    for (const auto& [key, planes] : found)
      if (planes.size() > 1 && !unclear.contains(key)) {
        for (const auto& [plane, index] : planes)
          box_of_[static_cast<std::size_t>(index)] = static_cast<int>(boxes_.size());
        boxes_.push_back(planes);
      }
    for (Planes& planes : boxes_) {
      bool seen = false, other = false;
      for (const auto& [plane, index] : planes)
        for (const IbPort& port : node(index).ports) {
          if (!port.peer || port.active.width == 0 || is_within(node(index), port)) continue;
          (port.active == kLinkOfPlane ? seen : other) = true;
        }
      if (seen && !other) continue;
      for (const auto& [plane, index] : planes) box_of_[static_cast<std::size_t>(index)] = -1;
      planes.clear();
    }
    std::erase_if(boxes_, [](const Planes& planes) { return planes.empty(); });
    for (std::size_t box = 0; box < boxes_.size(); ++box)
      for (const auto& [plane, index] : boxes_[box])
        box_of_[static_cast<std::size_t>(index)] = static_cast<int>(box);
  }

  // Finds where each port of each switch leads to. Returns false if there is no such switch, planes of a port differ, or
  // two ends do not agree.
  bool find_ports() {
    ports_.resize(boxes_.size());
    for (std::size_t box = 0; box < boxes_.size(); ++box)
      for (const auto& [plane, index] : boxes_[box])
        for (const IbPort& port : node(index).ports) {
          if (!port.peer || is_within(node(index), port)) continue;
          if (fabric_.port(port.peer).peer != IbEnd{index, port.number}) return false;
          ports_[box][port.number].emplace(plane, port.peer);
        }
    for (const auto& ports : ports_)
      for (const auto& [number, peers] : ports)
        if (!lead_to_one(peers)) return false;
    return !boxes_.empty();
  }

  // Returns whether peers are planes of one port: the same port of another such switch, ports of one adapter, or nodes that
  // each plane has for itself, as the engine for reductions and the router are.
  bool lead_to_one(const Peers& peers) {
    const IbEnd first = peers.begin()->second;
    if (box_of(first.node) >= 0)
      return std::ranges::all_of(peers, [&](const auto& peer) {
        return box_of(peer.second.node) == box_of(first.node) && peer.second.port == first.port;
      });
    if (std::ranges::all_of(peers, [&](const auto& peer) { return peer.second.node == first.node; }))
      return peers.size() == 1 || !node(first.node).is_switch();
    std::set<int> nodes;
    for (const auto& [plane, peer] : peers) {
      const IbNode& one = node(peer.node);
      const auto links = std::ranges::count_if(one.ports, [](const IbPort& port) { return bool(port.peer); });
      if (!is_inside(one) || links != 1 || !nodes.insert(peer.node).second ||
          without_plane(one) != without_plane(node(first.node)))
        return false;
    }
    Planes& planes = behind_[first.node];
    for (const auto& [plane, peer] : peers) planes.emplace(plane, peer.node);
    return true;
  }

  // Returns whether a node is a part of a switch and has no cable: its engine for reductions, its router.
  static bool is_inside(const IbNode& one) {
    return !one.is_switch() &&
           (one.type == IbNodeType::kRouter || one.is_aggregation() || plane_name(one.description));
  }

  static std::string without_plane(const IbNode& one) {
    const auto name = plane_name(one.description);
    return name ? name->box : one.description;
  }

  // Sets the new index of each node: planes have that of their first.
  void renumber() {
    std::vector<int> first(fabric_.nodes.size());
    for (std::size_t n = 0; n < first.size(); ++n) first[n] = static_cast<int>(n);
    const auto join_planes = [&](const Planes& planes) {
      int least = planes.begin()->second;
      for (const auto& [plane, index] : planes) least = std::min(least, index);
      for (const auto& [plane, index] : planes) {
        first[static_cast<std::size_t>(index)] = least;
        plane_at_[index] = plane;
      }
    };
    for (const Planes& planes : boxes_) join_planes(planes);
    for (const auto& [index, planes] : behind_) join_planes(planes);
    index_.resize(first.size());
    int next = 0;
    for (std::size_t n = 0; n < first.size(); ++n)
      index_[n] = first[n] == static_cast<int>(n) ? next++ : index_[static_cast<std::size_t>(first[n])];
    kept_.resize(static_cast<std::size_t>(next));
    for (std::size_t n = first.size(); n-- > 0;) kept_[static_cast<std::size_t>(index_[n])] = first[n];
  }

  // Makes one link of an adapter's ports that lead to one port of a switch: at the first of them.
  void merge_adapters() {
    for (std::size_t box = 0; box < ports_.size(); ++box)
      for (const auto& [number, peers] : ports_[box]) {
        const IbEnd first =
            std::ranges::min_element(peers, {}, [](const auto& peer) { return peer.second; })->second;
        if (box_of(first.node) >= 0 || plane_at_.contains(first.node)) continue;
        const IbPort merged = one_port(peers, static_cast<int>(box), !is_inside(node(first.node)));
        for (const auto& [plane, peer] : peers) {
          IbPort cleared;
          cleared.number = peer.port;
          cleared.guid = fabric_.port(peer).guid;
          fabric_.port(peer) = cleared;
        }
        IbPort& kept = fabric_.port(first);
        const std::uint64_t guid = kept.guid;
        kept = merged;
        kept.number = first.port;
        kept.guid = guid;
        kept.peer = {boxes_[box].begin()->second, number};
        adapter_port_[{static_cast<int>(box), number}] = first;
      }
  }

  // Returns one port of those that `ends` are, by plane. `is_cable`: all planes of the switch belong to it.
  IbPort one_port(const Peers& ends, int box, bool is_cable) {
    IbPort merged;
    bool known = true;
    for (const auto& [plane, end] : ends) {
      const IbPort& port = fabric_.port(end);
      if (merged.lid == 0)
        std::tie(merged.lid, merged.lmc, merged.sm_lid) = std::tie(port.lid, port.lmc, port.sm_lid);
      merged.runs_manager |= port.runs_manager;
      merged.link_up |= port.link_up;
      if (merged.state == IbState::kNotSaid || (port.state != IbState::kNotSaid && port.state < merged.state))
        merged.state = port.state;
      known &= port.active == kLinkOfPlane;
    }
    const Planes& planes = boxes_[static_cast<std::size_t>(box)];
    if (!known || (!is_cable && ends.size() < planes.size())) return merged;
    merged.active = {static_cast<int>(ends.size()), IbSpeed::kXdr};
    merged.supported = {static_cast<int>(planes.size()), IbSpeed::kXdr};
    for (const auto& [plane, index] : planes)
      if (!ends.contains(plane)) merged.dark_planes |= 1U << (plane - 1);
    return merged;
  }

  void merge_switches() {
    for (std::size_t box = 0; box < boxes_.size(); ++box) {
      const Planes& planes = boxes_[box];
      const int kept = kept_node(planes.begin()->second);
      std::map<int, IbPort> ports;
      for (const auto& [number, peers] : ports_[box]) {
        Peers own;
        for (const auto& [plane, peer] : peers) own.emplace(plane, IbEnd{planes.at(plane), number});
        IbEnd there = peers.begin()->second;
        IbPort& merged = ports[number] = one_port(own, static_cast<int>(box), !is_inside(node(there.node)));
        if (const auto adapter = adapter_port_.find({static_cast<int>(box), number});
            adapter != adapter_port_.end())
          there = adapter->second;
        else if (behind_.contains(there.node))
          there = {kept_node(there.node), linked_port(node(kept_node(there.node))).number};
        merged.peer = there;
      }
      for (const auto& [plane, index] : planes) grow_ports(node(kept), node(index).last_port());
      merge_node(kept, planes);
      for (IbPort& port : node(kept).ports) {
        if (port.number == 0) continue;
        const int number = port.number;
        const IbState state = state_of(planes, number);
        const auto found = ports.find(number);
        port = found == ports.end() ? IbPort{} : found->second;
        port.number = number;
        if (found == ports.end()) port.state = state;
      }
    }
  }

  // Returns the node that stays of the planes to which one belongs.
  int kept_node(int index) const {
    return kept_[static_cast<std::size_t>(index_[static_cast<std::size_t>(index)])];
  }

  // A port without a cable is down where its planes are; one that joins the planes has no state of its own.
  IbState state_of(const Planes& planes, int number) {
    for (const auto& [plane, index] : planes)
      if (number > node(index).last_port() || fabric_.port({index, number}).state != IbState::kDown)
        return IbState::kNotSaid;
    return IbState::kDown;
  }

  // Gives the kept node the name and the identities of all.
  void merge_node(int kept, const Planes& planes) {
    kept = kept_node(kept);
    std::vector<IbPlane> all;
    for (const auto& [plane, index] : planes) {
      const IbNode& one = node(index);
      const unsigned lid = one.is_switch() ? one.ports[0].lid : linked_port(one).lid;
      all.push_back(
          {plane, one.is_switch() || linked_port(one).guid == 0 ? one.guid : linked_port(one).guid, lid});
    }
    const IbNode& first = node(planes.begin()->second);
    IbNode& into = node(kept);
    std::tie(into.guid, into.port_guid) = std::pair(first.guid, first.port_guid);
    // Some outputs state no types.
    if (!into.is_switch() && plane_name(into.description)) into.type = IbNodeType::kRouter;
    into.description = without_plane(into);
    into.planes = std::move(all);
    if (into.is_switch()) {
      into.ports[0].lid = into.planes.front().lid;
      return;
    }
    IbPort& port = linked_port(into);
    Peers ends;
    for (const auto& [plane, index] : planes)
      ends.emplace(plane, IbEnd{index, linked_port(node(index)).number});
    const int box = box_of(port.peer.node);
    IbPort merged = one_port(ends, box, false);
    merged.number = port.number;
    merged.guid = linked_port(first).guid;
    merged.peer = port.peer;
    port = merged;
  }

  static IbPort& linked_port(IbNode& one) {
    return *std::ranges::find_if(one.ports, [](const IbPort& port) { return bool(port.peer); });
  }
  static const IbPort& linked_port(const IbNode& one) {
    return *std::ranges::find_if(one.ports, [](const IbPort& port) { return bool(port.peer); });
  }

  void follow(IbEnd& end) const {
    if (end) end.node = index_[static_cast<std::size_t>(end.node)];
  }
  void follow(IbCounterLook& counters) const {
    for (IbCounterReading& reading : counters.ports) {
      if (const auto plane = plane_at_.find(reading.end.node); plane != plane_at_.end())
        reading.plane = plane->second;
      follow(reading.end);
    }
  }

  void rebuild() {
    std::vector<IbNode> nodes;
    for (const int kept : kept_) {
      nodes.push_back(std::move(node(kept)));
      nodes.back().label.clear();
      for (IbPort& port : nodes.back().ports) follow(port.peer);
    }
    fabric_.nodes = std::move(nodes);
    for (IbSilence& silence : fabric_.silent) follow(silence.end);
    for (IbManager& manager : fabric_.managers) follow(manager.end);
    for (IbEnd& end : fabric_.mute_managers) follow(end);
    tell_apart(fabric_);
  }

  IbFabric& fabric_;
  std::vector<Planes> boxes_;
  std::vector<int> box_of_;                            // by node; −1 if it is no plane of a switch
  std::vector<std::map<int, Peers>> ports_;            // by switch and number
  std::map<int, Planes> behind_;                       // nodes that each plane has for itself, by the first
  std::map<int, int> plane_at_;                        // node → plane, of all nodes that are merged
  std::vector<int> index_;                             // by node: its new index
  std::vector<int> kept_;                              // by new index: the node that stays
  std::map<std::pair<int, int>, IbEnd> adapter_port_;  // by switch and port
};

}  // namespace

int plane_of(std::string_view description) {
  const auto name = plane_name(description);
  return name ? name->plane : 0;
}

void merge_planes(IbFabric& fabric, IbCounterLook* counters) { Merger(fabric).run(counters); }

}  // namespace railbed
