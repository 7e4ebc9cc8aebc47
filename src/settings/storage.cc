// Storage over the rails: the kernel's NVMe target on servers, and connections to it on clients.
//
// Both ends are scripts that units start. They need no program beyond coreutils, kmod and util-linux: the target is set up
// in configfs, and a client connects by a line written to /dev/nvme-fabrics, which is all that `nvme connect` does. Nothing
// here formats, partitions or mounts a device.
#include <fmt/format.h>

#include <algorithm>

#include "base/partition.h"
#include "base/text.h"
#include "model/storage_export.h"
#include "settings/files.h"
#include "settings/own_unit.h"
#include "settings/render.h"

namespace railbed {
namespace {

constexpr std::string_view kTargetScript = "/etc/railbed/railbed-nvmet.sh";
constexpr std::string_view kTargetUnit = "railbed-nvmet.service";
constexpr std::string_view kConnectScript = "/etc/railbed/railbed-connect.sh";

// Returns 0 if a file system, swap, a volume or an array is on a device or on a part of it, or if nobody can tell.
constexpr std::string_view kInUse = R"sh(
in_use() {
  parts=$(lsblk -nro TYPE,MOUNTPOINT "$1") && [ -n "$parts" ] || return 0
  first=yes
  while read -r type mounted; do
    [ -z "$mounted" ] || return 0
    [ $first = yes ] || [ "$type" = part ] || return 0
    first=no
  done <<END
$parts
END
  return 1
}
)sh";

// What railbed makes has a serial number that begins with its name, so that `stop` finds it, whatever cluster.yaml had
// then. Namespaces and serial numbers are the same after each boot: clients go on where they were.
constexpr std::string_view kTargetFunctions = R"sh(
stop() {
  for subsystem in "$nvmet"/subsystems/*; do
    [ -r "$subsystem/attr_serial" ] || continue
    read -r serial <"$subsystem/attr_serial"
    case $serial in railbed*) ;; *) continue ;; esac
    for link in "$nvmet"/ports/*/subsystems/"${subsystem##*/}"; do
      if [ -L "$link" ]; then rm "$link"; fi
    done
    for link in "$subsystem"/allowed_hosts/*; do
      [ -L "$link" ] || continue
      rm "$link"
      rmdir "$nvmet/hosts/${link##*/}" 2>/dev/null || :
    done
    for namespace in "$subsystem"/namespaces/*; do
      [ -d "$namespace" ] || continue
      echo 0 >"$namespace/enable"
      rmdir "$namespace"
    done
    rmdir "$subsystem"
  done
  for port in "$nvmet"/ports/44[2-7][0-9][0-9]; do
    if [ -d "$port" ]; then rmdir "$port" || :; fi
  done
}

# NQN SERIAL UUID DEVICE HOST...
# A device that is missing or in use keeps the others from nobody.
serve() {
  subsystem=$nvmet/subsystems/$1 serial=$2 uuid=$3 device=$4
  until [ -b "$device" ] || [ $waited -ge 20 ]; do sleep 1; waited=$((waited + 1)); done
  if [ ! -b "$device" ]; then echo "$device is not there: $1 is not served" >&2; return 0; fi
  if in_use "$device"; then echo "$device is mounted or in use: $1 is not served" >&2; return 0; fi
  shift 4
  mkdir "$subsystem"
  echo "$serial" >"$subsystem/attr_serial"
  echo 0 >"$subsystem/attr_allow_any_host"
  mkdir "$subsystem/namespaces/1"
  printf %s "$device" >"$subsystem/namespaces/1/device_path"
  echo "$uuid" >"$subsystem/namespaces/1/device_uuid"
  echo 1 >"$subsystem/namespaces/1/enable"
  for host; do
    mkdir -p "$nvmet/hosts/$host"
    ln -s "$nvmet/hosts/$host" "$subsystem/allowed_hosts/$host"
  done
}

# ID TRANSPORT FAMILY ADDRESS NQN...
# The address, and the RDMA device behind it, may come later than this.
listen() {
  port=$nvmet/ports/$1 transport=$2 family=$3 address=$4
  shift 4
  mkdir "$port"
  echo "$transport" >"$port/addr_trtype"
  echo "$family" >"$port/addr_adrfam"
  echo "$address" >"$port/addr_traddr"
  echo "$service" >"$port/addr_trsvcid"
  for nqn; do
    [ -d "$nvmet/subsystems/$nqn" ] || continue
    until ln -s "$nvmet/subsystems/$nqn" "$port/subsystems/$nqn" 2>/dev/null; do
      waited=$((waited + 1))
      if [ $waited -ge 60 ]; then echo "cannot listen on $address by $transport" >&2; exit 1; fi
      sleep 1
    done
  done
}
)sh";

constexpr std::string_view kConnectFunctions = R"sh(
# Prints the controllers of the subsystem.
controllers() {
  for controller in /sys/class/nvme/*; do
    [ -r "$controller/subsysnqn" ] || continue
    read -r nqn <"$controller/subsysnqn"
    if [ "$nqn" = "$1" ]; then echo "$controller"; fi
  done
}

# NQN TRANSPORT ADDRESS OWN-ADDRESS HOST-UUID
# The kernel connects again by itself, for as long as it takes: programs wait, and lose nothing.
connect() {
  modprobe -a nvme-fabrics "nvme-$2"
  tries=0
  while :; do
    for controller in $(controllers "$1"); do
      read -r transport <"$controller/transport"
      read -r address <"$controller/address"
      case "$transport $address," in "$2 traddr=$3,"*) return 0 ;; esac
      echo "$1 is connected by another way already: $transport $address" >&2
      return 1
    done
    if printf %s "transport=$2,traddr=$3,trsvcid=$service,host_traddr=$4,nqn=$1,hostnqn=nqn.2014-08.org.nvmexpress:uuid:$5,hostid=$5,reconnect_delay=5,ctrl_loss_tmo=-1" 2>/dev/null >/dev/nvme-fabrics; then
      return 0
    fi
    tries=$((tries + 1))
    if [ $tries -ge 15 ]; then echo "cannot connect to $1 at $3 by $2" >&2; return 1; fi
    sleep 2
  done
}

# NQN
disconnect() {
  for block in /sys/block/nvme*; do
    [ -r "$block/device/subsysnqn" ] && [ -b "/dev/${block##*/}" ] || continue
    read -r nqn <"$block/device/subsysnqn"
    if [ "$nqn" = "$1" ] && in_use "/dev/${block##*/}"; then
      echo "${block##*/} of $1 is mounted or in use: it stays connected" >&2
      return 0
    fi
  done
  for controller in $(controllers "$1"); do echo 1 >"$controller/delete_controller"; done
}

