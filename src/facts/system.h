// The operating system's side of a node: identity, kernel, processor, memory, limits, services, storage.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/reading.h"
#include "base/units.h"
#include "facts/firewall.h"
#include "facts/interrupts.h"
#include "facts/ssh.h"

namespace railbed {

class Host;

struct Os {
  Reading<std::string> hostname;      // /proc/sys/kernel/hostname
  Reading<std::string> id;            // ID of /etc/os-release: debian, ubuntu, rhel
  Reading<std::string> version;       // VERSION_ID: "12", "22.04", "10.1"
  Reading<std::string> name;          // PRETTY_NAME
  Reading<std::string> architecture;  // uname -m: x86_64, aarch64
  static void fields(auto&& field) {
    field("hostname", &Os::hostname);
    field("id", &Os::id);
    field("version", &Os::version);
    field("name", &Os::name);
    field("architecture", &Os::architecture);
  }
};

// A module that DKMS rebuilds for each kernel. M = /var/lib/dkms/NAME
struct DkmsModule {
  std::string name;                  // nvidia, mlnx-ofed-kernel
  std::vector<std::string> kernels;  // releases it was built for: M/kernel-RELEASE-ARCHITECTURE
  static void fields(auto&& field) {
    field("name", &DkmsModule::name);
    field("kernels", &DkmsModule::kernels);
  }
};

// A module that the configuration keeps out.
struct BlockedModule {
  std::string name;  // with underscores
  std::string how;   // blacklist: not by itself, only by name; install: a program runs instead;
                     // modprobe.blacklist, module_blacklist: kernel parameters
  std::string file;  // where that is written
  static void fields(auto&& field) {
    field("name", &BlockedModule::name);
    field("how", &BlockedModule::how);
    field("file", &BlockedModule::file);
  }
};

// What the maker's firmware says of the machine; serial numbers are not read. I = /sys/class/dmi/id
struct Firmware {
  Reading<std::string> maker;    // I/sys_vendor
  Reading<std::string> product;  // I/product_name
  Reading<std::string> version;  // I/bios_version
  Reading<std::string> date;     // I/bios_date
  static void fields(auto&& field) {
    field("maker", &Firmware::maker);
    field("product", &Firmware::product);
    field("version", &Firmware::version);
    field("date", &Firmware::date);
  }
};

// A process that cannot be interrupted, for longer than a disk takes. Host call "stuck"
struct StuckProcess {
  int pid = 0;
  std::string name;
  std::string waits;  // the kernel's function; "0" when it may not be seen
  static void fields(auto&& field) {
    field("pid", &StuckProcess::pid);
    field("name", &StuckProcess::name);
    field("waits", &StuckProcess::waits);
  }
};

// A line of /etc/hosts.
struct HostsEntry {
  IpAddress address;
  std::vector<std::string> names;
  static void fields(auto&& field) {
    field("address", &HostsEntry::address);
    field("names", &HostsEntry::names);
  }
};

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
  Reading<bool> headers;                        // /lib/modules/RELEASE/build leads somewhere
  Reading<std::vector<DkmsModule>> dkms;        // /var/lib/dkms; absent without DKMS
  Reading<bool> reboot_required;                // /run/reboot-required is there (Debian, Ubuntu)
  // Drivers of GPUs and RDMA adapters only; /etc/modprobe.d and its kin, /proc/cmdline
  Reading<std::vector<BlockedModule>> blocked_modules;
  // The kernel loads no module without a signature that it trusts, as under Secure Boot:
  // /sys/module/module/parameters/sig_enforce, /sys/kernel/security/lockdown
  Reading<bool> signatures_required;
  static void fields(auto&& field) {
    field("release", &Kernel::release);
    field("command_line", &Kernel::command_line);
    field("loaded_modules", &Kernel::loaded_modules);
    field("present_modules", &Kernel::present_modules);
    field("uptime_seconds", &Kernel::uptime_seconds);
    field("boot_id", &Kernel::boot_id);
    field("clock_synchronised", &Kernel::clock_synchronised);
    field("config", &Kernel::config);
    field("installed", &Kernel::installed);
    field("headers", &Kernel::headers);
    field("dkms", &Kernel::dkms);
    field("reboot_required", &Kernel::reboot_required);
    field("blocked_modules", &Kernel::blocked_modules);
    field("signatures_required", &Kernel::signatures_required);
  }
};

struct NumaNode {
  int id = 0;
  Reading<std::string> cpus;  // /sys/devices/system/node/nodeN/cpulist
  static void fields(auto&& field) {
    field("id", &NumaNode::id);
    field("cpus", &NumaNode::cpus);
  }
};

