// Names of all nodes in /etc/hosts: each node by its management address, where cluster.yaml gives one, and
// each end of a rail by NODE-RAIL.
#include <fmt/format.h>

#include <unordered_map>

#include "configure/files.h"
#include "configure/render.h"

namespace railbed {
namespace {

// As the resolver does: the first line that holds a name counts.
using Resolved = std::unordered_map<std::string_view, const IpAddress*>;

Resolved resolved_by(const std::vector<HostsEntry>& entries) {
  Resolved resolved;
  for (const HostsEntry& one : entries)
    for (const std::string& name : one.names) resolved.emplace(name, &one.address);
  return resolved;
}

Need resolves(const Resolved& resolved, const HostName& wanted) {
  Need need{.what = wanted.need};
  const auto found = resolved.find(wanted.name);
  need.now = found != resolved.end() && *found->second == wanted.address;
  need.at_boot = need.now;
  if (!*need.now) need.found = found != resolved.end() ? found->second->to_text() : "no entry";
  return need;
}

}  // namespace

void render_hosts(const Target& target, std::vector<Setting>& settings) {
  const std::vector<HostName>& names = target.wide.host_names;
  if (names.empty()) return;
  Setting setting{.section = Section::kHosts,
                  .title = fmt::format("{} names in /etc/hosts", names.size()),
                  .reason = "nodes find each other without a name server, by each rail",
                  .files = {{.path = "/etc/hosts", .content = target.wide.host_lines, .block = true}}};
  if (target.looked() && target.facts().system.hosts.ok()) {
    const Resolved resolved = resolved_by(*target.facts().system.hosts);
    for (const HostName& one : names) setting.needs.push_back(resolves(resolved, one));
  }
  settings.push_back(std::move(setting));
}

}  // namespace railbed
