// Finds the folders and drives that a burn-in loads.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "bench/burn/burn_drive.h"
#include "bench/storage/scratch.h"
#include "bench/storage/storage.h"
#include "facts/block_device.h"
#include "facts/collectors.h"
#include "facts/mount.h"
#include "facts/readings.h"
#include "host/host.h"
#include "os/errno_name.h"

namespace railbed {
namespace {

constexpr std::uint64_t kMebi = 1 << 20;
constexpr std::uint64_t kGibi = 1 << 30;
// Our own values: on a drive that may be written once a day, a hundredth of a day's share.
constexpr std::uint64_t kWritesShare = 100;
constexpr std::uint64_t kFewestDefaultWrites = 256 * kMebi;
constexpr std::uint64_t kMostDefaultWrites = 64 * kGibi;
// The file is at most half of the writes, so that each of its bits holds both values.
constexpr std::uint64_t kFewestPasses = 2;

// Returns why this user cannot make files in a folder; empty if he can.
std::string why_not_writable(const std::string& folder) {
  struct stat about = {};
  if (stat(folder.c_str(), &about) != 0) return miss_of(errno).why;
  if (!S_ISDIR(about.st_mode)) return "it is no folder";
  if (faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return "no file can be made there: " + miss_of(errno).why;
  return "";
}

bool is_set(Host& host, const std::string& drive, std::string_view flag) {
  return read_flag(host, fmt::format("{}/{}", block_device_folder(drive), flag)).value_or(false);
}

// Fills in the sizes; else `skipped`.
void choose_sizes(const BurnDrivePlan& plan, BurnDrive& drive) {
  const auto room = room_at(drive.folder);
  if (!room) {
    drive.skipped = room.error().text;
    return;
  }
  if (room->memory) {
    drive.skipped = "it is in memory, on no drive";
    return;
  }
  drive.most_written = plan.writes > 0 ? plan.writes : default_drive_writes(room->size);
  const std::uint64_t asked = std::min(drive.most_written / kFewestPasses, room->free / 10);
  const auto bytes = bytes_to_use(std::max<std::uint64_t>(asked, 1), room->free, drive.folder);
  if (bytes)
    drive.bytes = *bytes;
  else
    drive.skipped = bytes.error().text;
}

BurnDrive drive_at(Host& host, const std::string& folder, const Mount& mount) {
  BurnDrive drive;
  drive.folder = folder;
  drive.system = mount.type;
  std::string model;
  bool alike = true;
  for (const std::string& name : mount.devices) {
    if (drive.devices.size() >= kMostDevices) break;
    BurnDevice& device = drive.devices.emplace_back();
    device.name = name;
    device.model = host.read_line(block_device_folder(name) + "/device/model").value_or("");
    drive.rotational = drive.rotational || is_set(host, name, "queue/rotational");
    if (drive.devices.size() == 1) model = device.model;
    alike = alike && device.model == model;
  }
  if (alike && !model.empty()) {
    // A volume on a drive (device mapper, md) may be slower than the drive alone.
    const std::string source = last_part(host.resolve(mount.source).value_or(mount.source));
    const std::string volume = source.substr(0, source.find_first_of("-0123456789"));
    const bool plain =
        std::ranges::any_of(mount.devices, [&](const std::string& name) { return source.starts_with(name); });
    drive.family = (drive.devices.size() > 1 ? fmt::format("{} x ", drive.devices.size()) : "") + model +
                   (plain ? "" : ", " + volume) + ", " + mount.type;
  }
  return drive;
}

BurnDrive named_drive(Host& host, const BurnDrivePlan& plan, const std::string& path) {
  const auto refused = [&](std::string why) {
    BurnDrive drive;
    drive.folder = path;
    drive.named = true;
    drive.skipped = std::move(why);
    return drive;
  };
  const auto resolved = host.resolve(path);
  if (!resolved) return refused(resolved.miss().why);
  const auto mount = collect_mount(host, *resolved);
  if (!mount) return refused(mount.miss().why);
  if (std::string why = why_not_local(host, *mount); !why.empty()) return refused(std::move(why));
  BurnDrive drive = drive_at(host, *resolved, *mount);
  drive.named = true;
  drive.skipped = why_not_writable(*resolved);
  if (drive.skipped.empty()) choose_sizes(plan, drive);
  return drive;
}

// A folder on a file system, and why it cannot be used.
struct Candidate {
  std::string folder;
  Mount mount;
  std::string refused;
  std::uint64_t free = 0;
};

std::optional<Candidate> candidate_at(Host& host, const std::string& folder) {
  const auto mount = collect_mount(host, folder);
  if (!mount || !why_not_local(host, *mount).empty()) return std::nullopt;
  for (const std::string& name : mount->devices)
    if (!is_drive(name) || is_set(host, name, "removable")) return std::nullopt;
  Candidate found{folder, *mount, why_not_writable(folder)};
  struct stat about = {};
  if (stat(folder.c_str(), &about) == 0 && !S_ISDIR(about.st_mode)) return std::nullopt;
  if (const auto room = room_at(folder)) found.free = room->free;
  return found;
}

// Returns the folders to try: all mount points, and those in which every user may make files.
std::vector<std::string> folders_to_try(Host& host) {
  std::vector<std::string> folders;
  const auto table = host.read(kMountTable);
  if (table)
    for (const auto line : lines(*table))
      if (const auto mount = parse_mount_line(line); mount && folders.size() < kMostOfAKind)
        folders.push_back(mount->mount.point);
  folders.insert(folders.end(), {"/var/tmp", "/tmp"});
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') folders.emplace_back(home);
  return folders;
}

// Returns a folder for each drive: that with the most free space of those that can be used, else one with the reason.
std::vector<Candidate> candidates(Host& host) {
  std::map<std::vector<std::string>, Candidate> best;  // by the drives
  for (const std::string& folder : folders_to_try(host)) {
    auto found = candidate_at(host, folder);
    if (!found) continue;
    const auto [known, is_new] = best.try_emplace(found->mount.devices, *found);
    const auto rank = [](const Candidate& one) { return std::pair(one.refused.empty(), one.free); };
    if (!is_new && rank(*found) > rank(known->second)) known->second = std::move(*found);
  }
  std::vector<Candidate> all;
  for (auto& [devices, one] : best) all.push_back(std::move(one));
  std::ranges::stable_sort(all, [](const Candidate& a, const Candidate& b) {
    return std::pair(a.refused.empty(), a.free) > std::pair(b.refused.empty(), b.free);
  });
  // Several file systems may share a drive.
  std::vector<std::string> covered;
  std::erase_if(all, [&](const Candidate& one) {
    const auto is_covered = [&](const std::string& name) {
      return std::ranges::find(covered, name) != covered.end();
    };
    if (std::ranges::all_of(one.mount.devices, is_covered)) return true;
    covered.insert(covered.end(), one.mount.devices.begin(), one.mount.devices.end());
    return false;
  });
  std::ranges::sort(all, {}, [](const Candidate& one) { return one.mount.devices; });
  return all;
}

}  // namespace

std::uint64_t default_drive_writes(std::uint64_t size) {
  return std::clamp(size / kWritesShare, kFewestDefaultWrites, kMostDefaultWrites);
}

std::string why_not_local(Host& host, const Mount& mount) {
  if (mount.type == "tmpfs" || mount.type == "ramfs") return "it is in memory, on no drive";
  if (!mount.servers.empty()) return "another machine serves it";
  if (mount.devices.empty()) return fmt::format("no local drive is known below {}", mount.type);
  for (const std::string& name : mount.devices) {
    for (const std::string_view elsewhere : {"nbd", "rbd", "drbd"})
      if (name.starts_with(elsewhere)) return name + " is on another machine";
    for (const std::string_view memory : {"ram", "zram"})
      if (name.starts_with(memory)) return name + " is in memory";
    // Drives of iSCSI and Fibre Channel: drivers/scsi/scsi_transport_iscsi.c, scsi_transport_fc.c
    const std::string path = host.resolve(block_device_folder(name)).value_or("");
    for (const std::string_view transport : {"/session", "/rport-"})
      if (path.find(transport) != std::string::npos) return name + " is on another machine";
  }
  return "";
}

std::vector<BurnDrive> find_burn_drives(Host& host, const BurnDrivePlan& plan) {
  std::vector<BurnDrive> drives;
  for (const std::string& path : plan.paths) drives.push_back(named_drive(host, plan, path));
  if (plan.paths.empty())
    for (const Candidate& one : candidates(host)) {
      if (drives.size() >= kMostBurnDrives) break;
      BurnDrive& drive = drives.emplace_back(drive_at(host, one.folder, one.mount));
      drive.skipped = one.refused;
      if (drive.skipped.empty()) choose_sizes(plan, drive);
    }
  for (std::size_t i = 0; i < drives.size(); ++i) drives[i].ordinal = static_cast<int>(i);
  return drives;
}

}  // namespace railbed