"$@"
)sh";

// --- the server ---

// The listeners of a node: one for each rail's address and transport, with the exports that it serves.
struct Listener {
  IpAddress address;
  std::string_view transport;
  std::vector<std::string> nqns;
};

std::vector<Listener> listeners_of(const std::vector<const StorageExport*>& exports) {
  std::vector<Listener> listeners;
  for (const StorageExport* const one : exports) {
    const auto same = std::ranges::find_if(listeners, [&](const Listener& listener) {
      return listener.address == *one->address && listener.transport == transport_of(*one);
    });
    if (same != listeners.end())
      same->nqns.push_back(one->nqn);
    else
      listeners.push_back({*one->address, transport_of(*one), {one->nqn}});
  }
  return listeners;
}

// 20 bytes (NVMe Base Specification, Identify Controller).
std::string serial_of(const StorageExport& one) {
  std::string digits = namespace_uuid(one);
  std::erase(digits, '-');
  return "railbed" + digits.substr(0, 13);
}

std::string target_script(const Target& target, const std::vector<const StorageExport*>& exports) {
  // Where configfs is a module, systemd mounts it only if something loaded it before.
  std::string start =
      "start() {\n  [ -d \"$nvmet\" ] || mount -t configfs configfs /sys/kernel/config\n  stop\n";
  for (const StorageExport* const one : exports) {
    start += fmt::format("  serve {} {} {} {}", one->nqn, serial_of(*one), namespace_uuid(*one), one->device);
    for (const std::string& client : one->clients) start += " \\\n    " + host_nqn(target.cluster(), client);
    start += "\n";
  }
  int id = 44200;
  for (const Listener& listener : listeners_of(exports))
    start += fmt::format("  listen {} {} {} {} {}\n", id++, listener.transport,
                         listener.address.is_v4() ? "ipv4" : "ipv6", listener.address.to_text(),
                         fmt::join(listener.nqns, " "));
  return fmt::format(
      "{}# Serves block devices by the kernel's NVMe target: `start`, `stop`.\nset -eu\nnvmet=/sys/kernel/config/nvmet\nservice={}\nwaited=0\n"
      "{}{}\n{}}}\n\n\"$1\"\n",
      kFileMark, kNvmePort, kInUse, kTargetFunctions, start);
}

