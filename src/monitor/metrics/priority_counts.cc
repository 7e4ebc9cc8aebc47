// Names of the counters, for drivers that count packets by priority:
//   mlx5   tx_prio3_packets (drivers/net/ethernet/mellanox/mlx5/core/en_stats.c), including RDMA: the port
//          counts them
//   mlx4   tx_prio_3_packets (drivers/net/ethernet/mellanox/mlx4/en_ethtool.c)
//   bnxt   tx_packets_pri3 (drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c)
#include "monitor/metrics/priority_counts.h"

#include <fmt/format.h>

#include <utility>

#include "base/json.h"

namespace railbed {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kPackets = {
    {{"prio", "_packets"}, {"prio_", "_packets"}, {"packets_pri", ""}}};

// Returns the priority in a counter's name after "tx_" or "rx_"; empty if it is no such counter.
std::string priority_in(std::string_view name) {
  for (const auto& [begin, end] : kPackets) {
    const bool fits =
        name.size() == begin.size() + 1 + end.size() && name.starts_with(begin) && name.ends_with(end);
    if (fits && name[begin.size()] >= '0' && name[begin.size()] <= '7')
      return std::string(1, name[begin.size()]);
  }
  return "";
}

// Returns the increase since `before`. A counter that decreased was reset, and is left out.
std::map<std::string, std::uint64_t> moved(const std::map<std::string, std::uint64_t>& before,
                                           const std::map<std::string, std::uint64_t>& after) {
  std::map<std::string, std::uint64_t> found;
  for (const auto& [priority, value] : after)
    if (const auto old = before.find(priority); old != before.end() && old->second <= value)
      found.emplace(priority, value - old->second);
  return found;
}

}  // namespace

PriorityCounts priority_counts(const std::map<std::string, std::uint64_t>& statistics) {
  PriorityCounts counts;
  for (const auto& [name, value] : statistics) {
    const bool sent = name.starts_with("tx_");
    if (!sent && !name.starts_with("rx_")) continue;
    if (std::string priority = priority_in(std::string_view(name).substr(3)); !priority.empty())
      (sent ? counts.sent : counts.received).emplace(std::move(priority), value);
  }
  return counts;
}

PriorityCounts read_priority_counts(Host& host, const std::string& interface) {
  const auto answer = host.call("statistics " + interface);
  if (!answer) return {};
  const auto counted = json::read<std::map<std::string, std::uint64_t>>(*answer);
  return counted ? priority_counts(*counted) : PriorityCounts{};
}

PrioritySight judge_priority(int expected, std::uint64_t packets,
                             const std::map<std::string, std::uint64_t>& before,
                             const std::map<std::string, std::uint64_t>& after) {
  PrioritySight sight{.expected = expected};
  const auto since = moved(before, after);
  const auto own = since.find(std::to_string(expected));
  if (own == since.end() || packets == 0) {
    sight.why = since.empty() ? "the driver counts no packets by priority" : "nothing was sent, or counted";
    return sight;
  }
  if (own->second >= packets) {
    sight.verdict = PriorityVerdict::kRight;
    sight.seen = own->first;
    return sight;
  }
  std::vector<std::string> others;
  for (const auto& [priority, count] : since)
    if (count >= packets) others.push_back(priority);
  if (own->second > 0 || others.empty()) {
    sight.why = fmt::format("priority {} moved by {} of at least {} packets, and {} other by as many",
                            expected, own->second, packets, others.empty() ? "no" : "an");
    return sight;
  }
  sight.verdict = PriorityVerdict::kWrong;
  sight.seen = others.size() == 1 ? others.front() : "several";
  return sight;
}

std::vector<PrioritySight> judge_priorities(int expected, std::uint64_t packets,
                                            const PrioritiesOfPair& before, const PrioritiesOfPair& after) {
  std::vector<PrioritySight> sights;
  const auto judge = [&](bool there, bool sent, const auto& counts_before, const auto& counts_after) {
    PrioritySight sight = judge_priority(expected, packets, counts_before, counts_after);
    sight.there = there;
    sight.sent = sent;
    sights.push_back(std::move(sight));
  };
  judge(false, true, before.here.sent, after.here.sent);
  judge(true, false, before.there.received, after.there.received);
  judge(true, true, before.there.sent, after.there.sent);
  judge(false, false, before.here.received, after.here.received);
  return sights;
}

}  // namespace railbed
