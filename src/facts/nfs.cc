#include "facts/nfs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "facts/block_device.h"
#include "facts/mount.h"
#include "host/host.h"

namespace railbed {
namespace {

constexpr std::size_t kMost = 4096;       // entries of a list
constexpr std::size_t kLongest = 4096;    // bytes of a path: PATH_MAX
constexpr std::size_t kMostOptions = 64;  // of one export
constexpr std::size_t kMostConnections = 64;

std::string shown(std::string_view text) { return printable(text.substr(0, kLongest)); }
std::string cleaned(std::string_view text) { return shown(unescaped_mount(text.substr(0, kLongest))); }

bool is_of_nfs(std::string_view type) { return type == "nfs" || type == "nfs4"; }

// Returns true for a type whose files may be another machine's, or whose folders are mounted when somebody looks.
bool may_wait(std::string_view type) {
  for (const std::string_view remote :
       {"nfs", "cifs", "smb", "ceph", "lustre", "gpfs", "beegfs", "fuse", "9p", "afs", "gfs2", "ocfs2",
        "autofs", "virtiofs", "wekafs", "panfs", "orangefs"})
    if (type.starts_with(remote)) return true;
  return false;
}

Reading<FolderUse> look_at(Host& host, const std::string& path) {
  const std::string from = kMountTable;
  const auto mounts = host.read(from);
  if (!mounts) return {Miss{Missing::kUnsupported, mounts.miss().why}, from};
  const auto mount = find_mount(*mounts, path);
  if (!mount) return {Miss{Missing::kGarbled, "no mount holds it"}, from};
  if (mount->point == path) return {FolderUse::kMounted, from};
  if (may_wait(mount->type))
    return {Miss{Missing::kUnsupported,
                 printable(fmt::format("it is on {} ({}) of another machine", mount->source, mount->type))},
            from};
  const auto resolved = host.resolve(path);
  if (!resolved) return {resolved.miss(), path};
  if (*resolved != path)
    return {Miss{Missing::kUnsupported, printable("it is a link to " + *resolved)}, path};
  const auto names = host.list(path);
  if (names.absent()) return {Miss{Missing::kUnsupported, "it is no folder"}, path};
  if (!names) return {names.miss(), path};
  return {names->empty() ? FolderUse::kEmpty : FolderUse::kFilled, path};
}

// "/srv/home<tab>10.0.0.2(rw,sync,…)"
std::optional<NfsExport> parse_export(std::string_view line) {
  const auto tab = line.find('\t');
  if (tab == std::string_view::npos || !line.starts_with('/') || !line.ends_with(')')) return std::nullopt;
  const std::string_view rest = trim(line.substr(tab + 1));
  const auto open = rest.find('(');
  if (open == std::string_view::npos || open == 0) return std::nullopt;
  NfsExport made{.path = cleaned(trim(line.substr(0, tab))), .client = cleaned(rest.substr(0, open))};
  for (const std::string_view option : split(rest.substr(open + 1, rest.size() - open - 2), ',')) {
    if (made.options.size() >= kMostOptions) break;
    if (!option.empty()) made.options.push_back(printable(option.substr(0, 64)));
  }
  return made;
}

}  // namespace

std::vector<NfsExport> parse_export_table(std::string_view text) {
  std::vector<NfsExport> found;
  for (const std::string_view line : lines(text)) {
    if (found.size() >= kMost) break;
    if (auto made = parse_export(trim(line))) found.push_back(std::move(*made));
  }
  return found;
}

std::vector<NfsListener> parse_nfs_ports(std::string_view text) {
  std::vector<NfsListener> found;
  for (const std::string_view line : lines(text)) {
    const auto columns = words(line);
    const auto port = columns.size() == 2 ? parse_number<int>(columns[1]) : std::nullopt;
    if (!port || *port < 0 || *port > 65535 || found.size() >= kMost) continue;
    NfsListener one{printable(columns[0].substr(0, 16)), *port};
    // One line for each family of addresses.
    if (std::ranges::find(found, one) == found.end()) found.push_back(std::move(one));
  }
  return found;
}

std::vector<NfsMount> parse_nfs_mounts(std::string_view mountinfo) {
  std::vector<NfsMount> found;
  for (const std::string_view line : lines(mountinfo)) {
    const auto read = parse_mount_line(line);
    if (!read || !is_of_nfs(read->mount.type)) continue;
    if (found.size() >= kMost) break;
    const std::string_view options = read->file_system_options;
    found.push_back({.point = shown(read->mount.point),
                     .source = shown(read->mount.source),
                     .protocol = printable(mount_option(options, "proto").substr(0, 16)),
                     .address = printable(mount_option(options, "addr").substr(0, 64)),
                     .read_only = has_mount_option(read->options, "ro") || has_mount_option(options, "ro")});
  }
  return found;
}

void add_nfs_connections(std::string_view mountstats, std::vector<NfsMount>& mounts) {
  NfsMount* now = nullptr;
  for (const std::string_view line : lines(mountstats)) {
    const auto columns = words(line);
    // "device 10.0.0.1:/srv mounted on /data with fstype nfs4 statvers=1.1"
    if (columns.size() >= 8 && columns[0] == "device" && columns[2] == "mounted") {
      const std::string point = cleaned(columns[4]);
      // The last of several mounts at one point is the one that is seen.
      const auto same = std::ranges::find(mounts.rbegin(), mounts.rend(), point, &NfsMount::point);
      now = is_of_nfs(columns[7]) && same != mounts.rend() ? &*same : nullptr;
      if (now != nullptr) now->connections.clear();
    } else if (now != nullptr && columns.size() >= 2 && columns[0] == "xprt:" &&
               now->connections.size() < kMostConnections) {
      now->connections.push_back(printable(columns[1].substr(0, 16)));
    }
  }
}

NfsFacts collect_nfs(Host& host, const std::vector<std::string>& folders) {
  NfsFacts facts;
  const auto all = [](auto parse) {
    return [parse](const std::string& text) { return std::optional(parse(text)); };
  };
  facts.exports = host.read("/var/lib/nfs/etab").parsed(all(parse_export_table));
  facts.listeners = host.read("/proc/fs/nfsd/portlist").parsed(all(parse_nfs_ports));
  facts.mounts = host.read(kMountTable).parsed(all(parse_nfs_mounts));
  if (facts.mounts && !facts.mounts->empty())
    if (const auto stats = host.read("/proc/self/mountstats")) {
      auto mounts = *facts.mounts;
      add_nfs_connections(*stats, mounts);
      facts.mounts = {std::move(mounts), facts.mounts.from()};
    }
  const auto there = [](const std::string&) { return std::optional(true); };
  facts.exportfs = host.resolve("/usr/sbin/exportfs").parsed(there);
  facts.mount_nfs = host.resolve("/sbin/mount.nfs").parsed(there);
  for (const std::string& path : folders) facts.folders.push_back({path, look_at(host, path)});
  return facts;
}

}  // namespace railbed
