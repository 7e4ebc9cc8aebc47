// Recognizes the events in the lines of the kernel's log.
//
// Users can write into that log. A program that crashes leaves its name and those of its files there, as in
// "a.out[7]: segfault at 0 ip … in libx.so[7f…]", and the program's owner chooses both: a file named "NVRM:
// Xid (PCI:0000:1b:00): 79, x" must not take a node out of service. So no line is searched for a text. A line
// is an event only if the kernel's own words are where the kernel writes them: each form below is matched
// against the whole line from its first byte, and the parts that it leaves open ("*") come after words that
// no user chooses.
//
// One gap remains. A line may begin with the name of a task, which is up to 15 arbitrary bytes. The kernel
// puts the task's number behind it, or "invoked oom-killer". begins_with_a_task() (host/kernel_log.h)
// recognizes such lines, and none of them is an event.
//
// A form consists of text and these placeholders:
//   <pci>     a PCI address; the event's subject, as sysfs writes it
//   <code>    a number; the event's code
//   <n>       a number
//   <name>    a word that is the subject: an interface, a module, a file system's device
//   <disk>    same, a block device that is no floppy, optical or loop device
//   <nvme>    same, an NVMe controller
//   <server>  same, a file server: a name or an address
//   <mc>      the number of a memory controller; subject "mc0"
//   <task>    the name of a task, which may hold anything; the subject
//   <word>    a word; <bus> one with colons, as a device's address has
//   <path>    a word with slashes
//   <gap>     spaces
//   <up>      "Link is Up" as drivers write it; <down> accordingly
//   *         anything, as short as possible
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "facts/log/kernel_log.h"
#include "host/kernel_log.h"

