#include "facts/pcie.h"

#include <algorithm>
#include <set>
#include <span>

#include "base/text.h"
#include "facts/pci_config.h"
#include "facts/readings.h"

namespace railbed {
namespace {

const std::string kDevices = "/sys/bus/pci/devices/";

// Returns true for "0000:02:00.0". The domain may have more than four digits (VMD, some arm64 machines).
bool is_pci_address(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon < 4 || colon > 8 || text.size() != colon + 8) return false;
  const auto is_hex = [](std::string_view digits) {
    return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  };
  return is_hex(text.substr(0, colon)) && is_hex(text.substr(colon + 1, 2)) && text[colon + 3] == ':' &&
         is_hex(text.substr(colon + 4, 2)) && text[colon + 6] == '.' && is_hex(text.substr(colon + 7));
}

// Returns the PCI addresses in a resolved path, from the root port down.
std::vector<std::string> addresses_in(std::string_view resolved) {
  std::vector<std::string> found;
  for (const auto piece : split(resolved, '/'))
    if (is_pci_address(piece)) found.emplace_back(piece);
  return found;
}

// Reads a speed such as "8.0 GT/s PCIe" and a width such as "8". "Unknown" and widths of 0 or 63 (a device
// without a trained link) are unsupported.
Reading<PcieLink> read_link(Host& host, const std::string& folder, const std::string& which) {
  const std::string path = folder + "/" + which + "_link_speed";
  const auto speed = host.read_line(path);
  if (!speed) return {speed.miss(), path};
  const auto width = read_number<int>(host, folder + "/" + which + "_link_width");
  if (!width) return {width.miss(), width.from()};
  const auto rate = parse_real(std::string_view(*speed).substr(0, speed->find(' ')));
  if (!rate || *width <= 0 || *width > 32)
    return {Miss{Missing::kUnsupported, "it says \"" + *speed + "\", width " + std::to_string(*width)}, path};
  return {PcieLink{*rate, *width}, path};
}

// Returns the numbers of the registers without memory. The text has a line for each register: start, end and
// flags. drivers/pci/pci-sysfs.c, include/linux/ioport.h.
std::optional<std::vector<int>> unassigned_in(const std::string& text) {
  constexpr std::uint64_t kUnset = 0x20000000;  // IORESOURCE_UNSET
  constexpr int kRegisters = 6;  // followed by the ROM, and by registers of virtual functions and bridges
  std::vector<int> found;
  int number = 0;
  for (const auto line : lines(text)) {
    if (number == kRegisters) break;
    const auto parts = words(line);
    const auto flags = parts.size() == 3 ? parse_number<std::uint64_t>(parts[2], 16) : std::nullopt;
    if (!flags) return std::nullopt;
    if ((*flags & kUnset) != 0) found.push_back(number);
    ++number;
  }
  return found;
}

struct Control {
  Reading<std::uint16_t> acs;
  Reading<std::uint16_t> device;  // Device Control of the PCI Express capability
};

// Returns a register of a capability, or why it is missing.
Reading<std::uint16_t> read_register(const Reading<std::string>& config,
                                     std::optional<std::size_t> capability, std::size_t offset,
                                     std::string_view name) {
  if (!capability)
    return {Miss{Missing::kAbsent, "the device has no " + std::string(name) + " capability"}, config.from()};
  if (const auto value = read_u16(*config, *capability + offset)) return {*value, config.from()};
  return {Miss{Missing::kGarbled, "it ends inside the " + std::string(name) + " capability"}, config.from()};
}

// Reads the control registers. The device itself serves each read of four bytes of its configuration space,
// and under a hypervisor each takes 20 microseconds. So nothing is read of devices without a link, which are
// not PCI Express, and only the first 256 bytes of devices other than bridges: only bridges may redirect
// (ACS).
Control read_control(Host& host, const std::string& folder, bool bridge) {
  constexpr std::uint8_t kExpress = 0x10;
  constexpr std::uint16_t kAcs = 0x000d;
  constexpr std::size_t kHeader = 64;
  const Miss no_express{Missing::kAbsent, "the device is not PCI Express"};
  if (host.resolve(folder + "/current_link_speed").absent())
    return {{no_express, folder + "/config"}, {no_express, folder + "/config"}};
  const auto config = host.read(folder + "/config", bridge ? 4096 : 256);
  if (!config) return {{config.miss(), config.from()}, {config.miss(), config.from()}};
  // Documentation/ABI/testing/sysfs-bus-pci: without CAP_SYS_ADMIN a read returns only the header.
  const Miss denied{Missing::kDenied, "only the first 64 bytes can be read: run as root"};
  if (config->size() <= kHeader) return {{denied, config.from()}, {denied, config.from()}};
  Control control;
  control.device = read_register(config, find_capability(*config, kExpress), 8, "PCI Express");
  if (!bridge)
    control.acs = {Miss{Missing::kAbsent, "only bridges redirect"}, config.from()};
  else if (config->size() <= 256)
    control.acs = {Miss{Missing::kAbsent, "the device has no extended configuration space"}, config.from()};
  else
    control.acs = read_register(config, find_extended_capability(*config, kAcs), 6, "ACS");
  return control;
}

PciDevice collect_device(Host& host, const std::string& address, const std::string& resolved) {
  const std::string folder = kDevices + address;
  PciDevice device;
  device.address = address;
  const auto path = addresses_in(resolved);
  if (path.size() >= 2)
    device.parent = {path[path.size() - 2], folder};
  else if (resolved.starts_with("/sys/devices/"))
    device.parent = {Miss{Missing::kAbsent, "directly at the root complex"}, folder};
  else
    device.parent = {Miss{Missing::kUnknown, "the kernel does not say where it is attached"}, folder};
  device.vendor = read_number<std::uint16_t>(host, folder + "/vendor", 16);
  device.device = read_number<std::uint16_t>(host, folder + "/device", 16);
  device.class_code = read_number<std::uint32_t>(host, folder + "/class", 16);
  device.driver = read_link_name(host, folder + "/driver");
  device.numa_node = host.read_line(folder + "/numa_node").parsed([](const std::string& line) {
    return parse_number<int>(line);  // -1 is a value here
  });
  device.link_now = read_link(host, folder, "current");
  device.link_max = read_link(host, folder, "max");
  const auto function = host.resolve(folder + "/physfn");
  if (function || function.absent())
    device.virtual_function = {function.ok(), folder + "/physfn"};
  else
    device.virtual_function = {function.miss(), folder + "/physfn"};
  device.physical_function = function.parsed([](const std::string& target) {
    const auto addresses = addresses_in(target);
    return addresses.empty() ? std::nullopt : std::optional(addresses.back());
  });
  device.iommu_type = host.read_line(folder + "/iommu_group/type");
  const auto control = read_control(host, folder, is_bridge(device));
  device.acs_control = control.acs;
  // Device Control: bits 14:12 are log2(bytes) − 7, bit 4 enables relaxed ordering.
  device.max_read_request = control.device.parsed([](std::uint16_t value) -> std::optional<int> {
    const int code = value >> 12 & 7;
    return code <= 5 ? std::optional(128 << code) : std::nullopt;
  });
  // Bits 7:5 are encoded in the same way.
  device.max_payload = control.device.parsed([](std::uint16_t value) -> std::optional<int> {
    const int code = value >> 5 & 7;
    return code <= 5 ? std::optional(128 << code) : std::nullopt;
  });
  device.unassigned_bars = host.read(folder + "/resource").parsed(unassigned_in);
  device.relaxed_ordering =
      control.device.parsed([](std::uint16_t value) { return std::optional((value & 0x10) != 0); });
  return device;
}

bool has_class(const PciDevice& device, std::uint32_t code, int bits) {
  return device.class_code && *device.class_code >> bits == code;
}

// Returns true for GPUs, displays of an unknown maker, network adapters and NVMe. This check is cheap enough for
// every function of the machine; all other data is read only for functions that pass it.
bool matters(Host& host, const std::string& address) {
  PciDevice device;
  device.class_code = read_number<std::uint32_t>(host, kDevices + address + "/class", 16);
  if (!device.class_code) return false;
  if (*device.class_code >> 16 == 0x03)
    device.vendor = read_number<std::uint16_t>(host, kDevices + address + "/vendor", 16);
  const bool maybe_gpu = is_display(device) && !device.vendor;
  return maybe_gpu || is_gpu(device) || is_network(device) || is_nvme(device);
}

}  // namespace

