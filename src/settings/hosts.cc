// Names of all nodes in /etc/hosts: each node by its management or ssh address, if known, and each rail end
// as NODE-RAIL. Lines of others that give these names other addresses are corrected (hosts_lines.h). Where
// cloud-init writes /etc/hosts from a template at each boot, the template gets the same lines.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "settings/files.h"
#include "settings/hosts_lines.h"
#include "settings/render.h"

namespace railbed {
namespace {

// The addresses that lines give each name of the table.
using GivenAddresses = std::unordered_map<std::string, std::vector<IpAddress>>;  // by name in lower case

GivenAddresses given_by(const std::vector<HostsEntry>& entries, const Target& target) {
  GivenAddresses given;
  for (const HostsEntry& entry : entries)
    for (const std::string& name : entry.names) {
      const std::string meant = name_meant(name, target.node().name);
      if (target.wide.hosts_table->find(meant) != nullptr) given[lower(meant)].push_back(entry.address);
    }
  return given;
}

// Returns "no entry", or the wrong address that a line gives the name; empty if the name is right.
std::string fault_in(const GivenAddresses& given, const HostName& wanted, const HostsTable& table) {
  const auto found = given.find(lower(wanted.name));
  if (found == given.end()) return "no entry";
  for (const IpAddress& address : found->second)
    if (table.contradicts(wanted.name, address)) return address.to_text();
  return std::ranges::find(found->second, wanted.address) == found->second.end() ? "no entry" : "";
}

// Lines of /etc/hosts now and after the next boot.
struct GivenLines {
  const HostsTable& table;
  GivenAddresses now;
  std::optional<GivenAddresses> at_boot = {};  // nullopt: the same as now

  // Returns the need, met or not.
  Need need_for(const HostName& wanted) const {
    Need need{.what = wanted.need};
    need.found = fault_in(now, wanted, table);
    need.now = need.at_boot = need.found.empty();
    if (!at_boot) return need;
    const std::string then = fault_in(*at_boot, wanted, table);
    need.at_boot = then.empty();
    if (need.found.empty() && !then.empty()) need.found = "cloud-init's template: " + then;
    return need;
  }
};

// Limit on needs that are listed one by one. The other names of a large cluster share one need, because each
// node has all of them.
constexpr std::size_t kMostTold = 64;

std::vector<Need> needs_of(const GivenLines& known, const std::vector<HostName>& names) {
  std::vector<Need> needs;
  const std::size_t told = std::min(names.size(), kMostTold);
  for (std::size_t i = 0; i < told; ++i) needs.push_back(known.need_for(names[i]));
  if (names.size() == told) return needs;
  std::size_t others = 0;
  Need rest{.what = fmt::format("{} more names have their addresses", names.size() - told), .now = true};
  rest.at_boot = true;
  for (std::size_t i = told; i < names.size(); ++i) {
    const Need need = known.need_for(names[i]);
    rest.now = *rest.now && *need.now;
    rest.at_boot = *rest.at_boot && *need.at_boot;
    others += need.found.empty() ? 0 : 1;
  }
  if (others > 0) rest.found = fmt::format("missing or different: {}", others);
  needs.push_back(std::move(rest));
  return needs;
}

// Returns lines that contradict the table, before and after, for commands by hand. Lines with characters that
// no name has are left out.
std::vector<std::array<std::string, 2>> corrected_lines(const std::vector<HostsEntry>& entries,
                                                        const Target& target) {
  constexpr std::size_t kMostLines = 16;
  std::vector<std::array<std::string, 2>> lines;
  for (const HostsEntry& entry : entries) {
    const std::string line = fmt::format("{} {}", entry.address.to_text(), fmt::join(entry.names, " "));
    std::string corrected = target.wide.hosts_table->corrected(line, target.node().name);
    if (corrected == line || lines.size() == kMostLines || !is_line_of_hosts(line)) continue;
    lines.push_back({line, std::move(corrected)});
  }
  return lines;
}

DesiredFile file_with_names(const Target& target, std::string path,
                            const Reading<std::vector<HostsEntry>>& entries) {
  return {.path = std::move(path),
          .content = target.wide.host_lines,
          .block = true,
          .hosts = {target.wide.hosts_table, target.node().name, corrected_lines(items(entries), target)}};
}

// Returns the path of cloud-init's template on this kind of system.
std::string_view template_of(OsFamily family) {
  return family == OsFamily::kDebian ? "/etc/cloud/templates/hosts.debian.tmpl"
                                     : "/etc/cloud/templates/hosts.redhat.tmpl";
}

}  // namespace

void render_hosts(const Target& target, std::vector<Setting>& settings) {
  const std::vector<HostName>& names = target.wide.host_names;
  if (names.empty()) return;
  const auto& system = target.facts().system;
  Setting setting{.section = Section::kHosts,
                  .name = "hosts/names",
                  .title = fmt::format("{} names in /etc/hosts", names.size()),
                  .reason = "nodes find each other without a name server, by each rail",
                  .files = {file_with_names(target, "/etc/hosts", system.hosts)}};
  const std::string_view from = template_of(target.platform.family);
  const bool is_written_at_boot = system.hosts_template.ok() && system.hosts_template.from() == from;
  if (is_written_at_boot) {
    setting.files.push_back(file_with_names(target, std::string(from), system.hosts_template));
    setting.notes.push_back(
        fmt::format("cloud-init writes /etc/hosts from {} at each boot (manage_etc_hosts), so the names go "
                    "there, too",
                    from));
  }
  if (target.looked() && system.hosts.ok()) {
    GivenLines known{*target.wide.hosts_table, given_by(*system.hosts, target)};
    if (is_written_at_boot) known.at_boot = given_by(*system.hosts_template, target);
    setting.needs = needs_of(known, names);
  }
  settings.push_back(std::move(setting));
}

}  // namespace railbed