std::string target_unit(const Target& target, const std::vector<const StorageExport*>& exports) {
  std::string modules = "nvmet";
  for (const std::string_view transport : {"tcp", "rdma"})
    if (std::ranges::any_of(exports,
                            [&](const StorageExport* one) { return transport_of(*one) == transport; }))
      modules += fmt::format(" nvmet-{}", transport);
  return fmt::format(
      "{}[Unit]\n"
      "Description=Block devices served over the rails\n"
      "Wants=sys-kernel-config.mount network-online.target\n"
      "After=sys-kernel-config.mount network-online.target local-fs.target\n"
      "\n"
      "[Service]\n"
      "Type=oneshot\n"
      "RemainAfterExit=yes\n"
      "TimeoutStartSec=85\n"
      "{}"
      "ExecStartPre=modprobe -a {}\n"
      "ExecStart=/bin/sh {} start\n"
      "ExecStopPost=/bin/sh {} stop\n"
      "\n"
      "[Install]\n"
      "WantedBy=multi-user.target\n",
      kFileMark, start_again(target), modules, kTargetScript, kTargetScript);
}

Need is_served(const Target& target, const StorageExport& one) {
  Need need{.what = fmt::format("{} is served as {} at {}", one.device, one.name, place_of(one))};
  if (!target.looked()) return need;
  need.at_boot = starts_at_boot(target, kTargetUnit);
  if (need.at_boot == false) need.found = "no unit serves it at boot";
  const auto& targets = target.facts().system.storage.nvme_targets;
  if (!targets.ok() && !targets.absent()) return need;
  const std::string otherwise = served_otherwise(target.cluster(), one, targets.value_or({}));
  need.now = otherwise.empty();
  if (!otherwise.empty()) need.found = otherwise;
  return need;
}

// Returns which subsystem that cluster.yaml does not describe serves the device; empty if none shows.
std::string served_by_others(const Target& target, const StorageExport& one, const std::string& device) {
  for (const NvmeTarget& other : target.facts().system.storage.nvme_targets.value_or({})) {
    if (other.nqn == one.nqn || other.nqn.starts_with(kOwnNqn)) continue;
    for (const NvmeNamespace& served : other.namespaces)
      if (served.device == one.device || served.device == "/dev/" + device)
        return fmt::format("{} is served as {} already, which cluster.yaml does not describe: end that first",
                           one.device, printable(other.nqn));
  }
  return "";
}

// Returns why the device must not be served as the node is; empty if nothing shows.
std::string why_not_serve(const Target& target, const StorageExport& one) {
  const auto& devices = target.facts().system.storage.export_devices;
  const auto found = std::ranges::find(devices, one.device, &ExportDevice::path);
  if (found == devices.end()) return "";
  if (found->device.absent()) return fmt::format("{} is not there", one.device);
  if (!found->device.ok()) return fmt::format("{}: {}", one.device, found->device.miss().why);
  if (found->used_by.ok())
    return fmt::format("{} ({}) must not be served: {}", one.device, *found->device, *found->used_by);
  if (!found->used_by.absent())
    return fmt::format("whether {} is in use is not known: {}", one.device, found->used_by.miss().why);
  return served_by_others(target, one, *found->device);
}

// Returns the name of the device that an export serves on this node; empty if it is not known.
std::string device_of(const Target& target, const StorageExport& one) {
  const auto& devices = target.facts().system.storage.export_devices;
  const auto found = std::ranges::find(devices, one.device, &ExportDevice::path);
  return found == devices.end() ? "" : found->device.value_or("");
}

// Returns the exports that share blocks: by-id and by-path names may lead to one device, or to a part of it.
std::vector<std::string> why_not_together(const Target& target,
                                          const std::vector<const StorageExport*>& exports) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < exports.size(); ++i)
    for (std::size_t j = i + 1; j < exports.size(); ++j) {
      const std::string a = device_of(target, *exports[i]);
      const std::string b = device_of(target, *exports[j]);
      if (!a.empty() && (a == b || is_partition_of(a, b) || is_partition_of(b, a)))
        reasons.push_back(fmt::format("{} ({}) and {} ({}) share their blocks", exports[i]->device, a,
                                      exports[j]->device, b));
    }
  return reasons;
}

// Returns why none of the node's exports must be served as the node is; empty if nothing shows.
std::string why_not_serve(const Target& target) {
  const auto exports = exports_of(target.cluster(), target.node().name);
  std::vector<std::string> reasons;
  for (const StorageExport* const one : exports)
    if (std::string why = why_not_serve(target, *one); !why.empty()) reasons.push_back(std::move(why));
  std::ranges::move(why_not_together(target, exports), std::back_inserter(reasons));
  return fmt::format("{}", fmt::join(reasons, "; "));
}

void add_server(const Target& target, std::vector<Setting>& settings) {
  const auto exports = exports_of(target.cluster(), target.node().name);
  if (exports.empty()) return;
  Setting setting{.section = Section::kStorage,
                  .name = "storage/serve",
                  .title = "block devices served over the rails",
                  .reason = "clients reach these devices over a rail as if they were their own",
                  .risk = Risk::kService,
                  .files = {{.path = std::string(kTargetScript), .content = target_script(target, exports)},
                            {.path = fmt::format("/etc/systemd/system/{}", kTargetUnit),
                             .content = target_unit(target, exports)}},
                  .steps = {{StepKind::kReloadUnits, {}},
                            {StepKind::kEnableUnit, {std::string(kTargetUnit)}},
                            {StepKind::kRestartUnit, {std::string(kTargetUnit)}}},
                  .notes = {"Clients that are connected wait for some seconds, and lose nothing."}};
  for (const StorageExport* const one : exports) setting.needs.push_back(is_served(target, *one));
  setting.refused = why_not_serve(target);
  settings.push_back(std::move(setting));
}

