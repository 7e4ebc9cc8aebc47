#include "facts/mount.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "facts/block_device.h"
#include "facts/readings.h"
#include "host/host.h"

namespace railbed {
namespace {

bool lies_below(std::string_view path, std::string_view point) {
  if (point == "/") return path.starts_with('/');
  return path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/');
}

constexpr int kDeepest = 8;  // limit for volumes on top of volumes

// Adds the drives below a block device. A volume is followed to its slaves, kDeepest levels at most; a
// partition counts as its drive.
void add_drives(Host& host, const std::string& name, int depth, std::vector<std::string>& drives) {
  const std::string folder = "/sys/class/block/" + name;
  if (const auto slaves = host.list(folder + "/slaves"); slaves && !slaves->empty() && depth < kDeepest) {
    for (const auto& slave : *slaves) add_drives(host, slave, depth + 1, drives);
    return;
  }
  const auto resolved = host.resolve(folder);
  if (!resolved) return;
  // A partition's folder is inside its drive's folder.
  std::string drive = last_part(*resolved);
  if (host.read_line(folder + "/partition")) drive = last_part(resolved->substr(0, resolved->rfind('/')));
  if (std::find(drives.begin(), drives.end(), drive) == drives.end()) drives.push_back(std::move(drive));
}

// Adds the addresses of the live controllers over a fabric of an NVMe drive. With multipathing (nvme_core.multipath) a drive
// belongs to a subsystem, which may have several.
void add_servers(Host& host, const std::string& drive, std::vector<std::string>& servers) {
  const auto subsystem = host.read_line("/sys/class/block/" + drive + "/device/subsysnqn");
  const auto controllers = host.list("/sys/class/nvme");
  if (!subsystem || !controllers) return;
  for (const std::string& name : *controllers) {
    const std::string folder = nvme_folder(name);
    if (host.read_line(folder + "/subsysnqn").value_or("") != *subsystem ||
        host.read_line(folder + "/state").value_or("") != "live")
      continue;
    const auto line = host.read_line(folder + "/address");  // of a drive on PCI a PCI address
    if (const auto address = line ? mount_option(*line, "traddr") : std::string_view{};
        !address.empty() && std::find(servers.begin(), servers.end(), address) == servers.end())
      servers.emplace_back(address);
  }
}

// Returns the line of the mount that holds `path`: the one with the longest mount point above it.
std::optional<MountLine> find_line(std::string_view mountinfo, std::string_view path) {
  std::optional<MountLine> best;
  for (const auto line : lines(mountinfo)) {
    auto found = parse_mount_line(line);
    // The later of two mounts at one point hides the earlier one.
    if (found && lies_below(path, found->mount.point) &&
        (!best || found->mount.point.size() >= best->mount.point.size()))
      best = std::move(found);
  }
  return best;
}

}  // namespace

// Decodes spaces, tabs, newlines and backslashes, which are written as a backslash and three octal digits:
// proc(5).
std::string unescaped_mount(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = text[i] == '\\' && i + 3 < text.size()
                          ? parse_number<unsigned>(text.substr(i + 1, 3), 8)
                          : std::nullopt;
    if (code && *code < 256) {
      plain += static_cast<char>(*code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::optional<MountLine> parse_mount_line(std::string_view line) {
  const auto columns = words(line);
  const auto dash = std::find(columns.begin(), columns.end(), "-");
  if (dash - columns.begin() < 6 || columns.end() - dash < 3) return std::nullopt;
  MountLine read{{unescaped_mount(columns[4]), std::string(dash[1]), unescaped_mount(dash[2]), {}, {}},
                 columns[5],
                 columns.back()};
  const std::string& type = read.mount.type;
  const auto server = mount_option(read.file_system_options, "addr");  // nfs(5), mount.cifs(8)
  if ((type == "nfs" || type == "nfs4" || type == "cifs" || type == "smb3") && !server.empty())
    read.mount.servers.emplace_back(server);
  return read;
}

std::string_view mount_option(std::string_view options, std::string_view key) {
  for (const std::string_view option : split(options, ','))
    if (option.starts_with(key) && option.size() > key.size() && option[key.size()] == '=')
      return option.substr(key.size() + 1);
  return {};
}

bool has_mount_option(std::string_view options, std::string_view wanted) {
  const auto all = split(options, ',');
  return std::find(all.begin(), all.end(), wanted) != all.end();
}

std::optional<Mount> find_mount(std::string_view mountinfo, std::string_view path) {
  auto found = find_line(mountinfo, path);
  return found ? std::optional(std::move(found->mount)) : std::nullopt;
}

std::optional<ReadOnlyBy> read_only_by(std::string_view mountinfo, std::string_view path) {
  const auto found = find_line(mountinfo, path);
  if (!found) return std::nullopt;
  constexpr std::string_view kNeverWritten[] = {"squashfs", "erofs", "iso9660", "cramfs", "romfs"};
  if (std::ranges::find(kNeverWritten, found->mount.type) != std::end(kNeverWritten))
    return ReadOnlyBy::kKind;
  if (has_mount_option(found->file_system_options, "ro")) return ReadOnlyBy::kFileSystem;
  if (has_mount_option(found->options, "ro")) return ReadOnlyBy::kMount;
  return std::nullopt;
}

std::optional<std::string> mount_point_of(std::string_view mountinfo, std::string_view number,
                                          std::string_view name) {
  for (const auto line : lines(mountinfo)) {
    const auto found = parse_mount_line(line);
    if (!found) continue;
    const bool same = !number.empty() && words(line)[2] == number;
    if (same || found->mount.source == "/dev/" + std::string(name)) return found->mount.point;
  }
  return std::nullopt;
}

Reading<Mount> collect_mount(Host& host, const std::string& folder) {
  const auto resolved = host.resolve(folder);
  if (!resolved) return {resolved.miss(), resolved.from()};
  auto mount =
      host.read(kMountTable).parsed([&](const std::string& text) { return find_mount(text, *resolved); });
  if (!mount) return mount;
  Mount found = *mount;
  if (found.source.starts_with("/dev/"))
    if (const auto device = host.resolve(found.source))
      add_drives(host, last_part(*device), 0, found.devices);
  for (const std::string& drive : found.devices) add_servers(host, drive, found.servers);
  return {std::move(found), mount.from()};
}

}  // namespace railbed
