// The shapes.
//   back to back   two nodes, port r to port r, no switch.
//   switch         every port on one switch, which is never a limit itself.
//   leaf-spine     all ports of a node on one leaf; every leaf on every spine.
//   rail-optimised port r of `leaf_ports` nodes on the leaf of rail r; every leaf on every spine.
//   rail-only      the same leaves, but each rail has spines of its own, and none if one leaf has all nodes:
//                  nothing passes from one rail to another except inside a node.
//   LAG            the ports of a node are one bond on one switch.
// If GPUs of different rails communicate and rails are separate, the sender first passes the data inside its
// node to the GPU of the receiver's rail, as NCCL does (PXN).
//
// ECMP. A switch with several paths to a leaf chooses one by a hash of the flow's names (both nodes, both
// rails, its number; in reality addresses and the UDP source port) and of its own seed. So a flow never
// changes its path, and two flows may share one while others are idle. Paths over a broken part are not used:
// routing has withdrawn them. A bond hashes in the same way, at the sender over its members and at the switch
// over the receiver's: one flow uses one member of each, so it never exceeds one port.
//
// A node with a broken adapter sends over its next working rail, as a restarted job does.
#include "predict/topology.h"

#include <fmt/format.h>

#include <algorithm>

namespace railbed {
namespace {

constexpr int kMostNodes = 131072;
constexpr int kMostRails = 16;
constexpr int kMostLeafPorts = 4096;
constexpr std::uint64_t kMostLinks = 16'000'000;

// Steele, Lea, Flood 2014: SplitMix's finalizer.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::uint64_t hash_of(const NetworkFlow& flow, std::uint64_t seed, std::uint64_t hasher) {
  std::uint64_t hash = mixed(seed ^ mixed(hasher));
  for (const int part : {flow.from, flow.to, flow.from_rail, flow.to_rail, static_cast<int>(flow.number)})
    hash = mixed(hash ^ static_cast<std::uint32_t>(part));
  return hash;
}

// Returns the index that the hash selects among those for which alive() is true; nothing if there is none.
template <class Alive>
std::optional<int> pick(int count, std::uint64_t hash, Alive alive) {
  int living = 0;
  for (int i = 0; i < count; ++i) living += alive(i) ? 1 : 0;
  if (living == 0) return std::nullopt;
  int wanted = static_cast<int>(hash % static_cast<std::uint64_t>(living));
  for (int i = 0;; ++i)
    if (alive(i) && wanted-- == 0) return i;
}

int groups_of(int nodes, int per_group) { return (nodes + per_group - 1) / per_group; }

std::string why_not(const NetworkPlan& plan) {
  if (plan.nodes < 2 || plan.nodes > kMostNodes) return fmt::format("2 to {} nodes", kMostNodes);
  if (plan.rails < 1 || plan.rails > kMostRails) return fmt::format("1 to {} ports a node", kMostRails);
  if (!(plan.port.bits_per_second > 0)) return "a port's speed must be known";
  if (plan.uplink.bits_per_second < 0 || plan.inside.bits_per_second < 0) return "a speed is never negative";
  if (plan.shape == NetworkShape::kBackToBack && plan.nodes != 2)
    return fmt::format("back to back joins two nodes, not {}", plan.nodes);
  if (plan.leaf_ports < 1 || plan.leaf_ports > kMostLeafPorts)
    return fmt::format("1 to {} ports of nodes below a leaf", kMostLeafPorts);
  if (plan.shape == NetworkShape::kLeafSpine && plan.leaf_ports < plan.rails)
    return fmt::format("a leaf of {} ports holds no node of {}", plan.leaf_ports, plan.rails);
  if (plan.spines < 0 || plan.spines > kMostLeafPorts || plan.cables < 1 || plan.cables > 64)
    return fmt::format("up to {} spines by 1 to 64 cables each", kMostLeafPorts);
  return "";
}

}  // namespace

bool Network::railed() const {
  return plan_.shape == NetworkShape::kRailOptimised || plan_.shape == NetworkShape::kRailOnly;
}

Network::Network(const NetworkPlan& plan) : plan_(plan) {
  if (plan_.uplink.bits_per_second <= 0) plan_.uplink = plan_.port;
  const int per_leaf =
      plan_.shape == NetworkShape::kLeafSpine ? plan_.leaf_ports / plan_.rails : plan_.leaf_ports;
  const int groups = groups_of(plan_.nodes, per_leaf);
  if (plan_.shape == NetworkShape::kLeafSpine) leaves_ = groups;
  if (railed()) leaves_ = groups * plan_.rails;
  if (plan_.shape == NetworkShape::kSwitch || plan_.shape == NetworkShape::kLag) leaves_ = 1;
  const bool needs_spines = plan_.shape == NetworkShape::kRailOnly ? groups > 1 : leaves_ > 1;
  if (!needs_spines) plan_.spines = 0;
  if (needs_spines && plan_.spines == 0) {
    const double below = plan_.port.bits_per_second * plan_.leaf_ports;
    const double each = plan_.uplink.bits_per_second * plan_.cables;
    plan_.spines = std::max(1, static_cast<int>((below + each * 0.999999) / each));
  }
  spines_ = plan_.shape == NetworkShape::kRailOnly ? plan_.spines * plan_.rails : plan_.spines;
}

