#include "base/json.h"
#include "facts/collectors.h"
#include "facts/pcie.h"
#include "facts/readings.h"
#include "host/calls.h"

namespace railbed {
namespace {

bool is_real(const std::string& name) {
  for (const std::string_view made_up : {"loop", "ram", "zram", "sr", "fd", "nbd"})
    if (name.starts_with(made_up)) return false;
  return true;
}

BlockDevice collect_block_device(Host& host, const std::string& name) {
  const std::string folder = "/sys/block/" + name;
  BlockDevice device;
  device.name = name;
  device.model = host.read_line(folder + "/device/model");
  // In sectors of 512 bytes whatever the device's own are: Documentation/ABI/stable/sysfs-block.
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

FileSystem collect_file_system(Host& host, const std::string& path) {
  const auto answer =
      host.call("statvfs " + path).parsed([](const std::string& text) -> std::optional<StatvfsAnswer> {
        auto parsed = json::read<StatvfsAnswer>(text);
        if (!parsed) return std::nullopt;
        return *parsed;
      });
  return {path, answer.parsed([](const StatvfsAnswer& a) { return std::optional(ByteCount{a.size}); }),
          answer.parsed([](const StatvfsAnswer& a) { return std::optional(ByteCount{a.available}); })};
}

}  // namespace

Storage collect_storage(Host& host) {
  Storage storage;
  storage.block_devices = host.list("/sys/block").parsed([&](const std::vector<std::string>& names) {
    std::vector<BlockDevice> devices;
    for (const auto& name : names)
      if (is_real(name)) devices.push_back(collect_block_device(host, name));
    return std::optional(std::move(devices));
  });
  for (const char* path : {"/", "/tmp"}) storage.file_systems.push_back(collect_file_system(host, path));
  return storage;
}

}  // namespace railbed
