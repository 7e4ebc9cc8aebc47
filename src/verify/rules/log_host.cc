// What the kernel's log tells of the host itself, and whether it can be read at all.
#include <fmt/format.h>

#include "base/moment.h"
#include "verify/areas.h"
#include "verify/log_events.h"

namespace railbed {
namespace {

void kernel_log(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "kernel log", [](Case& one, const NodeView& node) {
    const KernelLog* log = one.read_if_there(node.facts->kernel_log, "no kernel log was read here");
    if (log == nullptr) return;
    if (!log->beginning_lost && log->dropped == 0) return one.pass("since " + utc_text(log->begins));
    one.warn(
        {.message = fmt::format("the kernel log of {} is not whole: {}", *node.name,
                                log->beginning_lost ? "its oldest messages are overwritten"
                                                    : fmt::format("{} messages were too many", log->dropped)),
         .expected = "all since " + utc_text(log->begins),
         .observed = log->beginning_lost ? "the beginning is lost" : "some are left out",
         .remedy = {"Let the journal keep kernel messages on disk; look for what fills the log.",
                    {"mkdir -p /var/log/journal && systemctl restart systemd-journald",
                     "journalctl -k -b | cut -c1-60 | sort | uniq -c | sort -rn | head"}}});
  });
}

void module_rejected(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "kernel modules", is(LogKind::kModuleRejected), [](Case& one, const Told& told) {
    const LogEvent& last = told.newest();
    if (module_present(*told.node.facts, last.subject)) return one.pass("loaded by now");
    one.fail(
        {.message = fmt::format(
             "the kernel of {} refused module {}: it was built for another kernel, or beside other modules",
             *told.node.name, last.subject),
         .expected = "loads",
         .observed = last.text,
         .remedy = {"Build or install it for the running kernel; "
                    "do not mix the distribution's RDMA modules with MLNX_OFED's.",
                    {fmt::format("modinfo {} | grep -e filename -e vermagic", last.subject), "uname -r",
                     "dkms status"},
                    true}});
  });
}

void out_of_memory(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "memory", is(LogKind::kOutOfMemory, LogKind::kJobOutOfMemory),
            [](Case& one, const Told& told) {
              const bool whole = told.first(LogKind::kOutOfMemory) != nullptr;
              if (!whole) return one.pass("a job met its own limit, " + told.how_often());
              one.warn({.message = fmt::format(
                            "{} ran out of memory and killed {} ({}): other processes may be missing, too",
                            *told.node.name, told.newest().subject, told.how_often()),
                        .expected = "none",
                        .observed = told.newest().text,
                        .remedy = {"Give jobs a memory limit; look what else was killed, and restart it.",
                                   {"journalctl -k -b | grep 'Killed process'", "systemctl --failed"}}});
            });
}

void hung_task(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "tasks", is(LogKind::kHungTask), [](Case& one, const Told& told) {
    one.warn({.message = fmt::format("{} on {} hung in the kernel for two minutes or more ({}): a driver, "
                                     "disk or network file system did not answer",
                                     told.newest().subject, *told.node.name, told.how_often()),
              .expected = "none",
              .observed = told.newest().text,
              .remedy = {"The call trace behind the message names what it waited for.",
                         {"journalctl -k -b | grep -A 25 'blocked for more than'",
                          "ps -eo pid,stat,wchan:30,comm | awk '$2 ~ /D/'"}}});
  });
}

void kernel_failure(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "kernel", is(LogKind::kLockup, LogKind::kOops), [](Case& one, const Told& told) {
    one.fail({.message = fmt::format("the kernel of {} failed ({}): what it still does cannot be relied on",
                                     *told.node.name, told.how_often()),
              .expected = "no lockup, stall or oops",
              .observed = told.newest().text,
              .remedy = {"Restart the node; the call trace names the driver to update.",
                         {"journalctl -k -b | grep -A 30 -e 'BUG:' -e 'Oops' -e 'stall' -e LOCKUP"},
                         true}});
  });
}

void machine_check(const Survey& survey, Judge& judge) {
  static constexpr double kCorrectedPerDay = 10;  // ours; below it they are the memory's everyday
  each_told(survey, judge, "hardware errors", is(LogKind::kMachineCheck, LogKind::kCorrectedCheck),
            [](Case& one, const Told& told) {
              const LogEvent* const worst = told.first(LogKind::kMachineCheck);
              if (worst == nullptr && told.per_day() < kCorrectedPerDay)
                return one.pass("corrected, " + told.how_often());
              const bool bad = worst != nullptr;
              one.red(bad ? Status::kFail : Status::kWarn,
                      {.message = fmt::format(
                           "the processor or memory of {} reported errors{} ({})", *told.node.name,
                           bad ? " that could not be corrected" : ", all corrected", told.how_often()),
                       .expected = bad ? "none" : fmt::format("fewer than {:.0f} a day", kCorrectedPerDay),
                       .observed = bad ? worst->text : told.newest().text,
                       .remedy = {"Find the module or processor in the BMC's event log and replace it.",
                                  {"ipmitool sel elist", "ras-mc-ctl --errors || rasdaemon --help"},
                                  true}});
            });
}

