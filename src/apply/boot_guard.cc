#include "apply/boot_guard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <climits>

namespace railbed {
namespace {

constexpr std::string_view kUnits = "/etc/systemd/system";
constexpr std::string_view kWants = "/etc/systemd/system/sysinit.target.wants";

std::string guard_link() { return std::string(kWants) + "/railbed-recover.service"; }

std::string guard_unit() {
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
                     own_program());
}

}  // namespace

std::string own_program() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : "";
}

Result<void> arm_boot_guard(WritableHost& host) {
  if (!host.is_folder(std::string(kUnits))) return {};
  const KeptFile unit{{guard_unit()}, 0644, geteuid(), getegid(), ""};
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
