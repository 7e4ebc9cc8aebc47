// The options of the running kernel: /proc/config.gz, if the kernel has one.
#include <algorithm>
#include <map>

#include "base/gzip.h"
#include "base/json.h"
#include "base/text.h"
#include "host/device_calls.h"
#include "host/open.h"

namespace railbed {
namespace {

constexpr std::size_t kMostPackedConfig = 1 << 20;
constexpr std::size_t kMostConfig = 8 << 20;

}  // namespace

std::map<std::string, std::string> kernel_options_in(std::string_view config,
                                                     std::span<const std::string_view> names) {
  std::map<std::string, std::string> set;
  for (const auto line : lines(config)) {
    const auto name = line.substr(0, line.find('='));
    if (name.size() < line.size() && std::ranges::find(names, name) != names.end())
      set.emplace(name, trim(line.substr(name.size() + 1)));
  }
  return set;
}

Reading<std::string> call_kernel_options(const std::vector<std::string_view>& names) {
  return open_this_machine()
      ->read("/proc/config.gz", kMostPackedConfig)
      .parsed([&](const std::string& packed) -> std::optional<std::string> {
        const auto config = gunzip(packed, kMostConfig);
        if (!config) return std::nullopt;
        return json::dump(json::encode(kernel_options_in(*config, names)));
      });
}

}  // namespace railbed
