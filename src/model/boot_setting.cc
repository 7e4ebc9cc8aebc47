#include "model/boot_setting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"

namespace railbed {
namespace {

constexpr std::string_view kBalancing = "kernel.numa_balancing";
constexpr std::string_view kReclaim = "vm.zone_reclaim_mode";

// The kernel's initial value, compared with the expected one.
enum class Start { kFits, kWrong, kUnknown };

// Linux, net/core/sock.c: 212992 bytes until 6.17, 4 MiB since (commit a6d4f25888b8); distributions have
// values between the two.
constexpr std::uint64_t kLeastBuffer = 212'992;
constexpr std::uint64_t kMostBuffer = std::uint64_t{4} << 20;

Start default_buffer(const WantedSetting& wanted) {
  if (wanted.value <= kLeastBuffer) return Start::kFits;
  return wanted.value > kMostBuffer ? Start::kWrong : Start::kUnknown;
}

// Linux, mm/mempolicy.c: the kernel parameter, else the build's default.
Start default_balancing(const NodeView& node) {
  const Kernel& kernel = node.facts->system.kernel;
  Start found = Start::kUnknown;
  if (kernel.config) {
    const auto built = kernel.config->find("CONFIG_NUMA_BALANCING_DEFAULT_ENABLED");
    if (built != kernel.config->end()) found = built->second == "y" ? Start::kWrong : Start::kFits;
  }
  for (const auto word : words(kernel.command_line ? std::string_view(*kernel.command_line) : "")) {
    if (word == "numa_balancing=disable") found = Start::kFits;
    if (word == "numa_balancing=enable") found = Start::kWrong;
  }
  return found;
}

Start start_of(const NodeView& node, const WantedSetting& wanted) {
  if (wanted.key == kBalancing) return default_balancing(node);
  // Documentation/admin-guide/sysctl/vm.rst: "zone_reclaim_mode is disabled by default".
  if (wanted.key == kReclaim) return wanted.value == 0 ? Start::kFits : Start::kWrong;
  if (wanted.key == "net.core.rmem_max" || wanted.key == "net.core.wmem_max") return default_buffer(wanted);
  return Start::kUnknown;
}

// Returns a unit of this node that may set kernel settings at boot; empty if there is none. railbed does not
// read what such units do.
std::string_view may_set(const NodeView& node) {
  for (const std::string_view unit : {"tuned", "rdma-optimize"}) {
    const Service* service = find_service(node, {unit});
    if (service != nullptr && (service->active_state == "active" || service->unit_file_state == "enabled"))
      return unit;
  }
  return {};
}

// Adds the outlook of a setting that no file sets.
void without_file(const NodeView& node, const WantedSetting& setting, std::string line,
                  BootOutlook& outlook) {
  const Start start = start_of(node, setting);
  const std::string_view unit = may_set(node);
  if (start == Start::kFits)
    outlook.kept.emplace_back(setting.key);
  else if (!unit.empty())
    outlook.doubts.push_back(fmt::format(
        "no file of sysctl.d sets {}; {}.service may, and what it does was not read", setting.key, unit));
  else if (start == Start::kUnknown)
    outlook.doubts.push_back(fmt::format(
        "no file of sysctl.d sets {}, and what this kernel starts with is not known", setting.key));
  else
    outlook.lost.push_back({std::move(line), "", ""});
}

}  // namespace

bool WantedSetting::fits(std::string_view text) const {
  const auto have = parse_number<std::uint64_t>(text);
  return have && (or_more ? *have >= value : *have == value);
}

bool numa_matters(const NodeView& node) {
  return node.has_accelerators() && node.facts->system.cpu.numa_nodes.size() >= 2;
}

std::vector<WantedSetting> wanted_settings(const NodeView& node) {
  std::vector<WantedSetting> wanted;
  if (const auto& buffer = node.expect().socket_buffer)
    for (const std::string_view key : {"net.core.rmem_max", "net.core.wmem_max"})
      wanted.push_back({key, *buffer, true});
  if (numa_matters(node))
    for (const std::string_view key : {kBalancing, kReclaim}) wanted.push_back({key, 0, false});
  return wanted;
}

BootOutlook after_reboot(const NodeView& node, const std::vector<WantedSetting>& wanted,
                         const std::vector<BootSetting>& files) {
  BootOutlook outlook;
  for (const WantedSetting& setting : wanted) {
    const auto now = node.facts->system.sysctl.find(std::string(setting.key));
    if (now == node.facts->system.sysctl.end() || !now->second || !setting.fits(*now->second))
      continue;  // other rules judge wrong values
    std::string line = fmt::format("{} = {}", setting.key, *parse_number<std::uint64_t>(*now->second));
    const auto set = std::ranges::find(files, setting.key, &BootSetting::key);
    if (set == files.end())
      without_file(node, setting, std::move(line), outlook);
    else if (setting.fits(set->value))
      outlook.kept.emplace_back(setting.key);
    else
      outlook.lost.push_back({std::move(line), set->file, set->value});
  }
  return outlook;
}

std::string why_lost(const BootOutlook& outlook) {
  std::vector<std::string> unset, reasons;
  for (const auto& [line, file, to] : outlook.lost) {
    const std::string key = line.substr(0, line.find(' '));
    if (file.empty())
      unset.push_back(key);
    else
      reasons.push_back(fmt::format("{} sets {} to {}", file, key, to.empty() ? "nothing" : to));
  }
  if (!unset.empty())
    reasons.insert(reasons.begin(), fmt::format("no file of sysctl.d sets {}", fmt::join(unset, ", ")));
  return fmt::format("{}", fmt::join(reasons, "; "));
}

}  // namespace railbed
