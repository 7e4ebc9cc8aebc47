#include "apply/boot_guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>

#include "base/fd.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/trusted_path.h"

namespace railbed {
namespace {

constexpr std::string_view kOwnPrograms = "/opt/railbed/bin";
constexpr std::size_t kMostProgram = 256 << 20;
constexpr std::string_view kUnits = "/etc/systemd/system";
constexpr std::string_view kWants = "/etc/systemd/system/sysinit.target.wants";

std::string guard_link() { return std::string(kWants) + "/railbed-recover.service"; }

std::string guard_unit(const std::string& program) {
  return fmt::format(R"(# Written by railbed while it changes this node, and removed afterwards.
[Unit]
Description=railbed takes back a change that was cut off
DefaultDependencies=no
RequiresMountsFor=/var/lib/railbed /etc {0}
After=local-fs.target
Before=sysinit.target systemd-sysctl.service systemd-modules-load.service network-pre.target
Wants=network-pre.target
ConditionPathIsReadWrite=/etc

[Service]
Type=oneshot
ExecStart={0} agent --recover all --booting
TimeoutStartSec=300

[Install]
WantedBy=sysinit.target
)",
                     program);
}

std::string own_program() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : "";
}

// Returns true if this path leads to the running program, and no other user can replace it.
bool is_safe_program(const std::string& path) {
  const FoundEntry entry = find_entry(path, Strangers::kNothing);
  struct stat there = {};
  struct stat running = {};
  return entry && entry->look(there) && S_ISREG(there.st_mode) && is_ours(there) &&
         stat("/proc/self/exe", &running) == 0 && there.st_ino == running.st_ino &&
         there.st_dev == running.st_dev;
}

}  // namespace

Result<std::string> program_for_root(WritableHost& host) {
  std::string path = own_program();
  if (!host.is_this_machine() || is_safe_program(path)) return path;
  const Fd running(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  ASSIGN_OR_RETURN(const auto bytes, read_file(fmt::format("/proc/self/fd/{}", running.get()), kMostProgram));
  const std::string folder(kOwnPrograms);
  path = fmt::format("{}/railbed-{}", folder, sha256_hex(bytes));
  RETURN_IF_ERROR(host.make_folder(folder));
  RETURN_IF_ERROR(host.write(path, {{bytes}, 0755, geteuid(), getegid(), ""}));
  return path;
}

Result<void> arm_boot_guard(WritableHost& host) {
  if (!host.is_folder(std::string(kUnits))) return {};
  ASSIGN_OR_RETURN(const auto program, program_for_root(host));
  const KeptFile unit{{guard_unit(program)}, 0644, geteuid(), getegid(), ""};
  if (auto written = host.write(std::string(kBootGuard), unit); !written) return written;
  if (auto made = host.make_folder(std::string(kWants)); !made) return made;
  return host.link_to("../railbed-recover.service", guard_link());
}

Result<void> disarm_boot_guard(WritableHost& host) {
  if (auto removed = host.remove(guard_link()); !removed) return removed;
  host.remove_folder(std::string(kWants));
  return host.remove(std::string(kBootGuard));
}

}  // namespace railbed
