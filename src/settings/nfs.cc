// Directories over the rails: NFS exports on servers, and mounts on clients.
//
// The server's part of /etc/exports is a file of its own in /etc/exports.d. nfs.conf knows how to listen by RDMA, but under
// other keys in each release of nfs-utils, and reads them only when the whole server starts anew. The kernel's own file does
// it at once in all of them (Documentation/admin-guide/nfs/nfs-rdma.rst).
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/nfs_export.h"
#include "model/storage_export.h"
#include "settings/files.h"
#include "settings/own_unit.h"
#include "settings/render.h"

namespace railbed {
namespace {

constexpr std::string_view kExports = "/etc/exports.d/railbed.exports";
constexpr std::string_view kServeScript = "/etc/railbed/railbed-nfs.sh";
constexpr std::string_view kServeUnit = "railbed-nfs.service";
constexpr std::string_view kMountScript = "/etc/railbed/railbed-mount.sh";

constexpr std::string_view kServeFunctions = R"sh(
# What others export is read again as well, and a fault in it keeps nothing of this from the clients.
start() {
  exportfs -r || echo "exportfs found a fault, see above" >&2
  [ -n "$rdma" ] || return 0
  modprobe rpcrdma
  grep -qx "$rdma" "$ports" || echo "$rdma" >"$ports"
}

# Clients of a server that only starts anew must not find their directory gone meanwhile. The kernel knows no way to end a
# listener by itself: that of RDMA stays until the NFS server starts anew.
stop() {
  if systemctl list-jobs --no-legend | grep -q ' railbed-nfs\.service  *restart '; then return 0; fi
  for one in $exported; do exportfs -u "$one" 2>/dev/null || :; done
}

"$1"
)sh";

constexpr std::string_view kMountFunctions = R"sh(
# FOLDER
# Prints type, source and options of what is mounted there. Nothing looks into it: its server may be gone.
mounted_at() {
  seen=
  while read -r _ _ _ _ point rest; do
    if [ "$point" = "$1" ]; then seen=${rest#* - }; fi
  done </proc/self/mountinfo
  printf '%s' "$seen"
}

# SOURCE FOLDER PROTOCOL OPTIONS
attach() {
  found=$(mounted_at "$2")
  case "$found" in
    nfs*" $1 "*",proto=$3,"*) return 0 ;;
    ?*) echo "something is mounted at $2 already: $found" >&2; return 1 ;;
  esac
  mkdir -p "$2"
  if [ -n "$(ls -A "$2")" ]; then echo "$2 is not empty: a mount would hide what is in it" >&2; return 1; fi
  tries=0
  until mount -t nfs -o "$4" "$1" "$2"; do
    tries=$((tries + 1))
    if [ $tries -ge 15 ]; then return 1; fi
    sleep 3
  done
}

# SOURCE FOLDER
detach() {
  case "$(mounted_at "$2")" in
    nfs*" $1 "*) umount "$2" || echo "$2 is in use: it stays mounted" >&2 ;;
  esac
}

"$@"
)sh";

// Returns "10.0.0.2:/srv/home", as exportfs(8) takes it.
std::string exported_to(const StorageExport& one, const IpAddress& client) {
  return fmt::format(fmt::runtime(client.is_v4() ? "{}:{}" : "[{}]:{}"), client.to_text(), one.path);
}

// exports(5). Addresses alone: a name or a network would admit whoever takes it.
std::string exports_file(const Target& target, const std::vector<const StorageExport*>& directories) {
  std::string text(kFileMark);
  for (const StorageExport* const one : directories) {
    text += one->path;
    for (const std::string& client : one->clients)
      if (const auto address = client_address(target.cluster(), *one, client))
        text +=
            fmt::format(" \\\n  {}({},sync,no_subtree_check,sec=sys,{})", address->to_text(),
                        one->read_only ? "ro" : "rw", one->no_root_squash ? "no_root_squash" : "root_squash");
    text += "\n";
  }
  return text;
}

bool any_by_rdma(const std::vector<const StorageExport*>& directories) {
  return std::ranges::any_of(directories, [](const StorageExport* one) { return is_rdma(one->protocol); });
}

std::string serve_script(const Target& target, const std::vector<const StorageExport*>& directories) {
  std::string exported;
  for (const StorageExport* const one : directories)
    for (const std::string& client : one->clients)
      if (const auto address = client_address(target.cluster(), *one, client))
        exported += "\n  " + exported_to(*one, *address);
  return fmt::format(
      "{}# Exports directories by NFS: `start`, `stop`.\nset -eu\nports=/proc/fs/nfsd/portlist\nrdma=\"{}\"\n"
      "exported=\"{}\"\n{}",
      kFileMark, any_by_rdma(directories) ? fmt::format("rdma {}", kNfsRdmaPort) : "", exported,
      kServeFunctions);
}

