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