struct Cpu {
  Reading<std::string> model;                     // "model name" of /proc/cpuinfo
  Reading<int> x86_level;                         // microarchitecture level by its "flags"; absent on arm64
  Reading<int> online;                            // /sys/devices/system/cpu/online, counted
  Reading<int> possible;                          // /sys/devices/system/cpu/possible, counted
  Reading<int> present;                           // /sys/devices/system/cpu/present, counted
  Reading<int> sockets;                           // distinct "physical id" in /proc/cpuinfo
  Reading<std::map<std::string, int>> governors;  // cpufreq/policy*/scaling_governor → how many policies
  Reading<std::string> frequency_driver;          // cpufreq/policy0/scaling_driver
  Reading<std::string> clocksource;               // clocksource0/current_clocksource
  std::vector<NumaNode> numa_nodes;
  static void fields(auto&& field) {
    field("model", &Cpu::model);
    field("x86_level", &Cpu::x86_level);
    field("online", &Cpu::online);
    field("possible", &Cpu::possible);
    field("present", &Cpu::present);
    field("sockets", &Cpu::sockets);
    field("governors", &Cpu::governors);
    field("frequency_driver", &Cpu::frequency_driver);
    field("clocksource", &Cpu::clocksource);
    field("numa_nodes", &Cpu::numa_nodes);
  }
};

// A limit in bytes; unlimited is the largest value.
inline constexpr std::uint64_t kUnlimited = UINT64_MAX;

struct ServiceLimit {
  std::string service;               // slurmd, containerd
  Reading<std::uint64_t> max_bytes;  // "Max locked memory", soft, of /proc/PID/limits
  static void fields(auto&& field) {
    field("service", &ServiceLimit::service);
    field("max_bytes", &ServiceLimit::max_bytes);
  }
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
  static void fields(auto&& field) {
    field("total", &Memory::total);
    field("available", &Memory::available);
    field("swap_total", &Memory::swap_total);
    field("hugepage_size", &Memory::hugepage_size);
    field("hugepages_total", &Memory::hugepages_total);
    field("hugepages_free", &Memory::hugepages_free);
    field("memlock_soft", &Memory::memlock_soft);
    field("memlock_hard", &Memory::memlock_hard);
    field("service_memlock", &Memory::service_memlock);
    field("edac_uncorrectable", &Memory::edac_uncorrectable);
    field("edac_correctable", &Memory::edac_correctable);
  }
};

struct Service {
  std::string name;             // unit name without .service
  std::string load_state;       // loaded, not-found, masked
  std::string active_state;     // active, inactive, failed
  std::string unit_file_state;  // enabled, disabled, static, ""
  int main_pid = 0;             // MainPID; 0 while nothing runs
  static void fields(auto&& field) {
    field("name", &Service::name);
    field("load_state", &Service::load_state);
    field("active_state", &Service::active_state);
    field("unit_file_state", &Service::unit_file_state);
    field("main_pid", &Service::main_pid);
  }
};

struct BlockDevice {
  std::string name;                  // nvme0n1, sda
  Reading<std::string> model;        // /sys/block/X/device/model
  Reading<ByteCount> size;           // /sys/block/X/size × 512
  Reading<bool> rotational;          // /sys/block/X/queue/rotational
  Reading<std::string> pci_address;  // of the controller, from the resolved path
  static void fields(auto&& field) {
    field("name", &BlockDevice::name);
    field("model", &BlockDevice::model);
    field("size", &BlockDevice::size);
    field("rotational", &BlockDevice::rotational);
    field("pci_address", &BlockDevice::pci_address);
  }
};

// Host call "nvme"
struct NvmeHealth {
  int critical_warning = 0;  // bits: 1 spare, 2 temperature, 4 reliability, 8 read only, 16 backup
  int spare_percent = 0;
  int spare_threshold_percent = 0;
  int used_percent = 0;  // of the rated endurance
  std::uint64_t media_errors = 0;
  int celsius = 0;
  static void fields(auto&& field) {
    field("critical_warning", &NvmeHealth::critical_warning);
    field("spare_percent", &NvmeHealth::spare_percent);
    field("spare_threshold_percent", &NvmeHealth::spare_threshold_percent);
    field("used_percent", &NvmeHealth::used_percent);
    field("media_errors", &NvmeHealth::media_errors);
    field("celsius", &NvmeHealth::celsius);
  }
};
struct NvmeController {
  std::string name;                  // nvme0
  Reading<std::string> model;        // /sys/class/nvme/NAME/model
  Reading<std::string> firmware;     // /sys/class/nvme/NAME/firmware_rev
  Reading<std::string> state;        // /sys/class/nvme/NAME/state: live
  Reading<std::string> pci_address;  // from /sys/class/nvme/NAME, resolved; absent over a fabric
  Reading<NvmeHealth> health;        // SMART / Health log; needs root
  static void fields(auto&& field) {
    field("name", &NvmeController::name);
    field("model", &NvmeController::model);
    field("firmware", &NvmeController::firmware);
    field("state", &NvmeController::state);
    field("pci_address", &NvmeController::pci_address);
    field("health", &NvmeController::health);
  }
};

// Why a file system cannot be written: this mount of it, what it is (squashfs), or the file system itself,
// which the kernel freezes when its disk fails.
enum class ReadOnlyBy { kMount, kKind, kFileSystem };
constexpr auto enum_names(ReadOnlyBy) {
  return std::array<std::string_view, 3>{"mount", "kind", "file-system"};
}