void cpu_throttled(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "processor", is(LogKind::kCpuThrottled), [](Case& one, const Told& told) {
    one.warn(
        {.message = fmt::format("the processors of {} were too hot and slowed down ({})", *told.node.name,
                                told.how_often()),
         .expected = "none",
         .observed = told.newest().text,
         .remedy = {"Look at fans, air flow, heat sinks and the room.", {"ipmitool sdr type temperature"}}});
  });
}

void disk_errors(const Survey& survey, Judge& judge) {
  each_told(
      survey, judge, "disks", is(LogKind::kDiskError, LogKind::kReadOnly, LogKind::kDiskTimeout),
      [](Case& one, const Told& told) {
        const bool read_only = told.first(LogKind::kReadOnly) != nullptr;
        one.fail({.message = fmt::format("{} of {} {} ({})", told.newest().subject, *told.node.name,
                                         read_only ? "was set read-only after errors" : "had errors",
                                         told.how_often()),
                  .expected = "none",
                  .observed = told.newest().text,
                  .remedy = {"Save what is on it, look at the device's own health, replace it.",
                             {"nvme list", fmt::format("smartctl -a /dev/{}", told.newest().subject)}}});
      });
}

}  // namespace

std::span<const Rule> log_host_rules() {
  static const Rule kRules[] = {
      {.id = "host.kernel-log",
       .title = "kernel log can be read and is whole",
       .why = "Every rule that reads the log is blind where it is closed or overwritten. "
              "It is read as root, or where kernel.dmesg_restrict is 0, "
              "or by members of the group systemd-journal.",
       .source = "/dev/kmsg, else journalctl -k -b",
       .standard = "reaches back to the boot, or to --since",
       .remedy = "A journal on disk.",
       .fixture = "h100-kernel-log-lost",
       .explained_by = {},
       .check = kernel_log},
      {.id = "host.module-rejected",
       .title = "kernel refused no module",
       .why = "After a kernel upgrade, or where MLNX_OFED and the distribution's modules are mixed, "
              "a driver is there and does not load.",
       .source = "\"version magic\" and \"disagrees about version of symbol\" in the kernel log",
       .standard = "none that is not loaded by now",
       .remedy = "Build it for the running kernel.",
       .fixture = "h100-module-rejected",
       .explained_by = {},
       .check = module_rejected},
      {.id = "host.out-of-memory",
       .title = "node did not run out of memory",
       .why = "The kernel kills what is largest: often the job, sometimes a daemon that nobody restarts.",
       .source = "\"Out of memory: Killed process\" in the kernel log",
       .standard = "none; a job killed at its own limit is no fault of the node",
       .remedy = "Memory limits for jobs.",
       .fixture = "h100-out-of-memory",
       .explained_by = {},
       .check = out_of_memory},
      {.id = "host.hung-task",
       .title = "no process hangs in the kernel",
       .why = "A process that cannot even be killed holds its GPU and its memory until the restart.",
       .source = "\"blocked for more than\" in the kernel log",
       .standard = "none",
       .remedy = "The call trace behind it.",
       .fixture = "h100-hung-task",
       .explained_by = {"host.kernel-failure", "host.disk-errors"},
       .check = hung_task},
      {.id = "host.kernel-failure",
       .title = "kernel did not fail",
       .why = "After an oops or lockup the node may go on for days and lose data on the way.",
       .source = "BUG, Oops, soft lockup, hard LOCKUP and stalls in the kernel log",
       .standard = "none",
       .remedy = "Restart; update the driver in the trace.",
       .fixture = "h100-kernel-failure",
       .explained_by = {"host.machine-check"},
       .check = kernel_failure},
      {.id = "host.machine-check",
       .title = "no machine check",
       .why = "Memory or processor fail; corrected errors announce the one that is not.",
       .source = "Machine Check, EDAC and APEI messages in the kernel log",
       .standard = "no uncorrected one; fewer than 10 corrected a day, ours",
       .remedy = "The BMC's event log names the part.",
       .fixture = "h100-machine-check",
       .explained_by = {},
       .check = machine_check},
      {.id = "host.cpu-throttled",
       .title = "processors stay cool",
       .why = "A throttled processor slows every GPU that waits for it.",
       .source = "\"clock throttled\" in the kernel log",
       .standard = "none",
       .remedy = "Fans and air flow.",
       .fixture = "h100-cpu-throttled",
       .explained_by = {},
       .check = cpu_throttled},
      {.id = "host.disk-errors",
       .title = "disks report no error",
       .why = "A node whose root file system went read-only still answers and fails every job.",
       .source = "I/O errors, file system errors and NVMe timeouts in the kernel log",
       .standard = "none",
       .remedy = "Save, look, replace.",
       .fixture = "h100-disk-errors",
       .explained_by = {},
       .check = disk_errors},
  };
  return kRules;
}

}  // namespace railbed