std::string sysfs_pci_address(std::string_view text) {
  constexpr std::size_t kShortest = 4;  // digits of a domain
  while (text.starts_with('0') && text.find(':') != text.npos && text.find(':') > kShortest)
    text.remove_prefix(1);
  std::string address = lower(text);
  return is_pci_address(address) ? address : "";
}

std::string_view pci_slot_of(std::string_view address) { return address.substr(0, address.rfind('.')); }
std::string_view pci_bus_of(std::string_view address) { return address.substr(0, address.rfind(':')); }

Reading<PcieLink> pcie_link_now(Host& host, const std::string& address) {
  return read_link(host, kDevices + address, "current");
}

std::map<std::string, std::uint64_t> pcie_errors(Host& host, const std::string& address) {
  std::map<std::string, std::uint64_t> errors;
  for (const std::string severity : {"correctable", "nonfatal", "fatal"}) {
    const auto text = host.read(kDevices + address + "/aer_dev_" + severity, 4096);
    if (!text) break;
    for (const auto line : lines(*text)) {  // such as "CmpltTO 0", older "Bad TLP 0", and "TOTAL_ERR_FATAL 0"
      const auto space = line.rfind(' ');
      const auto value =
          space == line.npos ? std::nullopt : parse_number<std::uint64_t>(line.substr(space + 1));
      if (!value) continue;
      if (line.starts_with("TOTAL_ERR"))
        errors.emplace(severity, *value);
      else if (*value > 0)
        errors.emplace(severity + " " + printable(trim(line.substr(0, space))), *value);
    }
  }
  return errors;
}

