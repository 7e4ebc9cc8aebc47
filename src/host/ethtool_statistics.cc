// Driver statistics of an interface, as `ethtool -S` reads them.
#include <linux/ethtool.h>

#include <cstring>

#include "base/json.h"
#include "base/text.h"
#include "host/calls.h"
#include "host/device_calls.h"
#include "host/ethtool.h"

namespace railbed {
namespace {

// A driver reports how many counters it has; more than this is nonsense.
constexpr std::uint32_t kMaxStatistics = 65536;

// Matches "rx0_packets", "tx12_xmit_more", "ch3_poll": one queue's share of a counter of the whole interface.
bool is_of_one_queue(std::string_view name) {
  const auto digit = name.find_first_of("0123456789");
  if (digit == std::string_view::npos) return false;
  const auto kind = name.substr(0, digit);
  return kind == "rx" || kind == "tx" || kind == "ch" || kind == "rx_queue_" || kind == "tx_queue_" ||
         kind == "rx-" || kind == "tx-";
}

std::uint32_t count_of(const Fd& fd, const std::string& interface) {
  alignas(ethtool_sset_info) char buffer[sizeof(ethtool_sset_info) + sizeof(std::uint32_t)] = {};
  auto* info = reinterpret_cast<ethtool_sset_info*>(buffer);
  info->cmd = ETHTOOL_GSSET_INFO;
  info->sset_mask = 1ULL << ETH_SS_STATS;
  if (!ethtool(fd, interface, buffer) || info->sset_mask == 0) return 0;
  std::uint32_t count = 0;
  std::memcpy(&count, buffer + sizeof(ethtool_sset_info), sizeof count);
  return count <= kMaxStatistics ? count : 0;
}

}  // namespace

std::map<std::string, std::uint64_t> ethtool_statistics(const std::string& interface) {
  const Fd fd = ethtool_socket();
  if (!fd) return {};
  const std::uint32_t count = count_of(fd, interface);
  if (count == 0) return {};
  // Drivers may write their current number of counters, not the number reported before: room for twice the
  // number.
  std::vector<std::uint64_t> names(1 + 2 * std::size_t{count} * ETH_GSTRING_LEN / sizeof(std::uint64_t) + 2);
  auto* strings = reinterpret_cast<ethtool_gstrings*>(names.data());
  strings->cmd = ETHTOOL_GSTRINGS;
  strings->string_set = ETH_SS_STATS;
  strings->len = count;
  std::vector<std::uint64_t> values(1 + 2 * std::size_t{count});
  auto* numbers = reinterpret_cast<ethtool_stats*>(values.data());
  numbers->cmd = ETHTOOL_GSTATS;
  numbers->n_stats = count;
  if (!ethtool(fd, interface, strings) || !ethtool(fd, interface, numbers)) return {};
  if (strings->len != count || numbers->n_stats != count) return {};
  std::map<std::string, std::uint64_t> found;
  const char* text = reinterpret_cast<const char*>(names.data()) + sizeof(ethtool_gstrings);
  for (std::uint32_t i = 0; i < count; ++i) {
    const char* name = text + std::size_t{i} * ETH_GSTRING_LEN;
    // Some drivers pad their names with spaces.
    const std::string_view trimmed = trim(std::string_view(name, strnlen(name, ETH_GSTRING_LEN)));
    std::uint64_t value = 0;
    std::memcpy(&value, values.data() + 1 + i, sizeof value);
    if (!trimmed.empty() && !is_of_one_queue(trimmed)) found.emplace(trimmed, value);
  }
  return found;
}

Reading<std::string> call_statistics(const std::string& interface) {
  return {json::dump(json::encode(ethtool_statistics(interface))), "statistics " + interface};
}

}  // namespace railbed
