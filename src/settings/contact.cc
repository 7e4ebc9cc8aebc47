#include "settings/contact.h"

#include <fmt/format.h>

#include <algorithm>

namespace railbed {
namespace {

bool leaves_the_node(const IpAddress& address) {
  return !address.is_loopback() && !address.is_link_local() && !address.is_zero();
}

const InterfaceAddress* first_usable(const NetInterface& interface) {
  for (const InterfaceAddress& address : items(interface.addresses))
    if (leaves_the_node(address.address)) return &address;
  return nullptr;
}

const NetInterface* interface_with(const Facts& facts, const IpAddress& address) {
  for (const NetInterface& interface : items(facts.net.interfaces))
    if (std::ranges::any_of(items(interface.addresses),
                            [&](const InterfaceAddress& has) { return has.address == address; }))
      return &interface;
  return nullptr;
}

ContactEnd with_address(std::string_view interface, const InterfaceAddress& address) {
  return {interface, address.address, Subnet::of(address.address, address.prefix)};
}

// Returns the interface's end by the facts. If cluster.yaml's address is not on it, the end has that address
// without a subnet.
ContactEnd seen_end(const NetInterface& interface, const std::optional<IpAddress>& own) {
  for (const InterfaceAddress& address : items(interface.addresses))
    if (own && address.address == *own) return with_address(interface.name, address);
  if (own) return {interface.name, own, {}};
  const InterfaceAddress* const first = first_usable(interface);
  return first == nullptr ? ContactEnd{interface.name, {}, {}} : with_address(interface.name, *first);
}

std::optional<ContactEnd> management_end(const NodeView& node) {
  if (node.wanted == nullptr) return std::nullopt;
  const Configuration& configure = node.wanted->configure;
  std::optional<IpAddress> own = own_address(*node.wanted);
  if (own && !leaves_the_node(*own)) own.reset();
  if (!configure.management_interface) {
    const NetInterface* const found = own ? interface_with(*node.facts, *own) : nullptr;
    return found == nullptr ? std::nullopt : std::optional(seen_end(*found, own));
  }
  if (configure.management_address)
    return with_address(*configure.management_interface, *configure.management_address);
  if (const NetInterface* const found = find_interface(node.facts->net, *configure.management_interface))
    return seen_end(*found, own);
  return ContactEnd{*configure.management_interface, own, {}};
}

std::optional<ContactEnd> rail_end(const NodeView& node, const Rail& rail) {
  for (const RailEnd& end : node.ends)
    if (end.rail == &rail && end.address() != nullptr && leaves_the_node(*end.address()))
      return ContactEnd{end.name, *end.address(), rail.subnet};
  return std::nullopt;
}

using Nodes = std::vector<const NodeView*>;

bool all_have_management(const Nodes& nodes) {
  return std::ranges::all_of(nodes, [](const NodeView* node) { return management_end(*node).has_value(); });
}

// Returns the first rail with an end of each node, one for storage only if there is no other; null if there is none.
const Rail* rail_of_all(const Nodes& nodes) {
  const Rail* found = nullptr;
  for (const RailEnd& first : nodes.front()->ends) {
    if (first.rail == nullptr || (found != nullptr && !first.for_gpus())) continue;
    const bool joins_all = std::ranges::all_of(
        nodes, [&](const NodeView* node) { return rail_end(*node, *first.rail).has_value(); });
    if (joins_all && first.for_gpus()) return first.rail;
    if (joins_all) found = first.rail;
  }
  return found;
}

}  // namespace

std::optional<IpAddress> ssh_address(const Node& node) {
  return IpAddress::parse(node.ssh.substr(node.ssh.find('@') + 1));  // find() + 1 is 0 without a user
}

std::optional<IpAddress> own_address(const Node& node) {
  if (node.configure.management_address) return node.configure.management_address->address;
  return ssh_address(node);
}

std::optional<Meeting> find_meeting(const Nodes& nodes) {
  if (nodes.empty()) return std::nullopt;
  if (all_have_management(nodes)) return Meeting{};
  const Rail* const rail = rail_of_all(nodes);
  return rail == nullptr ? std::nullopt : std::optional(Meeting{rail});
}

std::optional<ContactEnd> end_at(const Meeting& meeting, const NodeView& node) {
  return meeting.rail == nullptr ? management_end(node) : rail_end(node, *meeting.rail);
}

std::optional<Contact> find_contact(const Nodes& nodes) {
  const auto meeting = find_meeting(nodes);
  if (!meeting) return std::nullopt;
  Contact contact{meeting->rail == nullptr ? "management" : "rail " + meeting->rail->name, {}};
  for (const NodeView* const node : nodes) contact.ends.push_back(*end_at(*meeting, *node));
  return contact;
}

}  // namespace railbed
