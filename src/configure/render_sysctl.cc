// The kernel's limits of socket buffers. NCCL's and MPI's sockets, and TCP over a fast rail with some delay,
// need more than the 208 KiB that the kernel allows.
#include <fmt/format.h>

#include "base/text.h"
#include "configure/files.h"
#include "configure/render.h"

namespace railbed {
namespace {

// sysctl.d(5) reads in the order of names and the last one wins: this stands behind the usual 99-sysctl.conf.
constexpr std::string_view kSysctlPath = "/etc/sysctl.d/99-zz-railbed.conf";

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

}  // namespace

void render_sysctl(const Target& target, std::vector<Setting>& settings) {
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

}  // namespace railbed
