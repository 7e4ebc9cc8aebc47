#include "inventory/cluster.h"

#include <algorithm>

namespace railbed {
namespace {

template <class Item, class Member>
const Item* find(const std::vector<Item>& items, Member member, std::string_view wanted) {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const Item& item) { return item.*member == wanted; });
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

const Node* find_node(const Cluster& cluster, std::string_view name) {
  return find(cluster.nodes, &Node::name, name);
}

const Rail* find_rail(const Cluster& cluster, std::string_view name) {
  return find(cluster.rails, &Rail::name, name);
}

const RailPort* find_port(const Rail& rail, std::string_view node) {
  return find(rail.ports, &RailPort::node, node);
}

}  // namespace railbed
