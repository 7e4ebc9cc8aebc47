// Names of all nodes in /etc/hosts: each node by its management or ssh address, if known, and each rail end
// as NODE-RAIL.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "settings/files.h"
#include "settings/render.h"

namespace railbed {
namespace {

// Addresses by name as the resolver sees them: the first line with a name counts.
using Resolved = std::unordered_map<std::string_view, const IpAddress*>;

Resolved resolved_by(const std::vector<HostsEntry>& entries) {
  Resolved resolved;
  for (const HostsEntry& entry : entries)
    for (const std::string& name : entry.names) resolved.emplace(name, &entry.address);
  return resolved;
}

bool is_right(const Resolved& resolved, const HostName& wanted) {
  const auto found = resolved.find(wanted.name);
  return found != resolved.end() && *found->second == wanted.address;
}

Need resolves(const Resolved& resolved, const HostName& wanted) {
  Need need{.what = wanted.need};
  need.now = need.at_boot = is_right(resolved, wanted);
  if (*need.now) return need;
  const auto found = resolved.find(wanted.name);
  need.found = found != resolved.end() ? found->second->to_text() : "no entry";
  return need;
}

// Limit on needs that are listed one by one. The other names of a large cluster share one need, because each
// node has all of them.
constexpr std::size_t kMostTold = 64;

std::vector<Need> needs_of(const Resolved& resolved, const std::vector<HostName>& names) {
  std::vector<Need> needs;
  const std::size_t told = std::min(names.size(), kMostTold);
  for (std::size_t i = 0; i < told; ++i) needs.push_back(resolves(resolved, names[i]));
  if (names.size() == told) return needs;
  std::size_t others = 0;
  for (std::size_t i = told; i < names.size(); ++i) others += !is_right(resolved, names[i]);
  Need rest{.what = fmt::format("{} more names have their addresses", names.size() - told)};
  rest.now = rest.at_boot = others == 0;
  if (others > 0) rest.found = fmt::format("missing or different: {}", others);
  needs.push_back(std::move(rest));
  return needs;
}

}  // namespace

void render_hosts(const Target& target, std::vector<Setting>& settings) {
  const std::vector<HostName>& names = target.wide.host_names;
  if (names.empty()) return;
  Setting setting{.section = Section::kHosts,
                  .name = "hosts/names",
                  .title = fmt::format("{} names in /etc/hosts", names.size()),
                  .reason = "nodes find each other without a name server, by each rail",
                  .files = {{.path = "/etc/hosts", .content = target.wide.host_lines, .block = true}}};
  if (target.looked() && target.facts().system.hosts.ok()) {
    setting.needs = needs_of(resolved_by(*target.facts().system.hosts), names);
  }
  settings.push_back(std::move(setting));
}

}  // namespace railbed