Reading<std::vector<PciDevice>> collect_pcie(Host& host) {
  return host.list("/sys/bus/pci/devices").parsed([&](const std::vector<std::string>& addresses) {
    std::map<std::string, std::string> chosen;  // address → resolved path
    for (const auto& address : std::span(addresses).first(std::min(addresses.size(), kMostOfAKind))) {
      if (!is_pci_address(address) || !matters(host, address)) continue;
      const auto resolved = host.resolve(kDevices + address);
      chosen[address] = resolved.value_or("");
      // The bridges above it: every prefix of the resolved path that ends in a PCI address.
      std::string_view above = chosen[address];
      while (above.rfind('/') != std::string_view::npos) {
        above = above.substr(0, above.rfind('/'));
        if (const std::string bridge = last_part(above); is_pci_address(bridge))
          chosen.emplace(bridge, above);
      }
    }
    std::vector<PciDevice> devices;
    for (const auto& [address, resolved] : chosen) devices.push_back(collect_device(host, address, resolved));
    return std::optional(std::move(devices));
  });
}

bool is_display(const PciDevice& device) { return has_class(device, 0x03, 16); }
bool is_gpu(const PciDevice& device) {
  return device.vendor && *device.vendor == kVendorNvidia && is_display(device);
}
bool is_network(const PciDevice& device) { return has_class(device, 0x02, 16); }
bool is_nvme(const PciDevice& device) { return has_class(device, 0x0108, 8); }
bool is_bridge(const PciDevice& device) { return has_class(device, 0x0604, 8); }

std::string last_pci_address(std::string_view resolved) {
  const auto found = addresses_in(resolved);
  return found.empty() ? "" : found.back();
}

const PciDevice* find_pci(const std::vector<PciDevice>& devices, std::string_view address) {
  // Collected devices are in order; those of a file may not be.
  const auto found = std::ranges::lower_bound(devices, address, {}, &PciDevice::address);
  if (found != devices.end() && found->address == address) return &*found;
  for (const auto& device : devices)
    if (device.address == address) return &device;
  return nullptr;
}

std::vector<const PciDevice*> path_to_root(const std::vector<PciDevice>& devices, const PciDevice& device) {
  std::vector<const PciDevice*> path{&device};
  // Facts may be untrusted: a cycle of parents has to end, too.
  while (path.size() <= devices.size() && path.back()->parent) {
    const PciDevice* above = find_pci(devices, *path.back()->parent);
    if (above == nullptr) break;
    path.push_back(above);
  }
  return path;
}

}  // namespace railbed