namespace railbed {
namespace {

struct LogForm {
  LogKind kind;
  std::string_view form;
};

// A message of several lines is one record, and /dev/kmsg writes a line break in it as \x0a.
//
// The first form that matches a line decides. Sources: NVIDIA's open kernel modules (nv.c, nv-pci.c,
// os-interface) and its Xid catalog for NVLink 5. Of Linux: kernel/module (main.c, signing.c, version.c),
// security/lockdown, drivers/base/firmware_loader, kernel/watchdog.c, kernel/rcu, kernel/hung_task.c,
// mm/oom_kill.c, arch/x86 (traps, mm/fault, cpu/mce), arch/arm64/mm/fault.c, drivers/pci (pcie/aer.c, pci.c,
// hotplug/pciehp_ctrl.c), drivers/iommu, drivers/net/ethernet/mellanox (mlx5/core/{main,health,cmd,events}.c,
// mlx4/catas.c), net/sched/sch_generic.c, drivers/acpi/apei/ghes.c, drivers/edac/edac_mc.c, block/blk-core.c,
// fs/buffer.c, fs/ext4, fs/xfs, drivers/nvme/host, drivers/md (raid*.c, dm-mpath.c), net/sunrpc/clnt.c.
constexpr LogForm kForms[] = {
    // If the fault has a task, its name comes before the rest. The text behind it is longer than a task's
    // name, so a name cannot imitate it.
    {LogKind::kXidNvlinkFatal,
     "NVRM: Xid (PCI:<pci>): <code>, <path><gap>Fatal<gap>XC<n> i<n> Link <n> (0x*"},
    {LogKind::kXidNvlinkFatal,
     "NVRM: Xid (PCI:<pci>): <code>, pid=*, <path><gap>Fatal<gap>XC<n> i<n> Link <n> (0x*"},
    // Older drivers leave out "PCI:".
    {LogKind::kXid, "NVRM: Xid (PCI:<pci>): <code>, *"},
    {LogKind::kXid, "NVRM: Xid (<pci>): <code>, *"},
    // Lines with the same number's Severity and Data follow.
    {LogKind::kSxidFatal, "nvidia-nvswitch<n>: SXid (PCI:<pci>): <code>, Fatal*"},
    {LogKind::kSxidNonFatal, "nvidia-nvswitch<n>: SXid (PCI:<pci>): <code>, Non-fatal*"},
    {LogKind::kGpuLost, "NVRM: GPU <pci>: GPU has fallen off the bus*"},
    {LogKind::kGpuLost, "NVRM: GPU at PCI:<pci> has fallen off the bus*"},
    {LogKind::kGpuLost, "NVRM: The NVIDIA GPU <pci>*fallen off the bus*"},
    {LogKind::kGpuLost, "NVRM: fallen off the bus*"},
    {LogKind::kGpuInitFailed, "NVRM: GPU <pci>: RmInitAdapter failed*"},
    {LogKind::kGpuInitFailed, "NVRM: GPU <pci>: rm_init_adapter failed*"},
    {LogKind::kGpuInitFailed, "NVRM: RmInitAdapter failed*"},
    {LogKind::kGpuInitFailed, "NVRM: rm_init_adapter failed*"},
    {LogKind::kGpuInitFailed, "NVRM: The NVIDIA probe routine failed*"},
    {LogKind::kGpuTaken, "NVRM: GPU <pci> is already bound to *"},
    {LogKind::kGpuNotProbed, "NVRM: The NVIDIA probe routine was not called for <n> device(s).*"},
    {LogKind::kGpuNotProbed, "NVRM: No NVIDIA devices probed*"},
    {LogKind::kGpuNotProbed, "NVRM: No NVIDIA graphics adapter probed*"},
    {LogKind::kGpuNotProbed, "NVRM: No NVIDIA GPU found*"},
    {LogKind::kGpuNoWindow, "NVRM: BAR<code> is 0M @ 0x<n> (PCI:<pci>)*"},
    {LogKind::kGpuNoWindow,
     "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:*NVRM: BAR<code> is 0M @ 0x<n> "
     "(PCI:<pci>)*"},
    {LogKind::kGpuNeedsOpenModule,
     "NVRM: The NVIDIA GPU <pci> (PCI ID: *requires use of the NVIDIA open kernel modules*"},
    {LogKind::kGpuUnsupported, "NVRM: The NVIDIA GPU <pci> (PCI ID: *is not supported by *"},
    {LogKind::kGpuUnsupported, "NVRM: The NVIDIA *supported through the NVIDIA * Legacy drivers*"},
    {LogKind::kGpuUnsupported, "NVRM:  supported through the NVIDIA * Legacy drivers*"},
    {LogKind::kGpuFirmwareMissing,
     "nvidia <pci>: Direct firmware load for <path> failed with error -<code>*"},
    {LogKind::kGpuFirmwareMissing, "nvidia <pci>: firmware: failed to load <path> (-<code>)*"},
    {LogKind::kGpuConfidential, "NVRM: confComputeSetErrorState_KERNEL: *"},
    {LogKind::kGpuConfidential, "NVRM: _memmgrMemReadOrWriteWithGsp: Fatal error detected in GSP-DMA *"},
    {LogKind::kGpuBootRefused, "NVRM: kfspSendBootCommands_<word>: FSP boot cmds failed*"},
    {LogKind::kGpuBootRefused, "NVRM kfspSendBootCommands_<word>: FSP boot cmds failed*"},
    {LogKind::kGpuBootRefused, "NVRM: kfspPollForResponse_IMPL: FSP command timed out*"},
    // arch/x86/coco and mm/mem_encrypt.c; AMD's SME alone encrypts a host's memory.
    {LogKind::kConfidentialGuest, "tdx: Guest detected*"},
    {LogKind::kConfidentialGuest, "Memory Encryption Features active: Intel TDX*"},
    {LogKind::kConfidentialGuest, "Memory Encryption Features active: AMD SEV*"},
    {LogKind::kConfidentialGuest, "AMD Memory Encryption Features active: SEV*"},
    // The kernel writes the second one when the first module with that license is loaded, the driver the others at each load.
    {LogKind::kOpenModuleLoaded, "NVRM: loading NVIDIA UNIX Open Kernel Module *"},
    {LogKind::kClosedModuleLoaded, "nvidia: module license 'NVIDIA' taints kernel*"},
    {LogKind::kClosedModuleLoaded, "NVRM: loading NVIDIA UNIX <word> Kernel Module *"},
    {LogKind::kVersionMismatch, "NVRM: API mismatch: *"},

    {LogKind::kModuleRejected, "<name>: version magic '*"},
    {LogKind::kModuleRejected, "<name>: disagrees about version of symbol *"},
    {LogKind::kUnknownSymbol, "<name>: Unknown symbol <word> (err -<code>)*"},
    {LogKind::kUnknownSymbol, "<name>: Unknown symbol <word> (err <code>)*"},
    // Linux 5.5 to 5.16 name the module.
    {LogKind::kSignatureRejected, "Loading of unsigned module is rejected*"},
    {LogKind::kSignatureRejected, "Loading of module with *is rejected*"},
    {LogKind::kSignatureRejected, "<name>: Loading of unsigned module is rejected*"},
    {LogKind::kSignatureRejected, "<name>: Loading of module with *is rejected*"},
    {LogKind::kSignatureRejected, "<name>: loading of unsigned module is rejected*"},
    {LogKind::kSignatureRejected, "<name>: loading of module with *is rejected*"},
    // The name of the calling task comes first. The refused operation behind it is longer than a task's name.
    {LogKind::kSignatureRejected, "Lockdown: *: unsigned module loading is restricted*"},
    {LogKind::kModuleUnsigned, "<name>: module verification failed: signature and/or required key missing*"},

    {LogKind::kAdapterHealth, "mlx<n>_core <pci>: *reached miss count*"},
    {LogKind::kAdapterHealth, "mlx<n>_core <pci>: *unrecoverable hardware error*"},
    {LogKind::kAdapterHealth, "mlx<n>_core <pci>: *leak of a command resource*"},
    {LogKind::kAdapterHealth, "mlx<n>_core <pci>: *Internal error detected*"},
    {LogKind::kAdapterStartFailed, "mlx<n>_core <pci>: *mlx<n>_init_one failed with error code -<code>*"},
    {LogKind::kAdapterStartFailed, "mlx<n>_core <pci>: *mlx<n>_load_one failed with error code -<code>*"},
    {LogKind::kAdapterStartFailed, "mlx<n>_core <pci>: mlx<n>_function_<word>:<n>:(pid <n>): *"},
    {LogKind::kAdapterStartFailed, "mlx<n>_core: probe of <pci> failed with error -<code>*"},
    {LogKind::kAdapterStartFailed, "mlx<n>_core <pci>: probe with driver <word> failed with error -<code>*"},
    {LogKind::kSlotPower, "mlx<n>_core <pci>: *insufficient power on the PCIe slot (<code>W)*"},
    {LogKind::kAdapterHot, "mlx<n>_core <pci>: *igh temperature*"},
    {LogKind::kAdapterHot, "mlx<n>_core <pci>: *High Temperature*"},
    {LogKind::kCableUnplugged, "mlx<n>_core <pci>: *Port module event*module <code>, Cable unplugged*"},
    {LogKind::kCablePlugged, "mlx<n>_core <pci>: *Port module event*module <code>, Cable plugged*"},
    {LogKind::kCableError, "mlx<n>_core <pci>: *Port module event[error]: module <code>, *"},
    {LogKind::kCableError, "mlx<n>_core <pci>: *Port module event*module <code>, *error*"},

    {LogKind::kAerCorrected, "<word> <pci>: *PCIe Bus Error: severity=Correct*"},
    {LogKind::kAerFatal, "<word> <pci>: *PCIe Bus Error: severity=<word> (Fatal)*"},
    {LogKind::kAerNonFatal, "<word> <pci>: *PCIe Bus Error: severity=*"},
    {LogKind::kBandwidthLimited, "<word> <pci>: <word> Gb/s available PCIe bandwidth, limited by *"},
    {LogKind::kSlotLinkDown, "pcieport <pci>: pciehp: Slot(*): Link Down*"},

    {LogKind::kIommuFault, "DMAR: [*] Request device [<pci>]*"},
    {LogKind::kIommuFault, "AMD-Vi: Event logged [IO_PAGE_FAULT device=<pci> *"},
    {LogKind::kIommuFault, "<word> <word>: AMD-Vi: Event logged [IO_PAGE_FAULT device=<pci> *"},
    {LogKind::kIommuFault, "<word> <pci>: AMD-Vi: Event logged [IO_PAGE_FAULT *"},

    {LogKind::kOutOfMemory, "Out of memory: Killed process <n> (<task>) total-vm:*"},
    {LogKind::kJobOutOfMemory, "Memory cgroup out of memory: Killed process <n> (<task>) total-vm:*"},
    {LogKind::kHungTask, "INFO: task <task>:<n> blocked for more than <n> seconds."},
    {LogKind::kHungTask, "INFO: task <task>:<n> blocked in I/O wait for more than <n> seconds."},
    {LogKind::kLockup, "watchdog: BUG: soft lockup - CPU#<n> stuck for *"},
    {LogKind::kLockup, "NMI watchdog: BUG: soft lockup - CPU#<n> stuck for *"},
    {LogKind::kLockup, "BUG: soft lockup - CPU#<n> stuck for *"},
    {LogKind::kLockup, "watchdog: Watchdog detected hard LOCKUP on cpu *"},
    {LogKind::kLockup, "watchdog: CPU<n>: Watchdog detected hard LOCKUP on cpu *"},
    {LogKind::kLockup, "NMI watchdog: Watchdog detected hard LOCKUP on cpu *"},
    {LogKind::kLockup, "rcu: INFO: <word> self-detected stall on CPU*"},
    {LogKind::kLockup, "rcu: INFO: <word> detected stalls on CPUs*"},
    {LogKind::kLockup, "rcu: INFO: <word> detected expedited stalls on CPUs*"},
    {LogKind::kLockup, "INFO: <word> self-detected stall on CPU*"},
    {LogKind::kLockup, "INFO: <word> detected stalls on CPUs*"},
    {LogKind::kOops, "BUG: unable to handle *"},
    {LogKind::kOops, "BUG: kernel NULL pointer dereference*"},
    {LogKind::kOops, "Unable to handle kernel *"},
    {LogKind::kOops, "kernel BUG at <path>:<n>!"},
    {LogKind::kOops, "Oops: <word> [#<n>]*"},
    {LogKind::kOops, "Oops: Oops: <word> [#<n>]*"},
    {LogKind::kOops, "Oops: general protection fault*: <word> [#<n>]*"},
    {LogKind::kOops, "general protection fault*: <word> [#<n>]*"},
    {LogKind::kOops, "Internal error: Oops*: <word> [#<n>]*"},

    {LogKind::kCorrectedCheck, "mce: [Hardware Error]: Machine check events logged*"},
    {LogKind::kMachineCheck, "mce: [Hardware Error]: CPU <n>: Machine Check*"},
    {LogKind::kCorrectedCheck, "{<n>}[Hardware Error]: event severity: corrected*"},
    {LogKind::kCorrectedCheck, "{<n>}[Hardware Error]: event severity: info*"},
    {LogKind::kMachineCheck, "{<n>}[Hardware Error]: event severity: *"},
    {LogKind::kMachineCheck, "EDAC MC<mc>: <n> UE *"},
    {LogKind::kCorrectedCheck, "EDAC MC<mc>: <n> CE *"},
    {LogKind::kCpuThrottled, "mce: CPU<n>: <word> temperature is above threshold, cpu clock is throttled*"},
    {LogKind::kCpuThrottled, "mce: CPU<n>: <word> temperature above threshold, cpu clock throttled*"},
    {LogKind::kCpuThrottled, "CPU<n>: <word> temperature is above threshold, cpu clock is throttled*"},
    {LogKind::kCpuThrottled, "CPU<n>: <word> temperature above threshold, cpu clock throttled*"},

    {LogKind::kDiskError, "I/O error, dev <disk>, sector *"},
    {LogKind::kDiskError, "<word>: I/O error, dev <disk>, sector *"},
    {LogKind::kDiskError, "critical medium error, dev <disk>, sector *"},
    {LogKind::kDiskError, "<word>: critical medium error, dev <disk>, sector *"},
    {LogKind::kDiskError, "Buffer I/O error on dev <disk>, *"},
    {LogKind::kDiskError, "Buffer I/O error on device <disk>, *"},
    {LogKind::kDiskError, "block <disk>: no available path - failing I/O*"},
    {LogKind::kReadOnly, "<word> (<name>): Remounting filesystem read-only*"},
    {LogKind::kReadOnly, "XFS (<name>): *Filesystem has been shut down*"},
    {LogKind::kDiskError, "EXT4-fs error (device <name>)*"},
    {LogKind::kDiskError, "XFS (<name>): *etadata corruption detected*"},
    {LogKind::kDiskTimeout, "nvme <nvme>: I/O *timeout, *"},
    {LogKind::kDiskTimeout, "nvme <nvme>: controller is down; will reset*"},
    {LogKind::kDiskPowerSaving, "nvme <nvme>: Does your device have a faulty power saving mode enabled?*"},
    {LogKind::kDiskPowerSaving, "nvme <nvme>: Try \"nvme_core.default_ps_max_latency_us=0 *"},
    {LogKind::kDiskLost, "nvme <nvme>: Device not ready; aborting reset*"},
    {LogKind::kDiskLost, "nvme <nvme>: Removing after probe failure*"},
    {LogKind::kDiskLost, "nvme <nvme>: Disabling device after reset failure*"},
    {LogKind::kArrayDegraded, "md/raid<n>:<word>: Disk failure on <disk>, disabling device*"},
    {LogKind::kArrayDegraded, "md/raid:<word>: Disk failure on <disk>, disabling device*"},
    {LogKind::kPathFailed, "device-mapper: multipath: *: Failing path *"},
    {LogKind::kServerSilent, "nfs: server <server> not responding, *"},
    {LogKind::kServerBack, "nfs: server <server> OK*"},

    // Since Linux 6.8 the device comes first; before, it came after "NETDEV WATCHDOG".
    {LogKind::kTransmitTimeout, "NETDEV WATCHDOG: <name> (<word>): transmit queue <n> timed out*"},
    {LogKind::kTransmitTimeout,
     "<word> <bus> <name>: NETDEV WATCHDOG: CPU: <n>: transmit queue <n> timed out*"},
    // Each driver has its own wording for links: "mlx5_core 0000:c1:00.0 ens3: Link down", "mlx4_en: ens6:
    // Link Down", "bnxt_en 0000:19:00.0 eno1: NIC Link is Down", "e1000e: eth0 NIC Link is Down".
    {LogKind::kLinkUp, "<word> <bus> <name>: <up>"},
    {LogKind::kLinkDown, "<word> <bus> <name>: <down>"},
    {LogKind::kLinkUp, "<word> <bus> <name>: NIC <up>"},
    {LogKind::kLinkDown, "<word> <bus> <name>: NIC <down>"},
    {LogKind::kLinkUp, "<word> <pci> <word>: <word>: <name> NIC <up>"},
    {LogKind::kLinkDown, "<word> <pci> <word>: <word>: <name> NIC <down>"},
    {LogKind::kLinkUp, "<word> <pci>: <name> NIC <up>"},
    {LogKind::kLinkDown, "<word> <pci>: <name> NIC <down>"},
    {LogKind::kLinkUp, "<word> <name>: <up>"},
    {LogKind::kLinkDown, "<word> <name>: <down>"},
    {LogKind::kLinkUp, "<word>: <name>: <up>"},
    {LogKind::kLinkDown, "<word>: <name>: <down>"},
    {LogKind::kLinkUp, "<word>: <name> NIC <up>"},
    {LogKind::kLinkDown, "<word>: <name> NIC <down>"},
};

bool is_of_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_of_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
}

// Returns the number of bytes at the start of the text that satisfy `is`.
std::size_t run_of(std::string_view text, bool (*is)(char)) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is) - text.begin());
}

