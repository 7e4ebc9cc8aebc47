#include "base/json.h"
#include "facts/collectors.h"
#include "facts/readings.h"
#include "host/calls.h"

namespace railbed {
namespace {

// The options that GPUDirect over DMA-BUF needs, and the ones that say which RDMA drivers can exist at all.
constexpr std::string_view kOptions[] = {
    "CONFIG_PCI_P2PDMA",      "CONFIG_DMABUF_MOVE_NOTIFY", "CONFIG_DMA_SHARED_BUFFER",   "CONFIG_INFINIBAND",
    "CONFIG_MLX4_INFINIBAND", "CONFIG_MLX5_INFINIBAND",    "CONFIG_INFINIBAND_IPOIB_CM", "CONFIG_RDMA_RXE",
};

Reading<std::map<std::string, std::string>> collect_config(Host& host, const Reading<std::string>& release) {
  const auto text = host.read("/boot/config-" + release.value_or("unknown"));
  if (!text) return {text.miss(), text.from()};
  std::map<std::string, std::string> found;
  const auto all = key_values(*text, '=');
  for (const auto option : kOptions) {
    const auto set = all.find(option);
    found.emplace(option, set == all.end() ? "n" : set->second);
  }
  return {std::move(found), text.from()};
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
  os.hostname = host.read_line("/proc/sys/kernel/hostname");
  auto release = host.read("/etc/os-release");
  if (release.absent())
    release = host.read("/usr/lib/os-release");  // os-release(5): the second place to look
  os.id = pick(release, '=', "ID");
  os.version = pick(release, '=', "VERSION_ID");
  os.name = pick(release, '=', "PRETTY_NAME");
  os.architecture = host.call("uname").parsed([](const std::string& answer) -> std::optional<std::string> {
    const auto parsed = json::read<UnameAnswer>(answer);
    if (!parsed) return std::nullopt;
    return parsed->machine;
  });
  return os;
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
  kernel.boot_id = host.read_line("/proc/sys/kernel/random/boot_id");
  kernel.clock_synchronised = host.call("clock").parsed([](const std::string& answer) -> std::optional<bool> {
    const auto parsed = json::read<ClockAnswer>(answer);
    if (!parsed) return std::nullopt;
    return parsed->synchronised;
  });
  kernel.config = collect_config(host, kernel.release);
  return kernel;
}

}  // namespace railbed