std::string serve_unit(const Target& target, const std::vector<const StorageExport*>& directories) {
  std::string paths;
  for (const StorageExport* const one : directories) paths += " " + one->path;
  return fmt::format(
      "{}[Unit]\n"
      "Description=Directories exported over the rails\n"
      "Wants=nfs-server.service network-online.target\n"
      "After=nfs-server.service network-online.target\n"
      "PartOf=nfs-server.service\n"
      "RequiresMountsFor={}\n"
      "\n"
      "[Service]\n"
      "Type=oneshot\n"
      "RemainAfterExit=yes\n"
      "TimeoutStartSec=85\n"
      "{}"
      "ExecStart=/bin/sh {} start\n"
      "ExecStop=/bin/sh {} stop\n"
      "\n"
      "[Install]\n"
      "WantedBy=multi-user.target nfs-server.service\n",
      kFileMark, paths.substr(1), start_again(target), kServeScript, kServeScript);
}

Need is_exported(const Target& target, const StorageExport& one) {
  Need need{.what = fmt::format("{} is exported as {} at {}", one.path, one.name, place_of(one))};
  if (!target.looked()) return need;
  need.at_boot = starts_at_boot(target, kServeUnit);
  if (need.at_boot == false) need.found = "no unit exports it at boot";
  const NfsFacts& nfs = target.facts().system.storage.nfs;
  if (!knows_exports(nfs)) return need;
  const std::string otherwise = exported_otherwise(target.cluster(), one, nfs);
  need.now = otherwise.empty();
  if (!otherwise.empty()) need.found = otherwise;
  return need;
}

const AskedFolder* find_folder(const Target& target, const std::string& path) {
  const auto& folders = target.facts().system.storage.nfs.folders;
  const auto found = std::ranges::find(folders, path, &AskedFolder::path);
  return found == folders.end() ? nullptr : &*found;
}

// Returns why a program of NFS is needed first; empty if it is there, nobody knows, or railbed installs it.
std::string why_no_program(const Target& target, const Reading<bool>& there, std::string_view debian) {
  if (target.configure().packages.value_or(false) || !there.absent() || !target.looked()) return "";
  return fmt::format("{} is not installed: install it, or say \"packages: true\" below configure",
                     target.platform.family == OsFamily::kRhel ? "nfs-utils" : debian);
}

std::string why_not_export(const Target& target) {
  std::vector<std::string> reasons;
  const NfsFacts& nfs = target.facts().system.storage.nfs;
  if (std::string why = why_no_program(target, nfs.exportfs, "nfs-kernel-server"); !why.empty())
    reasons.push_back(std::move(why));
  for (const StorageExport* const one : directories_of(target.cluster(), target.node().name)) {
    const AskedFolder* const folder = find_folder(target, one->path);
    if (folder == nullptr || folder->use.ok()) continue;
    reasons.push_back(folder->use.absent() ? fmt::format("{} is not there", one->path)
                                           : fmt::format("{}: {}", one->path, folder->use.miss().why));
  }
  return fmt::format("{}", fmt::join(reasons, "; "));
}

void export_directories(const Target& target, std::vector<Setting>& settings) {
  const auto directories = directories_of(target.cluster(), target.node().name);
  if (directories.empty()) return;
  Setting setting{.section = Section::kStorage,
                  .name = "storage/nfs-serve",
                  .title = "directories exported over the rails",
                  .reason = "clients mount these directories over a rail, and no other machine may",
                  .files = {{.path = std::string(kExports), .content = exports_file(target, directories)},
                            {.path = std::string(kServeScript), .content = serve_script(target, directories)},
                            {.path = fmt::format("/etc/systemd/system/{}", kServeUnit),
                             .content = serve_unit(target, directories)}},
                  .steps = {{StepKind::kReloadUnits, {}},
                            {StepKind::kEnableUnit, {std::string(kServeUnit)}},
                            {StepKind::kRestartUnit, {std::string(kServeUnit)}}},
                  .refused = why_not_export(target)};
  for (const StorageExport* const one : directories) {
    setting.needs.push_back(is_exported(target, *one));
    if (one->no_root_squash)
      setting.notes.push_back(
          fmt::format("Who is root on a client of {} owns every file of {}.", one->name, one->path));
  }
  settings.push_back(std::move(setting));
}

// --- the client ---

std::string mount_unit_name(const StorageExport& one) {
  return fmt::format("railbed-mount-{}.service", one.name);
}

// "rdma", or "rdma6": the netids of nfs(5).
std::string netid_of(const StorageExport& one) {
  return fmt::format("{}{}", transport_of(one), one.address && !one.address->is_v4() ? "6" : "");
}

// nfs(5). `hard` is the default: programs wait for their server, and lose nothing. The script tries again, not mount(8).
std::string mount_options(const StorageExport& one) {
  std::string options = fmt::format("{},vers=4,proto={}", one.read_only ? "ro" : "rw", netid_of(one));
  if (is_rdma(one.protocol)) options += fmt::format(",port={}", kNfsRdmaPort);
  if (one.nconnect) options += fmt::format(",nconnect={}", *one.nconnect);
  return options + ",hard,retry=0";
}