// Parses the PCI address at the start of the text and returns its length, or 0. `address` gets the form of
// sysfs: "0000:06:00" and "00000000:06:00.0" become "0000:06:00.0"; so does "06:00.0" (Intel's IOMMU writes
// no domain before Linux 5.13).
std::size_t pci_address(std::string_view text, std::string& address) {
  std::size_t at = run_of(text, is_of_hex);
  std::string domain = at == 2 ? "0000" : std::string(text.substr(0, at));
  const bool brief = at == 2;
  if (brief)
    at = 0;
  else if (at < 4 || at > 8 || text.substr(at++, 1) != ":")
    return 0;
  while (domain.size() > 4 && domain.front() == '0') domain.erase(0, 1);
  const std::string_view device = text.substr(at);
  if (run_of(device, is_of_hex) != 2 || device.substr(2, 1) != ":" ||
      run_of(device.substr(3), is_of_hex) != 2)
    return 0;
  const bool function = device.size() > 6 && device[5] == '.' && is_of_hex(device[6]);
  if (brief && !function) return 0;
  address = lower(domain + ":" + std::string(device.substr(0, 5)) +
                  (function ? std::string(device.substr(5, 2)) : ".0"));
  return at + (function ? 7 : 5);
}

// Returns the length of the text if it begins with "link up", "Link is Up 1000 Mbps", "Link Up." or the like,
// else 0.
std::size_t link_state(std::string_view text, std::string_view state) {
  const std::string small = lower(text);
  std::size_t at = 0;
  for (const std::string_view part : {std::string_view("link "), std::string_view("is "), state}) {
    if (small.compare(at, part.size(), part) == 0)
      at += part.size();
    else if (part != "is ")
      return 0;
  }
  return at == text.size() || std::string_view(" ,.:").find(text[at]) != std::string_view::npos ? text.size()
                                                                                                : 0;
}

