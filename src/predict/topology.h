// Models networks as links with capacities, and the path that each flow takes. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace railbed {

enum class NetworkShape { kBackToBack, kSwitch, kLeafSpine, kRailOptimised, kRailOnly, kLag };
constexpr auto enum_names(NetworkShape) {
  return std::array<std::string_view, 6>{"back-to-back",   "switch",    "leaf-spine",
                                         "rail-optimised", "rail-only", "lag"};
}

// The network to build. Every cable carries its rate each way at once.
struct NetworkPlan {
  NetworkShape shape = NetworkShape::kSwitch;
  int nodes = 2;
  int rails = 1;           // network ports per node; for kLag the members of its one bond
  BitRate port;            // rate of each of them
  int leaf_ports = 32;     // ports for nodes on one leaf
  int spines = 0;          // spines that a leaf reaches; 0: as many as avoid oversubscription
  int cables = 1;          // from each leaf to each spine
  BitRate uplink;          // rate of each of these cables; zero: as the ports
  BitRate inside;          // rate that a GPU passes on within its node; zero: no limit
  std::uint64_t seed = 0;  // seed of the switches' hashes; another seed gives other collisions
};

// One queue pair or connection between the GPUs of two nodes. The switches hash its members.
struct NetworkFlow {
  int from = 0;  // nodes
  int to = 0;
  int from_rail = 0;  // rails of its two GPUs
  int to_rail = 0;
  // Distinguishes the queue pairs of one pair of GPUs, as their UDP source ports do.
  std::uint32_t number = 0;
};

// A part that does not work: its links carry nothing.
struct BrokenPart {
  enum class Kind { kAdapter, kUplink, kLeaf, kSpine };
  Kind kind = Kind::kAdapter;
  int first = 0;   // node, leaf, leaf, spine
  int second = 0;  // rail, spine, -, -
  int cable = 0;   // for an uplink
};

// The links that a flow passes, in order.
struct NetworkPath {
  std::array<std::uint32_t, 8> links{};
  int length = 0;
  int switches = 0;
  void add(std::uint32_t link) { links[static_cast<std::size_t>(length++)] = link; }
};

class Network {
 public:
  // Fails on a plan that cannot be built, and on a broken part that does not exist.
  static Result<Network> build(const NetworkPlan& plan, const std::vector<BrokenPart>& broken = {});

  const NetworkPlan& plan() const { return plan_; }
  int leaves() const { return leaves_; }
  int spines() const { return spines_; }  // total
  // Returns the rate at which nodes can send into a leaf, divided by the rate at which it can send on; 1 or
  // less means that there is enough. 1 for shapes without spines.
  double oversubscription() const;

  // Capacities in bits per second, by link; 0 if broken.
  const std::vector<double>& capacities() const { return capacities_; }
  // Returns a name for messages, such as "leaf 0 to spine 1".
  std::string name_of(std::uint32_t link) const;

  // Returns the flow's path; nothing if broken parts leave none.
  std::optional<NetworkPath> path(const NetworkFlow& flow) const;

 private:
  explicit Network(const NetworkPlan& plan);
  void break_part(const BrokenPart& part);
  bool railed() const;
  int leaf_of(int node, int rail) const;
  int first_spine_of(int leaf) const;
  std::uint32_t send_link(int node, int rail) const;
  std::uint32_t receive_link(int node, int rail) const { return send_link(node, rail) + 1; }
  std::uint32_t up_link(int leaf, int spine, int cable) const;
  std::uint32_t down_link(int leaf, int spine, int cable) const { return up_link(leaf, spine, cable) + 1; }
  std::uint32_t inside_link(int node, int rail) const;
  bool alive(std::uint32_t link) const { return capacities_[link] > 0; }
  bool has_port(int node, int rail) const { return alive(send_link(node, rail)); }
  std::optional<std::pair<int, int>> rails_of(const NetworkFlow& flow) const;
  std::optional<int> live_rail(int node, int wanted) const;
  bool cross_spines(NetworkPath& path, const NetworkFlow& flow, int from_leaf, int to_leaf) const;
  std::optional<NetworkPath> bonded_path(const NetworkFlow& flow) const;
  void pass_inside(NetworkPath& path, int node, int from_rail, int to_rail) const;

  NetworkPlan plan_;
  int leaves_ = 0;
  int spines_ = 0;
  std::vector<double> capacities_;
};

}  // namespace railbed
