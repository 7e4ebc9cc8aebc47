// The operating system's side of a node: identity, kernel, processor, memory, limits, services, storage.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"
#include "base/units.h"

namespace railbed {

class Host;

struct Os {
  Reading<std::string> hostname;      // /proc/sys/kernel/hostname
  Reading<std::string> id;            // ID of /etc/os-release: debian, ubuntu, rhel
  Reading<std::string> version;       // VERSION_ID: "12", "22.04", "10.1"
  Reading<std::string> name;          // PRETTY_NAME
  Reading<std::string> architecture;  // uname -m: x86_64, aarch64
  static constexpr auto fields() {
    return std::tuple{field("hostname", &Os::hostname), field("id", &Os::id), field("version", &Os::version),
                      field("name", &Os::name), field("architecture", &Os::architecture)};
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
  // Options that matter here (CONFIG_PCI_P2PDMA, ...), "y", "m" or "n"; /boot/config-RELEASE
  Reading<std::map<std::string, std::string>> config;
  static constexpr auto fields() {
    return std::tuple{field("release", &Kernel::release),
                      field("command_line", &Kernel::command_line),
                      field("loaded_modules", &Kernel::loaded_modules),
                      field("present_modules", &Kernel::present_modules),
                      field("uptime_seconds", &Kernel::uptime_seconds),
                      field("boot_id", &Kernel::boot_id),
                      field("clock_synchronised", &Kernel::clock_synchronised),
                      field("config", &Kernel::config)};
  }
};

struct NumaNode {
  int id = 0;
  Reading<std::string> cpus;  // /sys/devices/system/node/nodeN/cpulist
  static constexpr auto fields() {
    return std::tuple{field("id", &NumaNode::id), field("cpus", &NumaNode::cpus)};
  }
};

struct Cpu {
  Reading<std::string> model;                     // "model name" of /proc/cpuinfo
  Reading<int> online;                            // /sys/devices/system/cpu/online, counted
  Reading<int> possible;                          // /sys/devices/system/cpu/possible, counted
  Reading<int> sockets;                           // distinct "physical id" in /proc/cpuinfo
  Reading<std::map<std::string, int>> governors;  // cpufreq/policy*/scaling_governor → how many policies
  Reading<std::string> frequency_driver;          // cpufreq/policy0/scaling_driver
  Reading<std::string> clocksource;               // clocksource0/current_clocksource
  std::vector<NumaNode> numa_nodes;
  static constexpr auto fields() {
    return std::tuple{field("model", &Cpu::model),
                      field("online", &Cpu::online),
                      field("possible", &Cpu::possible),
                      field("sockets", &Cpu::sockets),
                      field("governors", &Cpu::governors),
                      field("frequency_driver", &Cpu::frequency_driver),
                      field("clocksource", &Cpu::clocksource),
                      field("numa_nodes", &Cpu::numa_nodes)};
  }
};

// A limit in bytes; unlimited is the largest value.
inline constexpr std::uint64_t kUnlimited = UINT64_MAX;

struct ServiceLimit {
  std::string service;               // slurmd, containerd
  Reading<std::uint64_t> max_bytes;  // "Max locked memory", soft, of /proc/PID/limits
  static constexpr auto fields() {
    return std::tuple{field("service", &ServiceLimit::service), field("max_bytes", &ServiceLimit::max_bytes)};
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
  static constexpr auto fields() {
    return std::tuple{field("total", &Memory::total),
                      field("available", &Memory::available),
                      field("swap_total", &Memory::swap_total),
                      field("hugepage_size", &Memory::hugepage_size),
                      field("hugepages_total", &Memory::hugepages_total),
                      field("hugepages_free", &Memory::hugepages_free),
                      field("memlock_soft", &Memory::memlock_soft),
                      field("memlock_hard", &Memory::memlock_hard),
                      field("service_memlock", &Memory::service_memlock),
                      field("edac_uncorrectable", &Memory::edac_uncorrectable),
                      field("edac_correctable", &Memory::edac_correctable)};
  }
};

struct Service {
  std::string name;             // unit name without .service
  std::string load_state;       // loaded, not-found, masked
  std::string active_state;     // active, inactive, failed
  std::string unit_file_state;  // enabled, disabled, static, ""
  int main_pid = 0;             // MainPID; 0 while nothing runs
  static constexpr auto fields() {
    return std::tuple{field("name", &Service::name), field("load_state", &Service::load_state),
                      field("active_state", &Service::active_state),
                      field("unit_file_state", &Service::unit_file_state),
                      field("main_pid", &Service::main_pid)};
  }
};

struct BlockDevice {
  std::string name;                  // nvme0n1, sda
  Reading<std::string> model;        // /sys/block/X/device/model
  Reading<ByteCount> size;           // /sys/block/X/size × 512
  Reading<bool> rotational;          // /sys/block/X/queue/rotational
  Reading<std::string> pci_address;  // of the controller, from the resolved path
  static constexpr auto fields() {
    return std::tuple{field("name", &BlockDevice::name), field("model", &BlockDevice::model),
                      field("size", &BlockDevice::size), field("rotational", &BlockDevice::rotational),
                      field("pci_address", &BlockDevice::pci_address)};
  }
};

struct FileSystem {
  std::string path;              // the mount point asked about: "/", "/tmp"
  Reading<ByteCount> size;       // statvfs
  Reading<ByteCount> available;  // statvfs f_bavail
  static constexpr auto fields() {
    return std::tuple{field("path", &FileSystem::path), field("size", &FileSystem::size),
                      field("available", &FileSystem::available)};
  }
};

struct Storage {
  Reading<std::vector<BlockDevice>> block_devices;  // /sys/block, without loop, ram and zram devices
  std::vector<FileSystem> file_systems;             // "/" and "/tmp"
  static constexpr auto fields() {
    return std::tuple{field("block_devices", &Storage::block_devices),
                      field("file_systems", &Storage::file_systems)};
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
  // The units railbed knows (rdma-cm-tos, opensm, nvidia-fabricmanager, …), from `systemctl show`.
  Reading<std::vector<Service>> services;
  static constexpr auto fields() {
    return std::tuple{field("os", &System::os),
                      field("kernel", &System::kernel),
                      field("cpu", &System::cpu),
                      field("memory", &System::memory),
                      field("storage", &System::storage),
                      field("sysctl", &System::sysctl),
                      field("services", &System::services)};
  }
};

System collect_system(Host& host);

}  // namespace railbed