bool is_disk(std::string_view name) {
  return !name.starts_with("fd") && !name.starts_with("sr") && !name.starts_with("loop");
}

// Matches a placeholder at the start of the text and stores its value in `event`. Returns the number of
// bytes, or 0 if it does not match.
std::size_t take(std::string_view placeholder, std::string_view text, LogEvent& event) {
  const auto kept = [&](std::size_t bytes) {
    event.subject = text.substr(0, bytes);
    return bytes;
  };
  const std::size_t digits = run_of(text, is_digit);
  const std::size_t word = run_of(text, is_of_word);
  if (placeholder == "n") return digits;
  if (placeholder == "word") return word;
  if (placeholder == "pci") return pci_address(text, event.subject);
  if (placeholder == "gap") return run_of(text, [](char c) { return c == ' '; });
  if (placeholder == "server") return kept(run_of(text, [](char c) { return is_of_word(c) || c == ':'; }));
  if (placeholder == "up" || placeholder == "down") return link_state(text, placeholder);
  if (placeholder == "bus") return run_of(text, [](char c) { return is_of_word(c) || c == ':'; });
  if (placeholder == "path") return run_of(text, [](char c) { return is_of_word(c) || c == '/'; });
  if (placeholder == "name") return word <= 64 ? kept(word) : 0;
  if (placeholder == "disk") return is_disk(text) ? kept(word) : 0;
  if (placeholder == "nvme") return text.starts_with("nvme") ? kept(word) : 0;
  if (placeholder == "mc") {
    event.subject = "mc" + std::string(text.substr(0, digits));
    return digits;
  }
  if (placeholder == "code") {
    const auto number = parse_number<int>(text.substr(0, digits));
    event.code = number.value_or(0);
    return number ? digits : 0;
  }
  return 0;
}

