// The kernel's limits of socket buffers: NCCL's and MPI's sockets, and TCP over a fast rail with some delay,
// need more than the 208 KiB that the kernel allows. And no moving of memory between NUMA nodes.
#include <fmt/format.h>

#include "base/text.h"
#include "settings/files.h"
#include "settings/render.h"
#include "model/boot_setting.h"

namespace railbed {
namespace {

// sysctl.d(5) reads in the order of names and the last one wins: this stands behind the usual 99-sysctl.conf.
constexpr std::string_view kSysctlPath = "/etc/sysctl.d/99-zz-railbed.conf";
constexpr std::string_view kBalancingPath = "/etc/sysctl.d/99-zz-railbed-numa.conf";
constexpr const char* kBalancingKey = "kernel.numa_balancing";

std::optional<std::uint64_t> value_now(const Facts& facts, const std::string& key) {
  const auto found = facts.system.sysctl.find(key);
  return found != facts.system.sysctl.end() && found->second.ok()
             ? parse_number<std::uint64_t>(*found->second)
             : std::nullopt;
}

// What the next boot sets; none: no file says, or none could be read.
std::optional<std::uint64_t> value_at_boot(const Facts& facts, const std::string& key) {
  if (!facts.system.sysctl_at_boot.ok()) return std::nullopt;
  for (const BootSetting& one : *facts.system.sysctl_at_boot)
    if (one.key == key) return parse_number<std::uint64_t>(one.value);
  return std::nullopt;
}

Need at_least(const Target& target, const std::string& key, std::uint64_t wanted) {
  Need need{.what = fmt::format("{} is at least {}", key, wanted)};
  if (!target.looked()) return need;
  const auto now = value_now(target.facts(), key);
  const auto boot = value_at_boot(target.facts(), key);
  if (now) need.now = *now >= wanted;
  if (target.facts().system.sysctl_at_boot.ok()) need.at_boot = boot.value_or(0) >= wanted;
  if (now && !*need.now)
    need.found = fmt::format("{}", *now);
  else if (need.at_boot == false)
    need.found = boot ? fmt::format("{} after the next boot", *boot) : "no file keeps it";
  return need;
}

// As host.settings-at-boot of verify sees it.
std::optional<bool> stays_off(const Target& target) {
  const auto& files = target.facts().system.sysctl_at_boot;
  if (!files.ok()) return std::nullopt;
  const BootOutlook outlook = after_reboot(target.view, {{kBalancingKey, 0, false}}, *files);
  if (!outlook.kept.empty()) return true;
  return outlook.lost.empty() ? std::nullopt : std::optional<bool>(false);
}

// What host.numa-balancing of verify wants, too.
void add_balancing(const Target& target, std::vector<Setting>& settings) {
  const auto now = value_now(target.facts(), kBalancingKey);
  if (!now || !balancing_matters(target.view)) return;
  Need need{.what = "the kernel moves no memory between processors by itself", .now = *now == 0};
  if (*need.now) need.at_boot = stays_off(target);
  if (!*need.now)
    need.found = fmt::format("{} is {}", kBalancingKey, *now);
  else if (need.at_boot == false)
    need.found = "it does after the next boot";
  std::string path(kBalancingPath);
  settings.push_back(
      {.section = Section::kSysctl,
       .title = "memory stays where it is",
       .reason = "balancing unmaps pages of running jobs to see who touches them: steps get uneven",
       .asked = false,
       .needs = {std::move(need)},
       .files = {{.path = path, .content = fmt::format("{}{} = 0\n", kFileMark, kBalancingKey)}},
       .steps = {{StepKind::kLoadSysctl, {path}}}});
}

void add_buffers(const Target& target, std::vector<Setting>& settings) {
  const auto wanted = target.node().expect.socket_buffer;
  if (!wanted) return;
  Setting setting{
      .section = Section::kSysctl,
      .title = fmt::format("socket buffers up to {}", to_text(ByteCount{*wanted})),
      .reason =
          "a fast connection needs as much buffer as bytes are under way; the kernel's limit is 208 KiB"};
  DesiredFile file{.path = std::string(kSysctlPath), .content = std::string(kFileMark)};
  for (const char* key : {"net.core.rmem_max", "net.core.wmem_max"}) {
    setting.needs.push_back(at_least(target, key, *wanted));
    file.content += fmt::format("{} = {}\n", key, *wanted);
  }
  setting.steps = {{StepKind::kLoadSysctl, {file.path}}};
  setting.files.push_back(std::move(file));
  settings.push_back(std::move(setting));
}

}  // namespace

void render_sysctl(const Target& target, std::vector<Setting>& settings) {
  add_buffers(target, settings);
  add_balancing(target, settings);
}

}  // namespace railbed
