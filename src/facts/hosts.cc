#include "base/json.h"
#include "facts/collectors.h"
#include "facts/readings.h"
#include "host/device_calls.h"

namespace railbed {
namespace {

// Parses hosts(5): an address and names on each line; "#" starts a comment.
std::vector<HostsEntry> parse_hosts(std::string_view text) {
  std::vector<HostsEntry> entries;
  for (const auto line : lines(text)) {
    const auto columns = words(line.substr(0, line.find('#')));
    if (columns.size() < 2) continue;
    const auto address = IpAddress::parse(columns.front());
    if (!address) continue;
    HostsEntry entry{*address, {}};
    for (std::size_t i = 1; i < columns.size(); ++i) entry.names.emplace_back(columns[i]);
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

Reading<std::vector<HostsEntry>> collect_hosts(Host& host) {
  return host.read("/etc/hosts").parsed([](const std::string& text) {
    return std::optional(parse_hosts(text));
  });
}

// cloud-init's templates name themselves in what they write: cloud-init, templates/hosts.*.tmpl.
std::string template_of_hosts(std::string_view text) {
  constexpr std::string_view kBegin = "/etc/cloud/templates/hosts.";
  constexpr std::string_view kEnd = ".tmpl";
  for (const auto line : lines(text)) {
    const std::size_t begin = line.starts_with('#') ? line.find(kBegin) : std::string_view::npos;
    if (begin == std::string_view::npos) continue;
    const std::size_t kind = begin + kBegin.size();
    const std::size_t end = line.find(kEnd, kind);
    if (end == std::string_view::npos || end == kind) continue;
    const std::string_view name = line.substr(kind, end - kind);
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string_view::npos) continue;
    return std::string(line.substr(begin, end + kEnd.size() - begin));
  }
  return "";
}

Reading<std::vector<HostsEntry>> collect_hosts_template(Host& host) {
  const auto hosts = host.read("/etc/hosts");
  if (!hosts) return {hosts.miss(), hosts.from()};
  const std::string path = template_of_hosts(*hosts);
  if (path.empty()) return {Miss{Missing::kAbsent, "it names no template of cloud-init"}, hosts.from()};
  return host.read(path).parsed([](const std::string& text) { return std::optional(parse_hosts(text)); });
}

// Reads the processes that the host call "stuck" reports.
Reading<std::vector<StuckProcess>> collect_stuck(Host& host) {
  return host.call("stuck").parsed([](const std::string& text) -> std::optional<std::vector<StuckProcess>> {
    const auto answers = json::read<std::vector<StuckAnswer>>(text);
    if (!answers) return std::nullopt;
    std::vector<StuckProcess> stuck;
    for (const auto& answer : *answers) stuck.push_back({answer.pid, answer.name, answer.waits});
    return stuck;
  });
}

}  // namespace railbed
