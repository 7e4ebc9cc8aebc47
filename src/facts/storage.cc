#include "base/json.h"
#include "facts/block_device.h"
#include "facts/collectors.h"
#include "facts/mount.h"
#include "facts/pcie.h"
#include "facts/readings.h"
#include "host/calls.h"
#include "host/device_calls.h"

namespace railbed {
namespace {

BlockDevice collect_block_device(Host& host, const std::string& name) {
  const std::string folder = block_device_folder(name);
  BlockDevice device;
  device.name = name;
  device.model = host.read_line(folder + "/device/model");
  // The unit is 512 bytes whatever the device's sector size: Documentation/ABI/stable/sysfs-block.
  device.size = read_number<std::uint64_t>(host, folder + "/size").parsed([](std::uint64_t sectors) {
    return std::optional(ByteCount{sectors * 512});
  });
  device.rotational = read_flag(host, folder + "/queue/rotational");
  device.pci_address = host.resolve(folder).parsed(
      [](const std::string& path) { return std::optional(last_pci_address(path)); });
  if (device.pci_address && device.pci_address->empty())
    device.pci_address = {Miss{Missing::kAbsent, "not on PCI"}, folder};
  return device;
}

// Returns a member of the reply; absent if it was not recorded, as old captures hold sizes only.
template <class T>
Reading<T> if_recorded(const Reading<json::Value>& answer, const char* key, T StatvfsAnswer::*member) {
  if (!answer) return {answer.miss(), answer.from()};
  if (!answer->contains(key)) return {Miss{Missing::kAbsent, "not recorded"}, answer.from()};
  return answer.parsed([&](const json::Value& value) -> std::optional<T> {
    auto parsed = json::decode<StatvfsAnswer>(value);
    if (!parsed) return std::nullopt;
    return (*parsed).*member;
  });
}

// Returns why the file system is read-only; absent if it can be written.
Reading<ReadOnlyBy> collect_read_only_by(Host& host, const FileSystem& system) {
  const std::string from = kMountTable;
  if (!system.read_only.value_or(false))
    return {Miss{Missing::kAbsent, "it can be written"}, system.read_only.from()};
  const auto resolved = host.resolve(system.path);
  if (!resolved) return {resolved.miss(), resolved.from()};
  return host.read(from).parsed([&](const std::string& text) { return read_only_by(text, *resolved); });
}

FileSystem collect_file_system(Host& host, const std::string& path) {
  const auto answer =
      host.call("statvfs " + path).parsed([](const std::string& text) -> std::optional<json::Value> {
        auto parsed = json::parse(text);
        if (!parsed || !json::decode<StatvfsAnswer>(*parsed)) return std::nullopt;
        return std::move(*parsed);
      });
  const auto bytes = [](std::uint64_t count) { return std::optional(ByteCount{count}); };
  FileSystem system{path,
                    if_recorded(answer, "size", &StatvfsAnswer::size).parsed(bytes),
                    if_recorded(answer, "available", &StatvfsAnswer::available).parsed(bytes),
                    if_recorded(answer, "inodes", &StatvfsAnswer::inodes),
                    if_recorded(answer, "inodes_available", &StatvfsAnswer::inodes_available),
                    if_recorded(answer, "read_only", &StatvfsAnswer::read_only),
                    {}};
  system.read_only_by = collect_read_only_by(host, system);
  return system;
}

Reading<NvmeHealth> health_of(const Reading<std::vector<NvmeAnswer>>& answers, const std::string& name) {
  if (!answers) return {answers.miss(), answers.from()};
  for (const auto& answer : *answers) {
    if (answer.name != name) continue;
    // Only root may open /dev/nvmeN.
    const bool denied = answer.error.find("denied") != std::string::npos ||
                        answer.error.find("permitted") != std::string::npos;
    if (!answer.error.empty())
      return {Miss{denied ? Missing::kDenied : Missing::kUnsupported, answer.error}, "nvme " + name};
    return {NvmeHealth{answer.critical_warning, answer.spare_percent, answer.spare_threshold_percent,
                       answer.used_percent, answer.media_errors, answer.celsius},
            "nvme " + name};
  }
  return {Miss{Missing::kAbsent, "it was not asked"}, "nvme " + name};
}

Reading<std::vector<NvmeController>> collect_nvme(Host& host) {
  const std::string kClass = "/sys/class/nvme";
  const auto names = device_names(host, kClass, kLongestDevice);
  if (names.unknown()) return {names.miss(), kClass};
  if (!names || names->empty()) return {std::vector<NvmeController>{}, kClass};
  const auto answers =
      host.call("nvme").parsed([](const std::string& text) -> std::optional<std::vector<NvmeAnswer>> {
        auto parsed = json::read<std::vector<NvmeAnswer>>(text);
        if (!parsed) return std::nullopt;
        return std::move(*parsed);
      });
  std::vector<NvmeController> controllers;
  for (const auto& name : *names) {
    const std::string folder = nvme_folder(name);
    NvmeController controller;
    controller.name = name;
    controller.model = host.read_line(folder + "/model");
    controller.firmware = host.read_line(folder + "/firmware_rev");
    controller.state = host.read_line(folder + "/state");
    controller.pci_address = host.resolve(folder).parsed(
        [](const std::string& path) { return std::optional(last_pci_address(path)); });
    if (controller.pci_address && controller.pci_address->empty())
      controller.pci_address = {Miss{Missing::kAbsent, "not on PCI"}, folder};
    if (controller.pci_address.absent()) {
      controller.transport = host.read_line(folder + "/transport");
      controller.address = host.read_line(folder + "/address");
      controller.subsystem = host.read_line(folder + "/subsysnqn");
    }
    controller.health = health_of(answers, name);
    controllers.push_back(std::move(controller));
  }
  return {std::move(controllers), kClass};
}

}  // namespace

bool is_drive(std::string_view name) {
  for (const std::string_view made_up : {"loop", "ram", "zram", "sr", "fd", "nbd"})
    if (name.starts_with(made_up)) return false;
  return true;
}

Storage collect_storage(Host& host, const std::vector<std::string>& paths,
                        const std::vector<std::string>& devices, const std::vector<std::string>& folders) {
  Storage storage;
  storage.block_devices = host.list("/sys/block").parsed([&](const std::vector<std::string>& names) {
    std::vector<BlockDevice> devices;
    for (const auto& name : names)
      if (is_drive(name)) devices.push_back(collect_block_device(host, name));
    return std::optional(std::move(devices));
  });
  storage.nvme = collect_nvme(host);
  std::vector<std::string> asked = {"/", "/tmp", "/dev/shm"};
  asked.insert(asked.end(), paths.begin(), paths.end());
  for (const auto& path : asked) storage.file_systems.push_back(collect_file_system(host, path));
  storage.nvme_targets = collect_nvme_targets(host);
  for (const auto& path : devices) storage.export_devices.push_back(collect_export_device(host, path));
  storage.nfs = collect_nfs(host, folders);
  return storage;
}

}  // namespace railbed