// --- the client ---

std::string connect_unit_name(const StorageExport& one) {
  return fmt::format("railbed-connect-{}.service", one.name);
}

std::string connect_unit(const Target& target, const StorageExport& one, const IpAddress& own) {
  return fmt::format(
      "{}[Unit]\n"
      "Description=Block device {} of {} over {}\n"
      "Wants=network-online.target remote-fs-pre.target\n"
      "After=network-online.target\n"
      "Before=remote-fs-pre.target\n"
      "\n"
      "[Service]\n"
      "Type=oneshot\n"
      "RemainAfterExit=yes\n"
      "TimeoutStartSec=85\n"
      "{}"
      "ExecStart=/bin/sh {} connect {} {} {} {} {}\n"
      "ExecStopPost=/bin/sh {} disconnect {}\n"
      "\n"
      "[Install]\n"
      "WantedBy=multi-user.target\n",
      kFileMark, one.name, one.server, one.rail, start_again(target), kConnectScript, one.nqn,
      transport_of(one), one.address->to_text(), own.to_text(),
      host_uuid(target.cluster(), target.node().name), kConnectScript, one.nqn);
}

Need is_connected(const Target& target, const StorageExport& one) {
  Need need{.what = fmt::format("{} of {} is connected at {}", one.name, one.server, place_of(one))};
  if (!target.looked()) return need;
  need.at_boot = starts_at_boot(target, connect_unit_name(one));
  if (need.at_boot == false) need.found = "no unit connects it at boot";
  const auto& controllers = target.facts().system.storage.nvme;
  if (!controllers.ok()) return need;
  const auto all = controllers.value_or({});
  const StorageConnection seen = connection_to(one, all);
  need.now = seen.controller != nullptr && seen.right_transport && seen.right_address && seen.live;
  if (seen.controller == nullptr)
    need.found = "not connected";
  else if (!seen.right_transport || !seen.right_address)
    need.found = fmt::format("connected to {} by {}", seen.server,
                             printable(seen.controller->transport.value_or("?")));
  else if (!seen.live)
    need.found = fmt::format("its controller is {}", printable(seen.controller->state.value_or("?")));
  return need;
}

// Returns why there is nothing to connect to: the server's setting is held, and it does not serve the export yet.
std::string why_not_connect(const Target& target, const StorageExport& one) {
  const auto server = other_target(target, one.server);
  if (!server || is_served(*server, one).now == true) return "";
  const std::string why = why_not_serve(*server);
  return why.empty() ? "" : fmt::format("{} will not serve it: {}", one.server, why);
}

void add_client(const Target& target, const StorageExport& one, std::vector<Setting>& settings) {
  const Rail* const rail = find_rail(target.cluster(), one.rail);
  const RailPort* const own = rail == nullptr ? nullptr : find_port(*rail, target.node().name);
  if (own == nullptr || !own->address) return;
  const std::string unit = connect_unit_name(one);
  settings.push_back(
      {.section = Section::kStorage,
       .name = "storage/connect",
       .subjects = {one.name},
       .title = fmt::format("{} of {} over {}, {}", one.name, one.server, one.rail,
                            enum_names(one.protocol)[static_cast<std::size_t>(one.protocol)]),
       .reason = "the device is there after each boot, and comes back when its server or the rail does",
       .needs = {is_connected(target, one)},
       .files = {{.path = std::string(kConnectScript),
                  .content =
                      fmt::format("{}# Connects block devices of other nodes.\nset -eu\nservice={}\n{}{}",
                                  kFileMark, kNvmePort, kInUse, kConnectFunctions)},
                 {.path = "/etc/systemd/system/" + unit,
                  .content = connect_unit(target, one, *own->address)}},
       .steps = {{StepKind::kReloadUnits, {}},
                 {StepKind::kEnableUnit, {unit}},
                 {StepKind::kRestartUnit, {unit}}},
       .notes = {fmt::format("It is {} there. railbed does not format or mount it.", client_device(one))},
       .refused = why_not_connect(target, one)});
}

}  // namespace

void render_storage(const Target& target, std::vector<Setting>& settings) {
  add_server(target, settings);
  for (const StorageExport* const one : connections_of(target.cluster(), target.node().name))
    add_client(target, *one, settings);
}

}  // namespace railbed
