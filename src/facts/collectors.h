// The parts of collect_system(), timed one by one by collect_facts().
#pragma once

#include "facts/system.h"

namespace railbed {

Os collect_os(Host& host);
Kernel collect_kernel(Host& host);
// The lines of a kernel configuration that collect_kernel() looks at.
std::string used_config(std::string_view text);
// What keeps modules out; the lines of a modprobe.d file that collect_blocked_modules() looks at.
Reading<std::vector<BlockedModule>> collect_blocked_modules(Host& host,
                                                            const Reading<std::string>& command_line);
std::string used_modprobe(std::string_view text);
Reading<bool> collect_signatures_required(Host& host);
Cpu collect_cpu(Host& host);
// Service limits are read from the main process of those services that run.
Memory collect_memory(Host& host, const Reading<std::vector<Service>>& services);
// `paths`: file systems to ask about beside the usual ones.
Storage collect_storage(Host& host, const std::vector<std::string>& paths = {});
Firmware collect_firmware(Host& host);
Reading<std::vector<StuckProcess>> collect_stuck(Host& host);
Reading<std::vector<HostsEntry>> collect_hosts(Host& host);
std::map<std::string, Reading<std::string>> collect_sysctl(Host& host);
Reading<std::vector<BootSetting>> collect_sysctl_at_boot(Host& host);
// The lines of a sysctl.d file that it looks at.
std::string used_sysctl(std::string_view text);
// The words of a setting's value, one space between them.
std::string spaced(std::string_view text);
Reading<std::vector<Service>> collect_services(Host& host);
// What systemd says of these units, whether it found them or not.
Reading<std::vector<Service>> show_units(Host& host, const std::vector<std::string>& units);
ConsoleFacts collect_console(Host& host, const Reading<std::string>& command_line);
// Of a file of GRUB's settings the lines that collect_console() looks at.
std::string used_boot_menu(std::string_view text);
bool is_boot_menu_file(std::string_view path);

}  // namespace railbed
