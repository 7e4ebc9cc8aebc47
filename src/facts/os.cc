#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/json.h"
#include "facts/collectors.h"
#include "facts/readings.h"
#include "host/boot_id.h"
#include "host/calls.h"
#include "host/device_calls.h"

namespace railbed {
namespace {

// The options that GPUDirect over DMA-BUF needs, those that decide which RDMA drivers can exist at all, and
// the default of the kernel's NUMA balancing.
constexpr std::string_view kOptions[] = {
    "CONFIG_PCI_P2PDMA",          "CONFIG_DMABUF_MOVE_NOTIFY", "CONFIG_DMA_SHARED_BUFFER",
    "CONFIG_INFINIBAND",          "CONFIG_MLX4_INFINIBAND",    "CONFIG_MLX5_INFINIBAND",
    "CONFIG_INFINIBAND_IPOIB_CM", "CONFIG_RDMA_RXE",           "CONFIG_NUMA_BALANCING_DEFAULT_ENABLED",
};

Reading<std::string> architecture_of(Host& host) {
  return host.call("uname").parsed([](const std::string& answer) -> std::optional<std::string> {
    const auto parsed = json::read<UnameAnswer>(answer);
    if (!parsed) return std::nullopt;
    return parsed->machine;
  });
}

using KernelConfig = std::map<std::string, std::string>;

// Returns the values of kOptions. Options that are not set have no line in a configuration, so they get "n".
KernelConfig every_option(KernelConfig set) {
  std::erase_if(set,
                [](const auto& one) { return std::ranges::find(kOptions, one.first) == std::end(kOptions); });
  for (const auto option : kOptions) set.try_emplace(std::string(option), "n");
  return set;
}

// Reads the options from the running kernel if it was built to provide them.
Reading<KernelConfig> running_config(Host& host) {
  return host.call(fmt::format("kernel-options {}", fmt::join(kOptions, ",")))
      .parsed([](const std::string& answer) -> std::optional<KernelConfig> {
        auto set = json::read<KernelConfig>(answer);
        return set ? std::optional(every_option(std::move(*set))) : std::nullopt;
      });
}

// Reads the kernel's configuration from /boot, else from /lib/modules, else from the running kernel.
Reading<KernelConfig> collect_config(Host& host, const Reading<std::string>& release) {
  const std::string kernel = release.value_or("unknown");
  auto text = host.read("/boot/config-" + kernel);
  if (text.absent()) text = host.read("/lib/modules/" + kernel + "/config");  // Fedora, RHEL
  if (text.absent())
    if (auto running = running_config(host); !running.absent()) return running;
  return text.parsed([](const std::string& config) {
    return std::optional(every_option(kernel_options_in(config, kOptions)));
  });
}

// Returns true if release `a` is older: "6.8.0-9" is before "6.8.0-87", as numbers compare as numbers.
bool older(const std::string& a, const std::string& b) { return strverscmp(a.c_str(), b.c_str()) < 0; }

// Returns the releases whose folder holds modules. A folder of headers alone contains only a link.
Reading<std::vector<std::string>> collect_installed(Host& host) {
  const std::string folder = "/lib/modules";
  return host.list(folder).parsed([&](std::vector<std::string> releases) {
    std::erase_if(releases, [&](const std::string& release) {
      return !host.resolve(folder + "/" + release + "/modules.order");
    });
    std::sort(releases.begin(), releases.end(), older);
    return std::optional(std::move(releases));
  });
}

Reading<bool> is_there(Host& host, const std::string& path) {
  const auto found = host.resolve(path);
  if (found) return {true, path};
  if (found.absent()) return {false, path};
  return {found.miss(), path};
}

// Reads the modules of DKMS, which keeps a link kernel-RELEASE-ARCHITECTURE for each installed build;
// dkms(8).
Reading<std::vector<DkmsModule>> collect_dkms(Host& host, const std::string& architecture) {
  const std::string folder = "/var/lib/dkms";
  return host.list(folder).parsed([&](const std::vector<std::string>& names) {
    constexpr std::string_view kPrefix = "kernel-";
    std::vector<DkmsModule> modules;
    for (const auto& name : names) {
      const auto entries = host.list(folder + "/" + name);
      if (!entries) continue;  // a file: dkms_dbversion, mok.key
      DkmsModule module{name, {}};
      for (const auto& entry : *entries)
        if (entry.starts_with(kPrefix) && entry.ends_with("-" + architecture))
          module.kernels.push_back(
              entry.substr(kPrefix.size(), entry.size() - kPrefix.size() - architecture.size() - 1));
      modules.push_back(std::move(module));
    }
    return std::optional(std::move(modules));
  });
}

Reading<bool> collect_reboot_required(Host& host) {
  // update-notifier's hooks write the mark; other distributions have none.
  const auto debian = host.resolve("/var/lib/dpkg");
  if (debian.unknown()) return {debian.miss(), "/run/reboot-required"};
  if (!debian) return {Miss{Missing::kAbsent, "only Debian and Ubuntu leave a mark"}, "/run/reboot-required"};
  return is_there(host, "/run/reboot-required");
}

}  // namespace

std::string used_config(std::string_view text) {
  std::string used;
  for (const auto line : lines(text))
    for (const auto option : kOptions)
      if (line.starts_with(option) && line.substr(option.size()).starts_with('='))
        used += std::string(line) + "\n";
  return used;
}

Os collect_os(Host& host) {
  Os os;
  os.hostname = host.read_line("/proc/sys/kernel/hostname").parsed([](const std::string& name) {
    return is_device_name(name, kLongestHost) ? std::optional(name) : std::nullopt;
  });
  auto release = host.read("/etc/os-release");
  if (release.absent())
    release = host.read("/usr/lib/os-release");  // os-release(5): the second place to look
  os.id = pick(release, '=', "ID");
  os.version = pick(release, '=', "VERSION_ID");
  os.name = pick(release, '=', "PRETTY_NAME");
  os.architecture = architecture_of(host);
  return os;
}

Firmware collect_firmware(Host& host) {
  const std::string folder = "/sys/class/dmi/id/";
  return {host.read_line(folder + "sys_vendor"), host.read_line(folder + "product_name"),
          host.read_line(folder + "bios_version"), host.read_line(folder + "bios_date")};
}

Kernel collect_kernel(Host& host) {
  Kernel kernel;
  kernel.release = host.read_line("/proc/sys/kernel/osrelease");
  kernel.command_line = host.read_line("/proc/cmdline");
  kernel.loaded_modules = host.read("/proc/modules").parsed([](const std::string& text) {
    std::vector<std::string> names;
    for (const auto line : lines(text)) names.emplace_back(line.substr(0, line.find(' ')));
    std::sort(names.begin(), names.end());
    return std::optional(std::move(names));
  });
  kernel.present_modules = host.list("/sys/module");
  kernel.uptime_seconds = host.read_line("/proc/uptime").parsed([](const std::string& line) {
    return parse_real(line.substr(0, line.find(' ')));
  });
  kernel.boot_id = read_boot_id(host);
  kernel.clock_synchronised = host.call("clock").parsed([](const std::string& answer) -> std::optional<bool> {
    const auto parsed = json::read<ClockAnswer>(answer);
    if (!parsed) return std::nullopt;
    return parsed->synchronised;
  });
  kernel.config = collect_config(host, kernel.release);
  kernel.installed = collect_installed(host);
  kernel.headers = kernel.release.ok() && kernel.installed.ok()
                       ? is_there(host, "/lib/modules/" + *kernel.release + "/build")
                   : kernel.installed.unknown()
                       ? Reading<bool>(kernel.installed.miss(), "/lib/modules")
                       : Reading<bool>(Miss{Missing::kAbsent, "no /lib/modules"}, "/lib/modules");
  kernel.dkms = collect_dkms(host, architecture_of(host).value_or("x86_64"));
  kernel.reboot_required = collect_reboot_required(host);
  kernel.blocked_modules = collect_blocked_modules(host, kernel.command_line);
  kernel.signatures_required = collect_signatures_required(host);
  return kernel;
}

}  // namespace railbed