// Nothing waits for it at boot but multi-user.target, and that no longer than TimeoutStartSec.
std::string mount_unit(const Target& target, const StorageExport& one) {
  return fmt::format(
      "{}[Unit]\n"
      "Description=Directory {} of {} over {}\n"
      "Wants=network-online.target\n"
      "After=network-online.target\n"
      "\n"
      "[Service]\n"
      "Type=oneshot\n"
      "RemainAfterExit=yes\n"
      "TimeoutStartSec=85\n"
      "TimeoutStopSec=30\n"
      "{}"
      "{}"
      "ExecStart=/bin/sh {} attach {} {} {} {}\n"
      "ExecStop=/bin/sh {} detach {} {}\n"
      "\n"
      "[Install]\n"
      "WantedBy=multi-user.target\n",
      kFileMark, one.name, one.server, one.rail, start_again(target),
      is_rdma(one.protocol) ? "ExecStartPre=modprobe rpcrdma\n" : "", kMountScript, nfs_source(one),
      one.mount, netid_of(one), mount_options(one), kMountScript, nfs_source(one), one.mount);
}

Need is_mounted(const Target& target, const StorageExport& one) {
  Need need{.what = fmt::format("{} of {} is mounted at {} from {}", one.name, one.server, one.mount,
                                place_of(one))};
  if (!target.looked()) return need;
  need.at_boot = starts_at_boot(target, mount_unit_name(one));
  if (need.at_boot == false) need.found = "no unit mounts it at boot";
  const auto& mounts = target.facts().system.storage.nfs.mounts;
  if (!mounts.ok()) return need;
  const DirectoryMount seen = mount_of(one, *mounts);
  if (seen.mount != nullptr && !seen.knows_way) return need;
  need.now = seen.mount != nullptr && seen.right_transport && seen.right_address;
  if (seen.mount == nullptr)
    need.found = "not mounted";
  else if (need.now == false)
    need.found = "mounted from " + seen.way;
  return need;
}

// Returns what speaks against a mount on this folder; empty if nothing shows.
std::string why_not_mount(const Target& target, const StorageExport& one) {
  const NfsFacts& nfs = target.facts().system.storage.nfs;
  const AskedFolder* const folder = find_folder(target, one.mount);
  if (folder == nullptr || folder->use.absent()) return "";
  if (!folder->use.ok()) return fmt::format("{}: {}", one.mount, folder->use.miss().why);
  if (*folder->use == FolderUse::kFilled)
    return fmt::format("{} is not empty: a mount would hide what is in it", one.mount);
  if (*folder->use == FolderUse::kMounted && mount_of(one, items(nfs.mounts)).mount == nullptr)
    return fmt::format("something else is mounted at {}", one.mount);
  return "";
}

// Returns why there is nothing to mount: the server's setting is held, and it does not export the directory yet.
std::string why_nothing_to_mount(const Target& target, const StorageExport& one) {
  const auto server = other_target(target, one.server);
  if (!server || is_exported(*server, one).now == true) return "";
  const std::string why = why_not_export(*server);
  return why.empty() ? "" : fmt::format("{} will not export it: {}", one.server, why);
}

std::string why_held(const Target& target, const StorageExport& one) {
  std::vector<std::string> reasons = {
      why_no_program(target, target.facts().system.storage.nfs.mount_nfs, "nfs-common"),
      why_not_mount(target, one), why_nothing_to_mount(target, one)};
  std::erase(reasons, "");
  return fmt::format("{}", fmt::join(reasons, "; "));
}

void mount_directory(const Target& target, const StorageExport& one, std::vector<Setting>& settings) {
  const std::string unit = mount_unit_name(one);
  settings.push_back(
      {.section = Section::kStorage,
       .name = "storage/nfs-mount",
       .subjects = {one.name},
       .title = fmt::format("{} of {} at {} over {}, {}", one.name, one.server, one.mount, one.rail,
                            enum_names(one.protocol)[static_cast<std::size_t>(one.protocol)]),
       .reason = "the directory is there after each boot, and a server that is gone holds up no boot",
       .needs = {is_mounted(target, one)},
       .files = {{.path = std::string(kMountScript),
                  .content = fmt::format("{}# Mounts directories of other nodes.\nset -eu\n{}", kFileMark,
                                         kMountFunctions)},
                 {.path = "/etc/systemd/system/" + unit, .content = mount_unit(target, one)}},
       .steps = {{StepKind::kReloadUnits, {}},
                 {StepKind::kEnableUnit, {unit}},
                 {StepKind::kRestartUnit, {unit}}},
       .notes = {"What is in use stays mounted as it is until nobody uses it."},
       .refused = why_held(target, one)});
}

}  // namespace

void render_nfs(const Target& target, std::vector<Setting>& settings) {
  export_directories(target, settings);
  for (const StorageExport* const one : mounts_of(target.cluster(), target.node().name))
    mount_directory(target, *one, settings);
}

}  // namespace railbed
