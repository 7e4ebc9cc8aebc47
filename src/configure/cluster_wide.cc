#include "configure/cluster_wide.h"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "configure/files.h"

namespace railbed {
namespace {

std::optional<Meeting> meeting_of_all(const Survey& survey) {
  std::vector<const NodeView*> all;
  for (const NodeView& one : survey.nodes)
    if (one.wanted != nullptr) all.push_back(&one);
  return find_meeting(all);
}

std::set<const Rail*> shared_rails(const Cluster& cluster) {
  std::set<const Rail*> rails;
  for (const Rail& rail : cluster.rails) {
    std::unordered_set<std::string_view> nodes;
    for (const RailPort& port : rail.ports) nodes.insert(port.node);
    if (nodes.size() == cluster.nodes.size()) rails.insert(&rail);
  }
  return rails;
}

// Each node by its management address, where cluster.yaml gives one, and each end of a rail by NODE-RAIL.
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
  for (const HostName& one : names) lines += fmt::format("{} {}\n", one.address.to_text(), one.name);
  return lines;
}

// gpu1 → " gpu1-rail0 gpu1-rail1"
std::unordered_map<std::string_view, std::string> rail_names(const Cluster& cluster) {
  std::unordered_map<std::string_view, std::string> names;
  for (const Rail& rail : cluster.rails) {
    std::unordered_set<std::string_view> named;  // a rail may have two ports of one node
    for (const RailPort& port : rail.ports)
      if (named.insert(port.node).second) names[port.node] += fmt::format(" {}-{}", port.node, rail.name);
  }
  return names;
}

std::string aliases_in(const Cluster& cluster) {
  auto names = rail_names(cluster);
  std::string text(kFileMark);
  for (const Node& node : cluster.nodes)
    text += fmt::format("Host {0}{1}\n    HostKeyAlias {0}\n", node.name, names[node.name]);
  return seal(text);
}

}  // namespace

ClusterWide::ClusterWide(const Survey& all)
    : survey(all),
      meeting(meeting_of_all(all)),
      rails_of_all(shared_rails(cluster())),
      host_names(names_in(cluster())),
      host_lines(lines_of(host_names)),
      host_key_aliases(aliases_in(cluster())) {}

}  // namespace railbed
