// Kernel settings, one file below /etc/sysctl.d each. Socket buffers: NCCL's and MPI's sockets, and TCP over
// a fast rail with some delay, need more than the 208 KiB that the kernel allows. Memory of several NUMA
// nodes: the kernel must neither move it between them, nor drop a node's page cache before it uses memory of
// another node.
#include <fmt/format.h>

#include "base/text.h"
#include "model/boot_setting.h"
#include "settings/files.h"
#include "settings/render.h"

namespace railbed {
namespace {

// sysctl.d(5): files are read in the order of their names, and the last one wins. This name sorts after the
// usual 99-sysctl.conf.
constexpr std::string_view kSysctlPath = "/etc/sysctl.d/99-zz-railbed.conf";

// A setting that rules of verify want to be 0 on machines with several NUMA nodes.
struct ZeroSetting {
  const char* key;
  const char* name;
  const char* path;
  const char* title;
  const char* need;
  const char* reason;
};
constexpr ZeroSetting kZeroSettings[] = {
    {"kernel.numa_balancing", "sysctl/numa-balancing", "/etc/sysctl.d/99-zz-railbed-numa.conf",
     "memory stays where it is", "the kernel moves no memory between processors by itself",
     "balancing unmaps pages of running jobs to see who touches them: steps get uneven"},
    {"vm.zone_reclaim_mode", "sysctl/zone-reclaim", "/etc/sysctl.d/99-zz-railbed-reclaim.conf",
     "memory comes from the other processor before files are dropped",
     "the kernel takes memory of another NUMA node before it drops cached files",
     "reclaiming stalls the program that asks for memory, and drops the cache of its data"},
};

std::optional<std::uint64_t> value_now(const Facts& facts, const std::string& key) {
  const auto found = facts.system.sysctl.find(key);
  return found != facts.system.sysctl.end() && found->second.ok()
             ? parse_number<std::uint64_t>(*found->second)
             : std::nullopt;
}

// Returns the value after the next boot; nullopt if no file sets it or the files could not be read.
std::optional<std::uint64_t> value_at_boot(const Facts& facts, const std::string& key) {
  if (!facts.system.sysctl_at_boot.ok()) return std::nullopt;
  for (const BootSetting& setting : *facts.system.sysctl_at_boot)
    if (setting.key == key) return parse_number<std::uint64_t>(setting.value);
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

std::optional<bool> is_zero_at_boot(const Target& target, const char* key) {
  const auto& files = target.facts().system.sysctl_at_boot;
  if (!files.ok()) return std::nullopt;
  const BootOutlook outlook = after_reboot(target.view, {{key, 0, false}}, *files);
  if (!outlook.kept.empty()) return true;
  return outlook.lost.empty() ? std::nullopt : std::optional<bool>(false);
}

// Adds a note for each file that overrides ours: files are read in the order of their names, whatever their
// folder, and the last one counts (sysctl.d(5)).
void name_later_file(const Target& target, std::string_view key, Setting& setting) {
  const std::string& own = setting.files.front().path;
  for (const BootSetting& boot_setting : items(target.facts().system.sysctl_at_boot))
    if (boot_setting.key == key &&
        boot_setting.file.substr(boot_setting.file.rfind('/') + 1) > own.substr(own.rfind('/') + 1))
      setting.notes.push_back(
          fmt::format("{} sets {} and is read later: take that line out.", boot_setting.file, key));
}

void add_zero(const Target& target, const ZeroSetting& zero, std::vector<Setting>& settings) {
  const auto now = value_now(target.facts(), zero.key);
  if (!now || !numa_matters(target.view)) return;
  Need need{.what = zero.need, .now = *now == 0};
  if (*need.now) need.at_boot = is_zero_at_boot(target, zero.key);
  if (!*need.now)
    need.found = fmt::format("{} is {}", zero.key, *now);
  else if (need.at_boot == false)
    need.found = "it does after the next boot";
  settings.push_back(
      {.section = Section::kSysctl,
       .name = zero.name,
       .title = zero.title,
       .reason = zero.reason,
       .asked = false,
       .needs = {std::move(need)},
       .files = {{.path = zero.path, .content = fmt::format("{}{} = 0\n", kFileMark, zero.key)}},
       .steps = {{StepKind::kLoadSysctl, {zero.path}}}});
  name_later_file(target, zero.key, settings.back());
}

void add_buffers(const Target& target, std::vector<Setting>& settings) {
  const auto wanted = target.node().expect.socket_buffer;
  if (!wanted) return;
  Setting setting{
      .section = Section::kSysctl,
      .name = "sysctl/socket-buffers",
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
  for (const char* key : {"net.core.rmem_max", "net.core.wmem_max"}) name_later_file(target, key, setting);
  settings.push_back(std::move(setting));
}

}  // namespace

void render_sysctl(const Target& target, std::vector<Setting>& settings) {
  add_buffers(target, settings);
  for (const ZeroSetting& zero : kZeroSettings) add_zero(target, zero, settings);
}

}  // namespace railbed
