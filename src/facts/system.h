// The operating system's side of a node: identity, kernel, processor, memory, limits, services, storage.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/ip.h"
#include "base/reading.h"
#include "base/units.h"
#include "facts/interrupts.h"
#include "facts/network/firewall.h"
#include "facts/network/ssh.h"
#include "facts/nfs.h"

namespace railbed {

class Host;

// The operating system's identity.
struct Os {
  Reading<std::string> hostname;      // /proc/sys/kernel/hostname
  Reading<std::string> id;            // ID of /etc/os-release: debian, ubuntu, rhel
  Reading<std::string> version;       // VERSION_ID: "12", "22.04", "10.1"
  Reading<std::string> name;          // PRETTY_NAME
  Reading<std::string> architecture;  // uname -m: x86_64, aarch64
  FIELDS(Os, hostname, id, version, name, architecture);
};

// A module that DKMS rebuilds for each kernel. M = /var/lib/dkms/NAME
struct DkmsModule {
  std::string name;                  // nvidia, mlnx-ofed-kernel
  std::vector<std::string> kernels;  // releases it was built for: M/kernel-RELEASE-ARCHITECTURE
  FIELDS(DkmsModule, name, kernels);
};

// A module that the configuration keeps from being loaded.
struct BlockedModule {
  std::string name;  // with underscores
  // blacklist: loaded only by name, never automatically; install: a program runs instead;
  // modprobe.blacklist, module_blacklist: kernel parameters
  std::string how;
  std::string file;  // where that is configured
  FIELDS(BlockedModule, name, how, file);
};

// The DMI identity that the firmware publishes; serial numbers are not read. I = /sys/class/dmi/id
struct Firmware {
  Reading<std::string> maker;    // I/sys_vendor
  Reading<std::string> product;  // I/product_name
  Reading<std::string> version;  // I/bios_version
  Reading<std::string> date;     // I/bios_date
  FIELDS(Firmware, maker, product, version, date);
};

// A process in uninterruptible sleep for longer than a disk takes. Host call "stuck"
struct StuckProcess {
  int pid = 0;
  std::string name;
  std::string waits;  // kernel function it waits in; "0" if it is hidden
  FIELDS(StuckProcess, pid, name, waits);
};

// A line of /etc/hosts.
struct HostsEntry {
  IpAddress address;
  std::vector<std::string> names;
  FIELDS(HostsEntry, address, names);
};

// The running kernel, its modules, and the state of the packages that belong to it.
struct Kernel {
  Reading<std::string> release;                       // /proc/sys/kernel/osrelease
  Reading<std::string> command_line;                  // /proc/cmdline
  Reading<std::vector<std::string>> loaded_modules;   // first column of /proc/modules
  Reading<std::vector<std::string>> present_modules;  // names in /sys/module: loaded or built in
  Reading<double> uptime_seconds;                     // /proc/uptime
  Reading<std::string> boot_id;                       // /proc/sys/kernel/random/boot_id
  Reading<bool> clock_synchronised;                   // adjtimex: STA_UNSYNC is not set
  // Options that matter here (CONFIG_PCI_P2PDMA, ...), "y", "m" or "n"; /boot/config-RELEASE, else
  // /lib/modules/RELEASE/config, else /proc/config.gz
  Reading<std::map<std::string, std::string>> config;
  Reading<std::vector<std::string>> installed;  // releases in /lib/modules, the oldest first
  Reading<bool> headers;                        // /lib/modules/RELEASE/build resolves
  Reading<std::vector<DkmsModule>> dkms;        // /var/lib/dkms; absent without DKMS
  Reading<bool> reboot_required;                // /run/reboot-required exists (Debian, Ubuntu)
  // Drivers of GPUs and RDMA adapters only. Read from /etc/modprobe.d, the other modprobe.d folders and
  // /proc/cmdline.
  Reading<std::vector<BlockedModule>> blocked_modules;
  // The kernel loads only modules with a signature that it trusts, as under Secure Boot:
  // /sys/module/module/parameters/sig_enforce, /sys/kernel/security/lockdown
  Reading<bool> signatures_required;
  FIELDS(Kernel, release, command_line, loaded_modules, present_modules, uptime_seconds, boot_id,
         clock_synchronised, config, installed, headers, dkms, reboot_required, blocked_modules,
         signatures_required);
};

struct NumaNode {
  int id = 0;
  Reading<std::string> cpus;  // /sys/devices/system/node/nodeN/cpulist
  FIELDS(NumaNode, id, cpus);
};

struct Cpu {
  Reading<std::string> model;                     // "model name" of /proc/cpuinfo
  Reading<int> x86_level;                         // microarchitecture level by its "flags"; absent on arm64
  Reading<int> online;                            // /sys/devices/system/cpu/online, counted
  Reading<int> possible;                          // /sys/devices/system/cpu/possible, counted
  Reading<int> present;                           // /sys/devices/system/cpu/present, counted
  Reading<int> sockets;                           // distinct "physical id" in /proc/cpuinfo
  Reading<std::map<std::string, int>> governors;  // cpufreq/policy*/scaling_governor → number of policies
  Reading<std::string> frequency_driver;          // cpufreq/policy0/scaling_driver
  Reading<std::string> clocksource;               // clocksource0/current_clocksource
  std::vector<NumaNode> numa_nodes;
  FIELDS(Cpu, model, x86_level, online, possible, present, sockets, governors, frequency_driver, clocksource,
         numa_nodes);
};

// The value of a limit in bytes that is unlimited.
inline constexpr std::uint64_t kUnlimited = UINT64_MAX;

// The limit of locked memory of a running service that starts jobs. Its jobs inherit it.
struct ServiceLimit {
  std::string service;               // slurmd, containerd
  Reading<std::uint64_t> max_bytes;  // "Max locked memory", soft, of /proc/PID/limits
  FIELDS(ServiceLimit, service, max_bytes);
};

struct Memory {
  Reading<ByteCount> total;                // MemTotal of /proc/meminfo
  Reading<ByteCount> available;            // MemAvailable
  Reading<ByteCount> swap_total;           // SwapTotal
  Reading<ByteCount> hugepage_size;        // Hugepagesize
  Reading<std::uint64_t> hugepages_total;  // HugePages_Total
  Reading<std::uint64_t> hugepages_free;   // HugePages_Free
  Reading<std::uint64_t> memlock_soft;     // this shell's "Max locked memory" of /proc/self/limits, bytes
  Reading<std::uint64_t> memlock_hard;
  std::vector<ServiceLimit> service_memlock;
  Reading<std::uint64_t> edac_uncorrectable;  // sum of /sys/devices/system/edac/mc/mc*/ue_count
  Reading<std::uint64_t> edac_correctable;    // sum of .../ce_count
  FIELDS(Memory, total, available, swap_total, hugepage_size, hugepages_total, hugepages_free, memlock_soft,
         memlock_hard, service_memlock, edac_uncorrectable, edac_correctable);
};

// A systemd service, as `systemctl show` reports it.
struct Service {
  std::string name;             // unit name without .service
  std::string load_state;       // loaded, not-found, masked
  std::string active_state;     // active, inactive, failed
  std::string unit_file_state;  // enabled, disabled, static, ""
  int main_pid = 0;             // MainPID; 0 while nothing runs
  FIELDS(Service, name, load_state, active_state, unit_file_state, main_pid);
};

struct BlockDevice {
  std::string name;                  // nvme0n1, sda
  Reading<std::string> model;        // /sys/block/X/device/model
  Reading<ByteCount> size;           // /sys/block/X/size × 512
  Reading<bool> rotational;          // /sys/block/X/queue/rotational
  Reading<std::string> pci_address;  // address of the controller, from the resolved path
  FIELDS(BlockDevice, name, model, size, rotational, pci_address);
};

// Host call "nvme"
struct NvmeHealth {
  int critical_warning = 0;  // bits: 1 spare, 2 temperature, 4 reliability, 8 read only, 16 backup
  int spare_percent = 0;
  int spare_threshold_percent = 0;
  int used_percent = 0;  // percent of the rated endurance
  std::uint64_t media_errors = 0;
  int celsius = 0;
  FIELDS(NvmeHealth, critical_warning, spare_percent, spare_threshold_percent, used_percent, media_errors,
         celsius);
};
struct NvmeController {
  std::string name;                  // nvme0
  Reading<std::string> model;        // /sys/class/nvme/NAME/model
  Reading<std::string> firmware;     // /sys/class/nvme/NAME/firmware_rev
  Reading<std::string> state;        // /sys/class/nvme/NAME/state: live
  Reading<std::string> pci_address;  // from /sys/class/nvme/NAME, resolved; absent over a fabric
  Reading<NvmeHealth> health;        // SMART / Health log; needs root
  // Of a controller over a fabric only: /sys/class/nvme/NAME/{transport,address,subsysnqn}
  Reading<std::string> transport;  // tcp, rdma
  Reading<std::string> address;    // "traddr=10.0.0.1,trsvcid=4420,host_traddr=10.0.0.2"
  Reading<std::string> subsystem;  // its NVMe qualified name
  FIELDS(NvmeController, name, model, firmware, state, pci_address, health, transport, address, subsystem);
};
// Returns true for a controller of another machine, which is no drive of this one.
inline bool is_over_fabric(const NvmeController& controller) {
  return controller.transport.ok() && *controller.transport != "pcie";
}

// The reason why a file system is read-only: the options of this mount, its type (squashfs), or the options
// of the file system itself, which the kernel sets when the disk fails.
enum class ReadOnlyBy { kMount, kKind, kFileSystem };
constexpr auto enum_names(ReadOnlyBy) {
  return std::array<std::string_view, 3>{"mount", "kind", "file-system"};
}

// The space of a file system, as statvfs(3) reports it for users other than root.
struct FileSystem {
  std::string path;               // the requested path: "/", "/tmp"
  Reading<ByteCount> size;        // statvfs
  Reading<ByteCount> available;   // statvfs f_bavail
  Reading<std::uint64_t> inodes;  // statvfs f_files; 0 if inodes are created on demand
  Reading<std::uint64_t> inodes_available;
  Reading<bool> read_only;  // statvfs ST_RDONLY
  Reading<ReadOnlyBy> read_only_by;
  FIELDS(FileSystem, path, size, available, inodes, inodes_available, read_only, read_only_by);
};

// A subsystem that this machine's kernel serves to others by NVMe over Fabrics, and where it listens for it.
// S = /sys/kernel/config/nvmet/subsystems/NQN
struct NvmeNamespace {
  int id = 0;
  std::string device;  // S/namespaces/ID/device_path
  bool enabled = false;
  FIELDS(NvmeNamespace, id, device, enabled);
};
struct NvmeListener {
  std::string transport;  // addr_trtype of the port: tcp, rdma, loop, fc
  std::string address;    // addr_traddr: 10.0.0.1
  std::string service;    // addr_trsvcid: 4420
  FIELDS(NvmeListener, transport, address, service);
};
struct NvmeTarget {
  std::string nqn = {};
  bool any_host = false;                // S/attr_allow_any_host
  std::vector<std::string> hosts = {};  // NQNs in S/allowed_hosts
  std::vector<NvmeNamespace> namespaces = {};
  std::vector<NvmeListener> listeners = {};  // /sys/kernel/config/nvmet/ports/* that link it
  FIELDS(NvmeTarget, nqn, any_host, hosts, namespaces, listeners);
};

// A block device that cluster.yaml exports from this machine.
struct ExportDevice {
  std::string path;             // as in cluster.yaml
  Reading<std::string> device;  // the resolved path's last part: nvme1n1
  // What uses it or a part of it: "it is mounted at /scratch", "md0 is on nvme1n1p1"; absent if nothing that can be seen
  // does. /proc/self/mountinfo, /proc/swaps, /sys/fs/btrfs, /sys/class/block/NAME/holders
  Reading<std::string> used_by;
  FIELDS(ExportDevice, path, device, used_by);
};

struct Storage {
  Reading<std::vector<BlockDevice>> block_devices;  // /sys/block, without loop, ram and zram devices
  Reading<std::vector<NvmeController>> nvme;        // /sys/class/nvme
  std::vector<FileSystem> file_systems;             // "/", "/tmp", "/dev/shm", and CollectOptions::paths
  // /sys/kernel/config/nvmet; absent while the module is not loaded
  Reading<std::vector<NvmeTarget>> nvme_targets;
  std::vector<ExportDevice> export_devices;  // CollectOptions::devices
  NfsFacts nfs;
  FIELDS(Storage, block_devices, nvme, file_systems, nvme_targets, export_devices, nfs);
};

// A value that the next boot sets, and the file that decides it: sysctl.d(5).
struct BootSetting {
  std::string key;    // "net.core.rmem_max"
  std::string value;  // "268435456"
  std::string file;   // "/etc/sysctl.d/90-rdma.conf"
  FIELDS(BootSetting, key, value, file);
};

// A graphics controller that can be the machine's screen (class 0x0300), a BMC's as well as a GPU's.
// D = /sys/bus/pci/devices/ADDRESS
struct Display {
  std::string address;
  Reading<std::uint16_t> vendor;  // D/vendor
  Reading<std::uint16_t> device;  // D/device
  Reading<bool> boot_vga;         // D/boot_vga: the firmware used this one for its output
  FIELDS(Display, address, vendor, device, boot_vga);
};

// A place that apt or dnf takes packages from, of those that are switched on.
struct PackageSource {
  std::string file;  // /etc/apt/sources.list.d/cuda.list, /etc/yum.repos.d/cuda-rhel9.repo
  std::string uri;   // without the user and password that it may have
  FIELDS(PackageSource, file, uri);
  bool operator==(const PackageSource&) const = default;
};

// A file that describes NVIDIA's GPUs to container engines: the Container Device Interface, kind nvidia.com/gpu.
struct CdiSpec {
  std::string file;            // /etc/cdi/nvidia.yaml, /run/cdi/nvidia.yaml
  std::string driver_version;  // of the libcuda.so.VERSION that it mounts; empty if it names none
  // The first few files of this driver that it mounts and that are gone; a container with a GPU does not start then.
  std::vector<std::string> gone;
  std::vector<int> gpus = {};           // N of each /dev/nvidiaN that it hands out
  std::vector<std::string> uuids = {};  // the devices that it names by a GPU's UUID: GPU-…
  FIELDS(CdiSpec, file, driver_version, gone, gpus, uuids);
};

// A way to start a container that an engine's files name.
struct EngineRuntime {
  std::string name;  // runc, nvidia
  std::string
      program;  // containerd's BinaryName, CRI-O's runtime_path; empty if the files leave it to the engine
  // The other settings of its table, as values of TOML: runtime_type to "oci"; options.SystemdCgroup to true
  std::map<std::string, std::string> settings;
  FIELDS(EngineRuntime, name, program, settings);
};

// The settings in the files of an engine that serves Kubernetes: containerd, CRI-O.
struct EngineFiles {
  int version = 0;              // of the format of containerd's main file; 0 if it names none
  bool blank = false;           // the main file is missing, or has nothing but comments
  bool cri = true;              // containerd's plugin for Kubernetes is not switched off
  std::string default_runtime;  // empty: the engine's own
  std::vector<EngineRuntime> runtimes;
  // Imported files with settings of containerd's plugin for Kubernetes. Up to 2.1 the last of them replaces all of that
  // plugin's settings in the main file.
  std::vector<std::string> overriding;
  FIELDS(EngineFiles, version, blank, cri, default_runtime, runtimes, overriding);
};

// The software that hands GPUs to containers on this machine.
struct ContainerEngines {
  Reading<bool> toolkit;      // /usr/bin/nvidia-ctk exists
  Reading<bool> hook;         // /usr/bin/nvidia-container-runtime-hook: `docker run --gpus`
  Reading<bool> cdi_refresh;  // the toolkit's own nvidia-cdi-refresh.service is installed
  Reading<std::vector<std::string>> docker_runtimes;  // names below "runtimes" in /etc/docker/daemon.json
  Reading<EngineFiles> containerd;                    // /etc/containerd/config.toml and what it imports
  Reading<EngineFiles> crio;                          // /etc/crio/crio.conf, /etc/crio/crio.conf.d
  Reading<bool> crio_runs;                            // /sys/fs/cgroup/system.slice/crio.service
  Reading<std::vector<CdiSpec>> cdi;                  // /etc/cdi, /run/cdi
  FIELDS(ContainerEngines, toolkit, hook, cdi_refresh, docker_runtimes, containerd, crio, crio_runs, cdi);
};

// The consoles of this machine that work without a network, from the boot menu to the login.
struct ConsoleFacts {
  Reading<std::vector<std::string>> active;  // /sys/class/tty/console/active: where the kernel writes
  // The ports ttyS0 to ttyS3 that have hardware: /sys/class/tty/ttySN/type is not 0
  Reading<std::vector<std::string>> ports;
  // The unit serial-getty@PORT of each serial port that the kernel's command line names, even if systemd has
  // not found it. `systemctl show`
  Reading<std::vector<Service>> logins;
  // GRUB_TERMINAL, GRUB_TERMINAL_INPUT, GRUB_TERMINAL_OUTPUT and GRUB_SERIAL_COMMAND in the order in which
  // update-grub reads them; the last assignment wins: /etc/default/grub, /etc/default/grub.d/*.cfg
  Reading<std::vector<BootSetting>> boot_menu;
  Reading<std::vector<Display>> displays;  // /sys/bus/pci/devices
  FIELDS(ConsoleFacts, active, ports, logins, boot_menu, displays);
};

struct System {
  Os os;
  Kernel kernel;
  Cpu cpu;
  Memory memory;
  Storage storage;
  // Keys as sysctl writes them ("net.core.rmem_max"), from /proc/sys.
  std::map<std::string, Reading<std::string>> sysctl;
  // The values that files set for these keys at boot. systemd-sysctl reads /etc/sysctl.d and the other
  // sysctl.d folders.
  Reading<std::vector<BootSetting>> sysctl_at_boot;
  // The units of railbed's list (rdma-cm-tos, opensm, nvidia-fabricmanager, …) that exist here, from
  // `systemctl show`.
  Reading<std::vector<Service>> services;
  // railbed's units that start with multi-user.target: /etc/systemd/system/multi-user.target.wants
  Reading<std::vector<std::string>> own_units_at_boot;
  Firmware firmware;
  Reading<std::vector<StuckProcess>> stuck;
  Reading<Firewall> firewall;
  Reading<std::vector<HostsEntry>> hosts;  // /etc/hosts
  // cloud-init's template, from which it writes /etc/hosts at each boot (manage_etc_hosts: true); absent if
  // /etc/hosts does not name one. {{hostname}} and {{fqdn}}, or ${hostname} and ${fqdn}, are the node's own.
  Reading<std::vector<HostsEntry>> hosts_template;
  Ssh ssh;
  Reading<std::vector<AdapterInterrupts>> interrupts;
  ConsoleFacts console;
  // /etc/apt/sources.list, /etc/apt/sources.list.d, else /etc/yum.repos.d
  Reading<std::vector<PackageSource>> package_sources;
  ContainerEngines engines;
  // Services that run and end processes before memory is used up (earlyoom, nohang, systemd-oomd), by their control
  // groups: /sys/fs/cgroup/system.slice
  Reading<std::vector<std::string>> memory_guards;
  // Whether the control daemon of MPS runs where programs look for it: railbed-mps.service does (/sys/fs/cgroup/system.slice),
  // or there is no pipe in /tmp/nvidia-mps. A pipe that another daemon left, or reads, leaves it unknown.
  Reading<bool> mps_daemon;
  FIELDS(System, os, kernel, cpu, memory, storage, sysctl, sysctl_at_boot, services, own_units_at_boot,
         firmware, stuck, firewall, hosts, hosts_template, ssh, interrupts, console, package_sources, engines,
         memory_guards, mps_daemon);
};

// Collects the fields of System except ssh, interrupts and console. collect_facts() does not use it: it calls
// the collectors of collectors.h itself to time each of them.
System collect_system(Host& host);

}  // namespace railbed
