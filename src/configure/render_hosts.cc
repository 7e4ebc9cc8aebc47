// Names of all nodes in /etc/hosts: each node by its management address, where cluster.yaml gives one, and
// each end of a rail by NODE-RAIL.
#include <fmt/format.h>

#include <unordered_map>

#include "configure/contact.h"
#include "configure/files.h"
#include "configure/render.h"

namespace railbed {
namespace {

struct HostName {
  IpAddress address;
  std::string name;
};

std::vector<HostName> names_in(const Cluster& cluster) {
  std::vector<HostName> names;
  for (const Node& node : cluster.nodes)
    if (const auto address = own_address(node)) names.push_back({*address, node.name});
  for (const Rail& rail : cluster.rails)
    for (const RailPort& port : rail.ports)
      if (port.address) names.push_back({*port.address, fmt::format("{}-{}", port.node, rail.name)});
  return names;
}

// As the resolver does: the first line that holds a name counts.
using Resolved = std::unordered_map<std::string_view, const IpAddress*>;

Resolved resolved_by(const std::vector<HostsEntry>& entries) {
  Resolved resolved;
  for (const HostsEntry& one : entries)
    for (const std::string& name : one.names) resolved.emplace(name, &one.address);
  return resolved;
}

Need resolves(const Resolved& resolved, const HostName& wanted) {
  Need need{.what = fmt::format("{} is {}", wanted.name, wanted.address.to_text())};
  const auto found = resolved.find(wanted.name);
  need.now = found != resolved.end() && *found->second == wanted.address;
  need.at_boot = need.now;
  if (!*need.now) need.found = found != resolved.end() ? found->second->to_text() : "no entry";
  return need;
}

}  // namespace

void render_hosts(const Target& target, std::vector<Setting>& settings) {
  const auto names = names_in(target.cluster());
  if (names.empty()) return;
  Setting setting{.section = Section::kHosts,
                  .title = fmt::format("{} names in /etc/hosts", names.size()),
                  .reason = "nodes find each other without a name server, by each rail"};
  DesiredFile file{.path = "/etc/hosts", .block = true};
  const bool looked = target.looked() && target.facts().system.hosts.ok();
  const Resolved resolved = looked ? resolved_by(*target.facts().system.hosts) : Resolved{};
  for (const HostName& one : names) {
    if (looked) setting.needs.push_back(resolves(resolved, one));
    file.content += fmt::format("{} {}\n", one.address.to_text(), one.name);
  }
  setting.files.push_back(std::move(file));
  settings.push_back(std::move(setting));
}

}  // namespace railbed
