#include "settings/cluster_wide.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "settings/files.h"

namespace railbed {
namespace {

std::optional<Meeting> meeting_of_all(const Survey& survey) {
  const auto servers = storage_servers(survey.evidence.cluster);
  std::vector<const NodeView*> all;
  for (const NodeView& view : survey.nodes)
    if (view.wanted != nullptr && !servers.contains(*view.name)) all.push_back(&view);
  return find_meeting(all);
}

std::set<const Rail*> shared_rails(const Cluster& cluster) {
  const std::size_t everyone = cluster.nodes.size() - storage_servers(cluster).size();
  std::set<const Rail*> rails;
  for (const Rail& rail : cluster.rails) {
    if (rail.purpose == RailPurpose::kStorage) continue;
    std::unordered_set<std::string_view> nodes;
    for (const RailPort& port : rail.ports) nodes.insert(port.node);
    if (nodes.size() == everyone) rails.insert(&rail);
  }
  return rails;
}

// Returns the names for /etc/hosts: each node by its own address (own_address()), if known, and each rail end
// as NODE-RAIL.
std::vector<HostName> names_in(const Cluster& cluster) {
  std::vector<HostName> names;
  const auto add = [&](const IpAddress& address, std::string name) {
    std::string need = fmt::format("{} is {}", name, address.to_text());
    names.push_back({address, std::move(name), std::move(need)});
  };
  for (const Node& node : cluster.nodes)
    if (const auto address = own_address(node)) add(*address, node.name);
  for (const Rail& rail : cluster.rails)
    for (const RailPort& port : rail.ports)
      if (port.address) add(*port.address, fmt::format("{}-{}", port.node, rail.name));
  return names;
}

std::string lines_of(const std::vector<HostName>& names) {
  std::string lines;
  for (const HostName& name : names) lines += fmt::format("{} {}\n", name.address.to_text(), name.name);
  return lines;
}

std::shared_ptr<const HostsTable> table_of(const std::vector<HostName>& names) {
  auto table = std::make_shared<HostsTable>();
  for (const HostName& name : names) table->add(name.name, name.address);
  return table;
}

// Maps gpu1 to " gpu1-rail0 gpu1-rail1 192.168.1.1 10.0.0.1": the names of its rails, and all addresses that
// cluster.yaml gives it, since a launcher may go by an address.
std::unordered_map<std::string_view, std::string> other_names(const Cluster& cluster) {
  std::unordered_map<std::string_view, std::string> names;
  for (const Rail& rail : cluster.rails) {
    std::unordered_set<std::string_view> named;  // a rail may have two ports of one node
    for (const RailPort& port : rail.ports)
      if (named.insert(port.node).second) names[port.node] += fmt::format(" {}-{}", port.node, rail.name);
  }
  std::unordered_set<std::string> told;
  const auto add = [&](std::string_view node, const std::optional<IpAddress>& address) {
    if (address && !address->is_loopback() && told.insert(address->to_text()).second)
      names[node] += " " + address->to_text();
  };
  for (const Node& node : cluster.nodes) {
    add(node.name, own_address(node));
    add(node.name, ssh_address(node));
  }
  for (const Rail& rail : cluster.rails)
    for (const RailPort& port : rail.ports) add(port.node, port.address);
  return names;
}

std::string aliases_in(const Cluster& cluster) {
  auto names = other_names(cluster);
  std::string text(kFileMark);
  for (const Node& node : cluster.nodes)
    text += fmt::format("Host {0}{1}\n    HostKeyAlias {0}\n", node.name, names[node.name]);
  return seal(text);
}

// Limit on the keys of one node. Every node gets the keys of all: a node that claims many must not fill the
// others' files.
constexpr std::size_t kMostHostKeysOfANode = 16;

HostKeysOf keys_of_node(std::string_view node, const std::vector<HostKey>& own) {
  HostKeysOf all{.node = node};
  const std::size_t count_told = std::min(own.size(), kMostHostKeysOfANode);
  for (std::size_t i = 0; i < count_told; ++i) all.keys.push_back(own[i].key);
  const auto others = std::stable_partition(all.keys.begin(), all.keys.end(),
                                            [](const PublicKey& key) { return key.type != "ssh-rsa"; });
  const auto count = static_cast<std::size_t>(others - all.keys.begin());
  all.worth_telling = count > 0 ? count : all.keys.size();
  return all;
}

std::vector<HostKeysOf> host_keys_of(const Survey& survey) {
  std::vector<HostKeysOf> all;
  for (const Node& node : survey.evidence.cluster.nodes) {
    const NodeView* view = survey.find(node.name);
    all.push_back(view == nullptr ? HostKeysOf{.node = node.name}
                                  : keys_of_node(node.name, items(view->facts->system.ssh.host_keys)));
  }
  return all;
}

}  // namespace

ClusterWide::ClusterWide(const Survey& all)
    : survey(all),
      meeting(meeting_of_all(all)),
      rails_of_all(shared_rails(cluster())),
      host_names(names_in(cluster())),
      host_lines(lines_of(host_names)),
      hosts_table(table_of(host_names)),
      host_key_aliases(aliases_in(cluster())),
      host_keys(host_keys_of(all)) {}

}  // namespace railbed
