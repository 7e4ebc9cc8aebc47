// The kernel's log as hardware events: the lines that administrators search it for. Lines come from
// Host::call("kernel-log"). Their forms are taken from the sources of the drivers and the kernel, which
// log_line.cc names.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

class Host;

enum class LogKind {
  kXid,             // code: the Xid; subject: the GPU's PCI address
  kXidNvlinkFatal,  // same, of NVLink 5 (Xid 144 to 150), if the driver calls it fatal
  kSxidFatal,       // code: the SXid; subject: the NVSwitch's PCI address
  kSxidNonFatal,
  kGpuLost,        // "fallen off the bus"
  kGpuInitFailed,  // the driver could not start this GPU
  kGpuTaken,       // another driver holds this GPU; its name ends the text
  kGpuNotProbed,   // the kernel gave the driver fewer GPUs than exist
  kGpuNoWindow,    // code: the base address register to which the firmware gave no memory
  kGpuNeedsOpenModule,
  kGpuUnsupported,      // the driver's release or kind does not support this GPU
  kGpuFirmwareMissing,  // the driver found no firmware file for the GPU
  kGpuConfidential,     // the driver's encrypted channel to a GPU in confidential mode failed
  kGpuBootRefused,      // the GPU's own boot processor (FSP) refused to start it, or did not answer
  kConfidentialGuest,   // the kernel runs in a confidential virtual machine: Intel TDX, AMD SEV
  kOpenModuleLoaded,    // NVIDIA's open kernel module was loaded; the text may state its version
  kClosedModuleLoaded,  // same, the proprietary one
  kModuleRejected,      // subject: a kernel module that does not fit this kernel or its other modules
  kUnknownSymbol,       // same; it needs a symbol that nothing loaded exports; code: the kernel's error
  kSignatureRejected,   // a module without a trusted signature; subject: older kernels name it
  kModuleUnsigned,      // same, but it was loaded
  kVersionMismatch,     // NVIDIA's libraries and its module differ in version
  kAdapterHealth,       // subject: the adapter's PCI address
  kAdapterStartFailed,  // same; code: the kernel's error, 0 if the line has none
  kSlotPower,           // code: the watts the slot offers
  kAdapterHot,
  kCablePlugged,  // code: the port's number, from 0
  kCableUnplugged,
  kCableError,    // the transceiver or cable is rejected or broken
  kAerCorrected,  // subject: the PCI address that reports it
  kAerNonFatal,
  kAerFatal,
  kSlotLinkDown,  // subject: the slot's bridge
  kBandwidthLimited,
  kLinkDown,  // subject: the interface
  kLinkUp,
  kTransmitTimeout,
  kIommuFault,      // subject: the PCI address whose transfer was refused
  kOutOfMemory,     // subject: the process that was killed
  kJobOutOfMemory,  // same, at the limit of its own control group
  kHungTask,        // subject: the process
  kLockup,          // a processor made no progress
  kOops,            // the kernel failed
  kMachineCheck,    // an uncorrected hardware error
  kCorrectedCheck,
  kCpuThrottled,  // by heat
  kDiskError,     // subject: the block device
  kReadOnly,      // a file system stopped writing
  kDiskTimeout,
  kDiskLost,         // the kernel removed the drive
  kArrayDegraded,    // subject: the drive that an array removed
  kPathFailed,       // one of several paths to a drive
  kServerSilent,     // subject: a file server
  kServerBack,       // same; it responds again
  kDiskPowerSaving,  // subject: a drive that may not survive its power saving, as its driver suspects
};
constexpr auto enum_names(LogKind) {
  return std::array<std::string_view, 55>{"xid",
                                          "xid-nvlink-fatal",
                                          "sxid-fatal",
                                          "sxid-nonfatal",
                                          "gpu-lost",
                                          "gpu-init-failed",
                                          "gpu-taken",
                                          "gpu-not-probed",
                                          "gpu-no-window",
                                          "gpu-needs-open-module",
                                          "gpu-unsupported",
                                          "gpu-firmware-missing",
                                          "gpu-confidential",
                                          "gpu-boot-refused",
                                          "confidential-guest",
                                          "open-module-loaded",
                                          "closed-module-loaded",
                                          "module-rejected",
                                          "unknown-symbol",
                                          "signature-rejected",
                                          "module-unsigned",
                                          "version-mismatch",
                                          "adapter-health",
                                          "adapter-start-failed",
                                          "slot-power",
                                          "adapter-hot",
                                          "cable-plugged",
                                          "cable-unplugged",
                                          "cable-error",
                                          "aer-corrected",
                                          "aer-nonfatal",
                                          "aer-fatal",
                                          "slot-link-down",
                                          "bandwidth-limited",
                                          "link-down",
                                          "link-up",
                                          "transmit-timeout",
                                          "iommu-fault",
                                          "out-of-memory",
                                          "job-out-of-memory",
                                          "hung-task",
                                          "lockup",
                                          "oops",
                                          "machine-check",
                                          "corrected-check",
                                          "cpu-throttled",
                                          "disk-error",
                                          "read-only",
                                          "disk-timeout",
                                          "disk-lost",
                                          "array-degraded",
                                          "path-failed",
                                          "server-silent",
                                          "server-back",
                                          "disk-power-saving"};
}

// Returns true for failures of a drive, or of the file system or the array on it.
constexpr bool is_failure_of_drive(LogKind kind) {
  using enum LogKind;
  return kind == kDiskError || kind == kDiskTimeout || kind == kDiskLost || kind == kArrayDegraded ||
         kind == kReadOnly;
}

// All lines of one kind, subject and code.
struct LogEvent {
  LogKind kind = LogKind::kXid;
  int code = 0;
  std::string subject;  // empty if the line names none
  std::uint64_t count = 0;
  double first = 0;  // Unix seconds
  double last = 0;
  std::string text;  // the last line, untrusted
  FIELDS(LogEvent, kind, code, subject, count, first, last, text);
};

struct KernelLog {
  double begins = 0;  // Unix seconds: the boot, or the requested time
  double ends = 0;
  bool beginning_lost = false;   // the log starts later than that
  std::uint64_t dropped = 0;     // lines beyond the limit of the log reader
  std::vector<LogEvent> events;  // by kind, then subject and code
  bool part = false;             // lines that somebody cut out of the log
  FIELDS(KernelLog, begins, ends, beginning_lost, dropped, events, part);
};

// Returns true if two events or lines occurred equally often, and their first and last times differ by at
// most `seconds`. One failure often writes several different lines.
template <class One, class Other>
bool came_together(const One& one, const Other& other, double seconds) {
  return one.count == other.count && std::abs(one.first - other.first) <= seconds &&
         std::abs(one.last - other.last) <= seconds;
}

// Parses one line to an event; `count`, `first` and `last` are not set. Returns nullopt if the line is not a
// known event.
std::optional<LogEvent> parse_log_line(std::string_view line);

// Collects the events since `since` (base/moment.h), or since boot if it is empty. The reading's source names
// the kernel or the journal.
Reading<KernelLog> collect_kernel_log(Host& host, const std::string& since);

}  // namespace railbed