Result<Network> Network::build(const NetworkPlan& plan, const std::vector<BrokenPart>& broken) {
  if (const std::string why = why_not(plan); !why.empty()) return fail(ErrorKind::kBadInput, why);
  Network network(plan);
  const auto ports = static_cast<std::uint64_t>(plan.nodes) * static_cast<std::uint64_t>(plan.rails);
  const auto uplinks = static_cast<std::uint64_t>(network.leaves_) *
                       static_cast<std::uint64_t>(network.plan_.spines) *
                       static_cast<std::uint64_t>(plan.cables);
  if (2 * (2 * ports + uplinks) > kMostLinks)
    return fail(ErrorKind::kBadInput, fmt::format("more than {} links", kMostLinks));
  network.capacities_.assign(2 * ports, plan.port.bits_per_second);
  network.capacities_.resize(2 * (ports + uplinks), network.plan_.uplink.bits_per_second);
  if (plan.inside.bits_per_second > 0)
    network.capacities_.resize(2 * (2 * ports + uplinks), plan.inside.bits_per_second);
  for (const BrokenPart& part : broken) {
    using Kind = BrokenPart::Kind;
    const int firsts = part.kind == Kind::kAdapter ? plan.nodes
                       : part.kind == Kind::kSpine ? network.spines_
                                                   : network.leaves_;
    const int seconds = part.kind == Kind::kAdapter  ? plan.rails
                        : part.kind == Kind::kUplink ? network.plan_.spines
                                                     : 1;
    if (part.first < 0 || part.first >= firsts || part.second < 0 || part.second >= seconds ||
        part.cable < 0 || part.cable >= plan.cables)
      return fail(ErrorKind::kBadInput, fmt::format("there is no such part to break: {} of {}, {} of {}",
                                                    part.first, firsts, part.second, seconds));
    network.break_part(part);
  }
  return network;
}

std::uint32_t Network::send_link(int node, int rail) const {
  return static_cast<std::uint32_t>(2 * (node * plan_.rails + rail));
}

// Returns the link from a leaf to a spine. `spine` is an index among the spines that the leaf reaches.
std::uint32_t Network::up_link(int leaf, int spine, int cable) const {
  return send_link(plan_.nodes, 0) +
         static_cast<std::uint32_t>(2 * ((leaf * plan_.spines + spine) * plan_.cables + cable));
}

std::uint32_t Network::inside_link(int node, int rail) const {
  return up_link(leaves_, 0, 0) + send_link(node, rail);
}

int Network::leaf_of(int node, int rail) const {
  if (plan_.shape == NetworkShape::kLeafSpine) return node / (plan_.leaf_ports / plan_.rails);
  return railed() ? node / plan_.leaf_ports * plan_.rails + rail : 0;
}

int Network::first_spine_of(int leaf) const {
  return plan_.shape == NetworkShape::kRailOnly ? leaf % plan_.rails * plan_.spines : 0;
}

double Network::oversubscription() const {
  if (plan_.spines == 0) return 1;
  const int ports = plan_.shape == NetworkShape::kLeafSpine ? plan_.leaf_ports / plan_.rails * plan_.rails
                                                            : plan_.leaf_ports;
  return ports * plan_.port.bits_per_second / (plan_.spines * plan_.cables * plan_.uplink.bits_per_second);
}

void Network::break_part(const BrokenPart& part) {
  const auto cut = [&](std::uint32_t link) { capacities_[link] = capacities_[link + 1] = 0; };
  if (part.kind == BrokenPart::Kind::kAdapter) return cut(send_link(part.first, part.second));
  if (part.kind == BrokenPart::Kind::kUplink) return cut(up_link(part.first, part.second, part.cable));
  const bool leaf = part.kind == BrokenPart::Kind::kLeaf;
  for (int one = 0; one < leaves_; ++one)
    for (int spine = 0; spine < plan_.spines; ++spine)
      if (leaf ? one == part.first : first_spine_of(one) + spine == part.first)
        for (int cable = 0; cable < plan_.cables; ++cable) cut(up_link(one, spine, cable));
  if (!leaf) return;
  for (int node = 0; node < plan_.nodes; ++node)
    for (int rail = 0; rail < plan_.rails; ++rail)
      if (leaf_of(node, rail) == part.first) cut(send_link(node, rail));
}

