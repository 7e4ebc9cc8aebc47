// What the kernel's log tells of hardware: the lines that people grep it for, as events. Lines come from
// Host::call("kernel-log"); their forms are those of the drivers' and the kernel's own sources, named in
// log_line.cc.
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
  kXidNvlinkFatal,  // likewise, of NVLink 5 (Xid 144 to 150), where the driver calls it fatal
  kSxidFatal,       // code: the SXid; subject: the NVSwitch's PCI address
  kSxidNonFatal,
  kGpuLost,        // "fallen off the bus"
  kGpuInitFailed,  // the driver could not start this GPU
  kGpuTaken,       // another driver holds this GPU; its name ends the text
  kGpuNotProbed,   // the kernel gave the driver fewer GPUs than there are
  kGpuNoWindow,    // code: the base address register for which the firmware gave no memory
  kGpuNeedsOpenModule,
  kGpuFirmwareMissing,  // the driver found no file for the GPU's own processor
  kModuleRejected,      // subject: a kernel module that does not fit this kernel or its other modules
  kUnknownSymbol,       // likewise, that needs what nothing loaded offers; code: the kernel's error
  kSignatureRejected,  // a module without a signature that this kernel trusts; subject: older kernels name it
  kModuleUnsigned,     // likewise, that was loaded all the same
  kVersionMismatch,    // NVIDIA's libraries are of another version than its module
  kAdapterHealth,      // subject: the adapter's PCI address
  kAdapterStartFailed,  // likewise; code: the kernel's error, 0 where the line has none
  kSlotPower,           // code: the watts the slot offers
  kAdapterHot,
  kCablePlugged,  // code: the port's number, from 0
  kCableUnplugged,
  kCableError,    // the module or cable is refused or broken
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
  kJobOutOfMemory,  // likewise, at the limit of its own control group
  kHungTask,        // subject: the process
  kLockup,          // a processor made no progress
  kOops,            // the kernel failed
  kMachineCheck,    // an uncorrected hardware error
  kCorrectedCheck,
  kCpuThrottled,  // by heat
  kDiskError,     // subject: the block device
  kReadOnly,      // a file system stopped writing
  kDiskTimeout,
  kDiskLost,       // the kernel gave the drive up
  kArrayDegraded,  // subject: the drive that an array put out
  kPathFailed,     // one of several ways to a drive
  kServerSilent,   // subject: a file server
  kServerBack,     // likewise, that answers again
};
constexpr auto enum_names(LogKind) {
  return std::array<std::string_view, 48>{"xid",
                                          "xid-nvlink-fatal",
                                          "sxid-fatal",
                                          "sxid-nonfatal",
                                          "gpu-lost",
                                          "gpu-init-failed",
                                          "gpu-taken",
                                          "gpu-not-probed",
                                          "gpu-no-window",
                                          "gpu-needs-open-module",
                                          "gpu-firmware-missing",
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
                                          "server-back"};
}

struct LogEvent {
  LogKind kind = LogKind::kXid;
  int code = 0;
  std::string subject;  // "" when the line names none
  std::uint64_t count = 0;
  double first = 0;  // Unix seconds
  double last = 0;
  std::string text;  // the last line, untrusted
  FIELDS(LogEvent, kind, code, subject, count, first, last, text);
};

struct KernelLog {
  double begins = 0;  // Unix seconds: the boot, or the time that was asked for
  double ends = 0;
  bool beginning_lost = false;   // the log no longer reaches back so far
  std::uint64_t dropped = 0;     // lines that were too many to keep
  std::vector<LogEvent> events;  // by kind, then subject and code
  FIELDS(KernelLog, begins, ends, beginning_lost, dropped, events);
};

// Whether two of them, events or lines, came as often and within so many seconds of each other, first and
// last: one failure says several things.
template <class One, class Other>
bool came_together(const One& one, const Other& other, double seconds) {
  return one.count == other.count && std::abs(one.first - other.first) <= seconds &&
         std::abs(one.last - other.last) <= seconds;
}

// One line → its event, with count, first and last left alone; nothing when the line is none of them.
std::optional<LogEvent> parse_log_line(std::string_view line);

// `since`: base/moment.h, empty: since boot. The reading's source says whether the kernel or the journal was
// asked.
Reading<KernelLog> collect_kernel_log(Host& host, const std::string& since);

}  // namespace railbed