struct FileSystem {
  std::string path;               // the mount point asked about: "/", "/tmp"
  Reading<ByteCount> size;        // statvfs
  Reading<ByteCount> available;   // statvfs f_bavail
  Reading<std::uint64_t> inodes;  // statvfs f_files; 0 where they are made as needed
  Reading<std::uint64_t> inodes_available;
  Reading<bool> read_only;  // statvfs ST_RDONLY
  Reading<ReadOnlyBy> read_only_by;
  static void fields(auto&& field) {
    field("path", &FileSystem::path);
    field("size", &FileSystem::size);
    field("available", &FileSystem::available);
    field("inodes", &FileSystem::inodes);
    field("inodes_available", &FileSystem::inodes_available);
    field("read_only", &FileSystem::read_only);
    field("read_only_by", &FileSystem::read_only_by);
  }
};

struct Storage {
  Reading<std::vector<BlockDevice>> block_devices;  // /sys/block, without loop, ram and zram devices
  Reading<std::vector<NvmeController>> nvme;        // /sys/class/nvme
  std::vector<FileSystem> file_systems;             // "/", "/tmp", "/dev/shm", and CollectOptions::paths
  static void fields(auto&& field) {
    field("block_devices", &Storage::block_devices);
    field("nvme", &Storage::nvme);
    field("file_systems", &Storage::file_systems);
  }
};

// What the next boot sets, and the file that decides it: sysctl.d(5).
struct BootSetting {
  std::string key;    // "net.core.rmem_max"
  std::string value;  // "268435456"
  std::string file;   // "/etc/sysctl.d/90-rdma.conf"
  static void fields(auto&& field) {
    field("key", &BootSetting::key);
    field("value", &BootSetting::value);
    field("file", &BootSetting::file);
  }
};

// A graphics controller that can be the machine's screen (class 0x0300), a BMC's as well as a GPU's.
// D = /sys/bus/pci/devices/ADDRESS
struct Display {
  std::string address;
  Reading<std::uint16_t> vendor;  // D/vendor
  Reading<std::uint16_t> device;  // D/device
  Reading<bool> boot_vga;         // D/boot_vga: the firmware drew on this one
  static void fields(auto&& field) {
    field("address", &Display::address);
    field("vendor", &Display::vendor);
    field("device", &Display::device);
    field("boot_vga", &Display::boot_vga);
  }
};

// What a person without network sees of this machine, from the boot menu to the login.
struct ConsoleFacts {
  Reading<std::vector<std::string>> active;  // /sys/class/tty/console/active: where the kernel writes
  // Those of ttyS0 to ttyS3 behind which is hardware: /sys/class/tty/ttySN/type is not 0
  Reading<std::vector<std::string>> ports;
  // serial-getty@PORT of each serial port that the kernel's command line names; also those that systemd has
  // not found. `systemctl show`
  Reading<std::vector<Service>> logins;
  // GRUB_TERMINAL and its kin, GRUB_SERIAL_COMMAND, in the order in which update-grub reads them, the last
  // wins: /etc/default/grub, /etc/default/grub.d/*.cfg
  Reading<std::vector<BootSetting>> boot_menu;
  Reading<std::vector<Display>> displays;  // /sys/bus/pci/devices
  static void fields(auto&& field) {
    field("active", &ConsoleFacts::active);
    field("ports", &ConsoleFacts::ports);
    field("logins", &ConsoleFacts::logins);
    field("boot_menu", &ConsoleFacts::boot_menu);
    field("displays", &ConsoleFacts::displays);
  }
};

struct System {
  Os os;
  Kernel kernel;
  Cpu cpu;
  Memory memory;
  Storage storage;
  // Keys as sysctl writes them ("net.core.rmem_max"), from /proc/sys.
  std::map<std::string, Reading<std::string>> sysctl;
  // Of the same keys those that a file sets; systemd-sysctl reads /etc/sysctl.d and its kin.
  Reading<std::vector<BootSetting>> sysctl_at_boot;
  // The units railbed knows (rdma-cm-tos, opensm, nvidia-fabricmanager, …), from `systemctl show`.
  Reading<std::vector<Service>> services;
  Firmware firmware;
  Reading<std::vector<StuckProcess>> stuck;
  Reading<Firewall> firewall;
  Reading<std::vector<HostsEntry>> hosts;  // /etc/hosts
  Ssh ssh;
  Reading<std::vector<AdapterInterrupts>> interrupts;
  ConsoleFacts console;
  static void fields(auto&& field) {
    field("os", &System::os);
    field("kernel", &System::kernel);
    field("cpu", &System::cpu);
    field("memory", &System::memory);
    field("storage", &System::storage);
    field("sysctl", &System::sysctl);
    field("sysctl_at_boot", &System::sysctl_at_boot);
    field("services", &System::services);
    field("firmware", &System::firmware);
    field("stuck", &System::stuck);
    field("firewall", &System::firewall);
    field("hosts", &System::hosts);
    field("ssh", &System::ssh);
    field("interrupts", &System::interrupts);
    field("console", &System::console);
  }
};

System collect_system(Host& host);

}  // namespace railbed
