// What this machine serves to others by NVMe over Fabrics, and whether a device is free to be served.
//
// The kernel's target is set up by folders and links below /sys/kernel/config/nvmet (drivers/nvme/target/configfs.c): a
// subsystem has namespaces and allowed hosts, a port an address, and a link from the port to a subsystem serves it there.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "facts/block_device.h"
#include "facts/collectors.h"
#include "facts/mount.h"
#include "facts/readings.h"

namespace railbed {
namespace {

constexpr std::size_t kMostTargets = 1024;
const std::string kTarget = "/sys/kernel/config/nvmet";

std::vector<std::string> few_names(Host& host, const std::string& folder) {
  return device_names(host, folder, kLongestNqn, kMostTargets).value_or({});
}

// Returns a file's line without control characters, at most `most` bytes; empty if there is none.
std::string short_line(Host& host, const std::string& path, std::size_t most) {
  return printable(host.read_line(path).value_or("").substr(0, most));
}

NvmeTarget read_target(Host& host, const std::string& nqn) {
  const std::string folder = kTarget + "/subsystems/" + nqn;
  NvmeTarget target{.nqn = nqn, .hosts = few_names(host, folder + "/allowed_hosts")};
  target.any_host = short_line(host, folder + "/attr_allow_any_host", 8) == "1";
  for (const std::string& name : few_names(host, folder + "/namespaces")) {
    const auto id = parse_number<int>(name);
    if (!id) continue;
    const std::string own = folder + "/namespaces/" + name;
    target.namespaces.push_back(
        {*id, short_line(host, own + "/device_path", 255), short_line(host, own + "/enable", 8) == "1"});
  }
  return target;
}

void add_listeners(Host& host, std::vector<NvmeTarget>& targets) {
  for (const std::string& name : few_names(host, kTarget + "/ports")) {
    const std::string folder = kTarget + "/ports/" + name;
    const NvmeListener listener{short_line(host, folder + "/addr_trtype", 16),
                                short_line(host, folder + "/addr_traddr", 64),
                                short_line(host, folder + "/addr_trsvcid", 16)};
    for (const std::string& nqn : few_names(host, folder + "/subsystems"))
      if (const auto found = std::ranges::find(targets, nqn, &NvmeTarget::nqn); found != targets.end())
        found->listeners.push_back(listener);
  }
}

// Returns the device and its partitions.
Reading<std::vector<std::string>> parts_of(Host& host, const std::string& name) {
  std::vector<std::string> parts = {name};
  const std::string folder = "/sys/class/block/" + name;
  const auto entries = host.list(folder);
  if (!entries) return {entries.miss(), entries.from()};
  for (const std::string& entry : *entries) {
    if (!entry.starts_with(name)) continue;
    const auto number = host.read_line(folder + "/" + entry + "/partition");
    if (number.ok())
      parts.push_back(entry);
    else if (!number.absent())
      return {number.miss(), number.from()};
  }
  return {std::move(parts), folder};
}

// Returns the devices of all Btrfs file systems, of which mountinfo names one each.
Reading<std::vector<std::string>> btrfs_devices(Host& host) {
  const std::string folder = "/sys/fs/btrfs";
  std::vector<std::string> devices;
  const auto systems = host.list(folder);
  if (!systems.ok() && !systems.absent()) return {systems.miss(), folder};
  for (const std::string& one : items(systems)) {
    const auto members = host.list(fmt::format("{}/{}/devices", folder, one));
    if (!members.ok() && !members.absent()) return {members.miss(), members.from()};
    std::ranges::copy(items(members), std::back_inserter(devices));
  }
  return {std::move(devices), folder};
}

bool is_swap(std::string_view swaps, std::string_view name) {
  return std::ranges::any_of(lines(swaps), [&](std::string_view line) {
    const auto columns = words(line);
    return !columns.empty() && columns.front() == fmt::format("/dev/{}", name);
  });
}

Reading<std::string> read_use(Host& host, const std::string& device) {
  const std::string from = kMountTable;
  const auto mounts = host.read(from);
  if (!mounts) return {Miss{Missing::kUnsupported, mounts.miss().why}, from};
  const auto swaps = host.read("/proc/swaps");
  if (!swaps.ok() && !swaps.absent()) return {swaps.miss(), "/proc/swaps"};
  const auto of_btrfs = btrfs_devices(host);
  if (!of_btrfs) return {of_btrfs.miss(), of_btrfs.from()};
  const auto parts = parts_of(host, device);
  if (!parts) return {parts.miss(), parts.from()};
  for (const std::string& part : *parts) {
    const std::string folder = "/sys/class/block/" + part;
    const auto number = host.read_line(folder + "/dev");
    if (!number) return {Miss{Missing::kUnsupported, number.miss().why}, number.from()};
    const std::string what = part == device ? "it" : part;
    if (const auto point = mount_point_of(*mounts, trim(*number), part))
      return {fmt::format("{} is mounted at {}", what, printable(*point)), from};
    if (std::ranges::find(*of_btrfs, part) != of_btrfs->end())
      return {what + " is part of a btrfs file system", "/sys/fs/btrfs"};
    if (is_swap(swaps.value_or(""), part)) return {what + " is swap", "/proc/swaps"};
    const auto holders = host.list(folder + "/holders");
    if (!holders.ok() && !holders.absent()) return {holders.miss(), holders.from()};
    if (holders.ok() && !holders->empty())
      return {fmt::format("{} is on {}", printable(holders->front()), part), holders.from()};
  }
  return {Miss{Missing::kAbsent, "nothing uses it"}, from};
}

}  // namespace

Reading<std::vector<NvmeTarget>> collect_nvme_targets(Host& host) {
  const auto names = device_names(host, kTarget + "/subsystems", kLongestNqn, kMostTargets);
  if (!names) return {names.miss(), names.from()};
  if (names->size() >= kMostTargets)
    return {Miss{Missing::kUnsupported, fmt::format("more than {} subsystems are there", kMostTargets - 1)},
            kTarget};
  std::vector<NvmeTarget> targets;
  for (const std::string& nqn : *names) targets.push_back(read_target(host, nqn));
  add_listeners(host, targets);
  return {std::move(targets), kTarget};
}

ExportDevice collect_export_device(Host& host, const std::string& path) {
  ExportDevice device{.path = path, .device = {}, .used_by = {}};
  const auto resolved = host.resolve(path);
  if (!resolved) {
    device.device = {resolved.miss(), path};
    device.used_by = {resolved.miss(), path};
    return device;
  }
  const std::string name = last_part(*resolved);
  if (!is_device_name(name, kLongestDevice) || !host.list("/sys/class/block/" + name).ok()) {
    device.device = {Miss{Missing::kUnsupported, "it is no block device"}, path};
    device.used_by = {device.device.miss(), path};
    return device;
  }
  device.device = {name, path};
  device.used_by = read_use(host, name);
  return device;
}

Reading<std::vector<std::string>> collect_own_units_at_boot(Host& host) {
  const std::string folder = "/etc/systemd/system/multi-user.target.wants";
  const auto names = device_names(host, folder, kLongestNqn);
  if (names.absent()) return {std::vector<std::string>(), folder};
  return names.parsed([](std::vector<std::string> units) {
    std::erase_if(units, [](const std::string& unit) { return !unit.starts_with("railbed-"); });
    units.resize(std::min(units.size(), kMostTargets));
    return std::optional(std::move(units));
  });
}

}  // namespace railbed