std::string Network::name_of(std::uint32_t link) const {
  const std::string_view way = link % 2 == 0 ? "out of" : "into";
  const auto of_port = [&](std::uint32_t port) {
    const auto rails = static_cast<std::uint32_t>(plan_.rails);
    return fmt::format("port {} of node {}", port % rails, port / rails);
  };
  if (link < up_link(0, 0, 0)) return fmt::format("{} {}", way, of_port(link / 2));
  if (link >= inside_link(0, 0)) return "inside, " + of_port((link - inside_link(0, 0)) / 2);
  const auto cable = static_cast<int>((link - up_link(0, 0, 0)) / 2);
  const int pair = cable / plan_.cables;
  const int leaf = pair / plan_.spines;
  const int spine = first_spine_of(leaf) + pair % plan_.spines;
  const std::string name = plan_.cables > 1 ? fmt::format(", cable {}", cable % plan_.cables) : "";
  return link % 2 == 0 ? fmt::format("leaf {} to spine {}{}", leaf, spine, name)
                       : fmt::format("spine {} to leaf {}{}", spine, leaf, name);
}

std::optional<int> Network::live_rail(int node, int wanted) const {
  for (int i = 0; i < plan_.rails; ++i)
    if (const int rail = (wanted + i) % plan_.rails; has_port(node, rail)) return rail;
  return std::nullopt;
}

// Returns the rails over which a flow leaves and arrives; nothing if none works.
std::optional<std::pair<int, int>> Network::rails_of(const NetworkFlow& flow) const {
  if (railed() || plan_.shape == NetworkShape::kBackToBack)
    for (int i = 0; i < plan_.rails; ++i) {
      const int rail = (flow.to_rail + i) % plan_.rails;
      if (has_port(flow.from, rail) && has_port(flow.to, rail)) return std::pair{rail, rail};
    }
  if (plan_.shape == NetworkShape::kRailOnly || plan_.shape == NetworkShape::kBackToBack) return std::nullopt;
  const auto from = live_rail(flow.from, flow.from_rail);
  const auto to = live_rail(flow.to, flow.to_rail);
  if (!from || !to) return std::nullopt;
  return std::pair{*from, *to};
}

// Adds the links up over one of the leaf's cables to a spine that reaches the other leaf, and down over one
// of the spine's cables. Returns false if there is no such spine.
bool Network::cross_spines(NetworkPath& path, const NetworkFlow& flow, int from_leaf, int to_leaf) const {
  const auto reaches = [&](int spine) {
    for (int cable = 0; cable < plan_.cables; ++cable)
      if (alive(down_link(to_leaf, spine, cable))) return true;
    return false;
  };
  const auto up = pick(plan_.spines * plan_.cables,
                       hash_of(flow, plan_.seed, static_cast<std::uint64_t>(from_leaf)), [&](int i) {
                         return alive(up_link(from_leaf, i / plan_.cables, i % plan_.cables)) &&
                                reaches(i / plan_.cables);
                       });
  if (!up) return false;
  const int spine = *up / plan_.cables;
  const auto hasher = static_cast<std::uint64_t>(leaves_ + first_spine_of(from_leaf) + spine);
  const auto down = pick(plan_.cables, hash_of(flow, plan_.seed, hasher),
                         [&](int cable) { return alive(down_link(to_leaf, spine, cable)); });
  path.add(up_link(from_leaf, spine, *up % plan_.cables));
  path.add(down_link(to_leaf, spine, *down));
  path.switches = 3;
  return true;
}

std::optional<NetworkPath> Network::bonded_path(const NetworkFlow& flow) const {
  const auto member = [&](int node, std::uint64_t hasher) {
    return pick(plan_.rails, hash_of(flow, plan_.seed, hasher), [&](int i) { return has_port(node, i); });
  };
  const auto from = member(flow.from, 1 + static_cast<std::uint64_t>(flow.from));
  const auto to = member(flow.to, 0);
  if (!from || !to) return std::nullopt;
  NetworkPath path;
  path.add(send_link(flow.from, *from));
  path.add(receive_link(flow.to, *to));
  path.switches = 1;
  return path;
}

// Adds the links from the GPU of one rail to the adapter of another, or back.
void Network::pass_inside(NetworkPath& path, int node, int from_rail, int to_rail) const {
  if (from_rail == to_rail || plan_.inside.bits_per_second <= 0) return;
  path.add(inside_link(node, from_rail));
  path.add(inside_link(node, to_rail) + 1);
}

std::optional<NetworkPath> Network::path(const NetworkFlow& flow) const {
  if (plan_.shape == NetworkShape::kLag) return bonded_path(flow);
  const auto rails = rails_of(flow);
  if (!rails) return std::nullopt;
  NetworkPath path;
  pass_inside(path, flow.from, flow.from_rail, rails->first);
  path.add(send_link(flow.from, rails->first));
  path.switches = plan_.shape == NetworkShape::kBackToBack ? 0 : 1;
  const int from_leaf = leaf_of(flow.from, rails->first);
  const int to_leaf = leaf_of(flow.to, rails->second);
  if (from_leaf != to_leaf && !cross_spines(path, flow, from_leaf, to_leaf)) return std::nullopt;
  path.add(receive_link(flow.to, rails->second));
  pass_inside(path, flow.to, rails->second, flow.to_rail);
  return path;
}

}  // namespace railbed
