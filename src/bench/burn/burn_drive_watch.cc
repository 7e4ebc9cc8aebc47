#include "bench/burn/burn_drive_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/moment.h"
#include "base/partition.h"
#include "base/text.h"
#include "facts/block_device.h"
#include "facts/log/kernel_log.h"
#include "facts/pcie.h"
#include "facts/readings.h"
#include "hardware/pci_link.h"
#include "host/host.h"

namespace railbed {
namespace {

bool is_controller(std::string_view name) {
  return name.starts_with("nvme") && name.size() > 4 &&
         name.find_first_not_of("0123456789", 4) == std::string_view::npos;
}

// Returns the NVMe controller of a block device; empty if it has none. With multipathing (nvme_core.multipath) the device
// belongs to a subsystem, whose folder has the controllers.
std::string controller_of(Host& host, const std::string& device) {
  const auto folder = host.resolve(block_device_folder(device) + "/device");
  if (!folder) return "";
  if (std::string name = last_part(*folder); is_controller(name)) return name;
  if (!last_part(*folder).starts_with("nvme-subsys")) return "";
  const auto names = host.list(*folder);
  for (const std::string& name : items(names))
    if (is_controller(name)) return name;
  return "";
}

// The third number of the kernel's statistics: Documentation/block/stat.rst. The unit is 512 bytes.
std::optional<std::uint64_t> sectors_read(Host& host, const std::string& device) {
  const auto line = host.read_line(block_device_folder(device) + "/stat");
  if (!line) return std::nullopt;
  const auto columns = words(*line);
  return columns.size() > 2 ? parse_number<std::uint64_t>(columns[2]) : std::nullopt;
}

std::uint64_t risen(std::uint64_t from, std::uint64_t to) { return to > from ? to - from : 0; }

}  // namespace

DriveWatch::DriveWatch(Host& host, std::vector<BurnDevice> devices)
    : host_(host), since_(utc_now()), starts_(devices.size()), devices_(std::move(devices)) {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    BurnDevice& device = devices_[i];
    Start& start = starts_[i];
    start.controller = controller_of(host_, device.name);
    start.sectors = sectors_read(host_, device.name);
    if (!start.controller.empty())
      device.address = last_pci_address(host_.resolve(nvme_folder(start.controller)).value_or(""));
    if (!device.address.empty()) {
      start.errors = pcie_errors(host_, device.address);
      start.link = pcie_link_now(host_, device.address).to_optional();
      if (start.link) device.link_before = to_text(*start.link);
    }
    look_at_health(device, start);
    device.warned_before = device.warning;
  }
}

void DriveWatch::look_at_health(BurnDevice& device, Start& start) const {
  if (start.controller.empty()) {
    device.no_health = "it is no NVMe drive";
    return;
  }
  const auto answers = host_.call("nvme " + start.controller);
  const auto read = answers ? json::read<std::vector<NvmeAnswer>>(*answers) : std::vector<NvmeAnswer>();
  if (!read || read->empty() || !read->front().error.empty()) {
    device.no_health = !answers                 ? answers.miss().why
                       : !read || read->empty() ? "it gave no page"
                                                : read->front().error;
    return;
  }
  const NvmeAnswer& now = read->front();
  if (!start.health) start.health = now;
  const NvmeAnswer& then = *start.health;
  device.no_health.clear();
  device.warning |= now.critical_warning;
  device.used = now.used_percent;
  device.spare = now.spare_percent;
  device.temperature = std::max(device.temperature, now.celsius);
  device.media_errors = risen(then.media_errors, now.media_errors);
  device.log_entries = risen(then.log_entries, now.log_entries);
  device.hot_minutes = risen(then.hot_minutes, now.hot_minutes);
  device.throttled = risen(then.throttled_seconds, now.throttled_seconds);
  device.unsafe_shutdowns = risen(then.unsafe_shutdowns, now.unsafe_shutdowns);
}

void DriveWatch::look_at_pcie(BurnDevice& device, const Start& start) const {
  if (device.address.empty()) return;
  const auto now = pcie_errors(host_, device.address);
  const auto more = [&](const std::string& severity) -> std::optional<std::uint64_t> {
    const auto then = start.errors.find(severity);
    const auto found = now.find(severity);
    if (then == start.errors.end() || found == now.end()) return std::nullopt;
    return risen(then->second, found->second);
  };
  device.pcie_corrected = more("correctable");
  const auto nonfatal = more("nonfatal");
  const auto fatal = more("fatal");
  if (nonfatal && fatal) device.pcie_uncorrected = *nonfatal + *fatal;
  const auto link = pcie_link_now(host_, device.address);
  if (link && start.link && below(*link, *start.link)) device.link = to_text(*link);
}

void DriveWatch::look_at_log(std::vector<BurnDevice>& devices) const {
  const auto log = collect_kernel_log(host_, since_);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    BurnDevice& device = devices[i];
    device.no_log = log ? "" : log.miss().why;
    if (!log) continue;
    device.log_errors = 0;
    for (const LogEvent& event : log->events) {
      if (!is_failure_of_drive(event.kind)) continue;
      const bool mine = event.subject == device.name || is_partition_of(event.subject, device.name) ||
                        (!starts_[i].controller.empty() && event.subject == starts_[i].controller);
      if (!mine) continue;
      device.log_errors += event.count;
      if (device.log_error.empty()) device.log_error = printable(event.text);
    }
  }
}

void DriveWatch::look(bool with_log) {
  std::vector<BurnDevice> devices = this->devices();
  std::optional<std::uint64_t> reached = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    look_at_health(devices[i], starts_[i]);
    look_at_pcie(devices[i], starts_[i]);
    const auto sectors = sectors_read(host_, devices[i].name);
    if (reached && sectors && starts_[i].sectors)
      *reached += risen(*starts_[i].sectors, *sectors) * 512;
    else
      reached.reset();
  }
  if (devices.empty()) reached.reset();
  if (with_log) look_at_log(devices);
  const std::lock_guard lock(mutex_);
  devices_ = std::move(devices);
  reached_ = reached;
}

std::vector<BurnDevice> DriveWatch::devices() const {
  const std::lock_guard lock(mutex_);
  return devices_;
}

std::optional<std::uint64_t> DriveWatch::reached() const {
  const std::lock_guard lock(mutex_);
  return reached_;
}

}  // namespace railbed
