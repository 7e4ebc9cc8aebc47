// The collectors of the operating system's facts. collect_facts() calls and times them one by one. The
// functions used_*() return the lines of a file that the collector reads; a capture keeps only those.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/system.h"

namespace railbed {

Os collect_os(Host& host);
Kernel collect_kernel(Host& host);
// Returns the lines of a kernel configuration that collect_kernel() reads.
std::string used_config(std::string_view text);
// Returns the modules that modprobe.d files and the kernel's command line block.
Reading<std::vector<BlockedModule>> collect_blocked_modules(Host& host,
                                                            const Reading<std::string>& command_line);
std::string used_modprobe(std::string_view text);
Reading<bool> collect_signatures_required(Host& host);
Cpu collect_cpu(Host& host);
// Returns how often cores slowed down because they were too hot, summed over all CPUs since the boot; absent where the
// kernel counts it for none (it does on Intel's).
Reading<std::uint64_t> core_throttle_count(Host& host);
// Returns the sum of "ce_count" or "ue_count" over the memory controllers. If one of them cannot be read, the sum is
// missing.
Reading<std::uint64_t> edac_sum(Host& host, const std::string& count);
// Reads the limits of services from the main processes of those that run.
Memory collect_memory(Host& host, const Reading<std::vector<Service>>& services);
// Returns false for loop, RAM, optical, floppy and network block devices.
bool is_drive(std::string_view block_device);
// `paths` adds file systems to the default ones ("/", "/tmp", "/dev/shm"); `devices` and `folders` are those that cluster.yaml
// exports, or mounts.
Storage collect_storage(Host& host, const std::vector<std::string>& paths = {},
                        const std::vector<std::string>& devices = {},
                        const std::vector<std::string>& folders = {});
Reading<std::vector<NvmeTarget>> collect_nvme_targets(Host& host);
ExportDevice collect_export_device(Host& host, const std::string& path);
Reading<std::vector<std::string>> collect_own_units_at_boot(Host& host);
Firmware collect_firmware(Host& host);
// Limit for gdscheck, which starts CUDA on every GPU (facts/software/gds.h).
inline constexpr std::chrono::seconds kGdscheckDeadline{60};
Reading<std::vector<StuckProcess>> collect_stuck(Host& host);
Reading<std::vector<HostsEntry>> collect_hosts(Host& host);
Reading<std::vector<HostsEntry>> collect_hosts_template(Host& host);
// Returns the path of cloud-init's template that a comment of /etc/hosts names; empty if none does.
std::string template_of_hosts(std::string_view text);
std::map<std::string, Reading<std::string>> collect_sysctl(Host& host);
Reading<std::vector<BootSetting>> collect_sysctl_at_boot(Host& host);
// Returns the lines of a sysctl.d file that collect_sysctl_at_boot() reads.
std::string used_sysctl(std::string_view text);
// Returns the words of a setting's value, separated by single spaces.
std::string spaced(std::string_view text);
Reading<std::vector<Service>> collect_services(Host& host);
// Returns the state of these units, including units that systemd does not find. `units` have no ".service".
Reading<std::vector<Service>> show_units(Host& host, const std::vector<std::string>& units);
Reading<std::vector<PackageSource>> collect_package_sources(Host& host);
// Returns the sources that a file of apt (*.list, *.sources) or of dnf (*.repo) switches on; untrusted text.
std::vector<PackageSource> parse_package_sources(std::string_view text, std::string_view file);
// Returns such a file with these sources alone, and of them those that begin with `only`.
std::string used_package_sources(std::string_view file, std::string_view text, std::string_view only = "");
bool is_package_source_file(std::string_view path);
ContainerEngines collect_engines(Host& host);
// Returns what a file of CDI says of NVIDIA's GPUs, with every file of the driver that it mounts in `gone`; nullopt if
// it is of another kind. Untrusted text, YAML as nvidia-ctk writes it, or JSON.
std::optional<CdiSpec> parse_cdi_spec(std::string_view text);
// Returns the lines of such a file that parse_cdi_spec() reads.
std::string used_cdi_spec(std::string_view text);
// Returns dockerd's configuration with its runtimes alone: it may name registries, proxies and their users.
std::string used_docker_runtimes(std::string_view text);
Reading<std::vector<std::string>> collect_memory_guards(Host& host);
Reading<bool> collect_mps_daemon(Host& host);
ConsoleFacts collect_console(Host& host, const Reading<std::string>& command_line);
// Returns the lines of a GRUB settings file that collect_console() reads.
std::string used_boot_menu(std::string_view text);
bool is_boot_menu_file(std::string_view path);

}  // namespace railbed