constexpr std::size_t kMaxTaskName = 64;  // a kernel worker; users have 15 bytes (TASK_COMM_LEN)

// Returns true if the whole line has this form; stores the subject and the code in `event`. Proceeds from
// left to right. At "*" and "<task>" it tries the shortest text first and recurses on the rest, so it may
// backtrack: the cost grows with the line's length once per such placeholder that does not end the form.
// `event` is only valid if the result is true.
bool has_form(std::string_view form, std::string_view line, LogEvent& event) {
  while (!form.empty()) {
    const bool task = form.starts_with("<task>");
    if (task || form.front() == '*') {
      const std::string_view behind = form.substr(task ? 6 : 1);
      if (behind.empty()) return true;
      const std::size_t most = task ? std::min(kMaxTaskName, line.size()) : line.size();
      for (std::size_t at = task ? 1 : 0; at <= most; ++at) {
        const bool can = behind.front() == '<' || (at < line.size() && line[at] == behind.front());
        if (!can || !has_form(behind, line.substr(at), event)) continue;
        if (task) event.subject = line.substr(0, at);
        return true;
      }
      return false;
    }
    if (form.front() != '<') {
      if (line.empty() || line.front() != form.front()) return false;
      form.remove_prefix(1);
      line.remove_prefix(1);
      continue;
    }
    const std::size_t end = form.find('>');
    const std::size_t taken = take(form.substr(1, end - 1), line, event);
    if (taken == 0) return false;
    form.remove_prefix(end + 1);
    line.remove_prefix(taken);
  }
  return line.empty();
}

}  // namespace

std::optional<LogEvent> parse_log_line(std::string_view line) {
  if (begins_with_a_task(line)) return std::nullopt;
  for (const LogForm& form : kForms) {
    LogEvent event;
    if (!has_form(form.form, line, event)) continue;
    event.kind = form.kind;
    event.text = line.substr(0, 400);
    return event;
  }
  return std::nullopt;
}

}  // namespace railbed
