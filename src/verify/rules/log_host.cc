// What the kernel's log tells of the host itself, and whether it can be read at all.
#include <fmt/format.h>

#include <algorithm>

#include "base/moment.h"
#include "verify/areas.h"
#include "verify/log_events.h"

namespace railbed {
namespace {

void kernel_log(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "kernel log");
    const KernelLog* log = one.read_if_there(node.facts->kernel_log, "no kernel log was read here");
    if (log == nullptr) continue;
    if (!log->beginning_lost && log->dropped == 0) {
      one.pass("since " + utc_text(log->begins));
      continue;
    }
    one.warn(
        {.message = fmt::format("the kernel log of {} is not whole: {}", *node.name,
                                log->beginning_lost ? "its oldest messages are overwritten"
                                                    : fmt::format("{} messages were too many", log->dropped)),
         .expected = "all since " + utc_text(log->begins),
         .observed = log->beginning_lost ? "the beginning is lost" : "some are left out",
         .remedy = {"Let the journal keep kernel messages on disk; look for what fills the log.",
                    {"mkdir -p /var/log/journal && systemctl restart systemd-journald",
                     "journalctl -k -b | cut -c1-60 | sort | uniq -c | sort -rn | head"}}});
  }
}

void module_rejected(const Survey& survey, Judge& judge) {
  ask_log(
      survey, judge,
      {.what = "kernel modules",
       .concerns = is(LogKind::kModuleRejected),
       .judge = [](Case& one, const NodeView& node, const Told& told) {
         const LogEvent& last = newest(told);
         if (module_present(*node.facts, last.subject)) {
           one.pass("loaded by now");
           return;
         }
         one.fail(
             {.message = fmt::format(
                  "the kernel of {} refused module {}: it was built for another kernel, or beside other modules",
                  *node.name, last.subject),
              .expected = "loads",
              .observed = last.text,
              .remedy = {"Build or install it for the running kernel; "
                         "do not mix the distribution's RDMA modules with MLNX_OFED's.",
                         {fmt::format("modinfo {} | grep -e filename -e vermagic", last.subject), "uname -r",
                          "dkms status"},
                         true}});
       }});
}

void out_of_memory(const Survey& survey, Judge& judge) {
  ask_log(survey, judge,
          {.what = "memory",
           .concerns =
               [](const NodeView&, const LogEvent& event) {
                 return event.kind == LogKind::kOutOfMemory || event.kind == LogKind::kJobOutOfMemory;
               },
           .judge =
               [](Case& one, const NodeView& node, const Told& told) {
                 const bool whole =
                     std::ranges::find(told, LogKind::kOutOfMemory, &LogEvent::kind) != told.end();
                 if (!whole) {
                   one.pass("a job met its own limit, " + how_often(told));
                   return;
                 }
                 one.warn({.message = fmt::format(
                               "{} ran out of memory and killed {} ({}): other processes may be missing, too",
                               *node.name, newest(told).subject, how_often(told)),
                           .expected = "none",
                           .observed = newest(told).text,
                           .remedy = {"Give jobs a memory limit; look what else was killed, and restart it.",
                                      {"journalctl -k -b | grep 'Killed process'", "systemctl --failed"}}});
               }});
}

void hung_task(const Survey& survey, Judge& judge) {
  ask_log(survey, judge,
          {.what = "tasks",
           .concerns = is(LogKind::kHungTask),
           .judge = [](Case& one, const NodeView& node, const Told& told) {
             one.warn({.message =
                           fmt::format("{} on {} hung in the kernel for two minutes or more ({}): a driver, "
                                       "disk or network file system did not answer",
                                       newest(told).subject, *node.name, how_often(told)),
                       .expected = "none",
                       .observed = newest(told).text,
                       .remedy = {"The call trace behind the message names what it waited for.",
                                  {"journalctl -k -b | grep -A 25 'blocked for more than'",
                                   "ps -eo pid,stat,wchan:30,comm | awk '$2 ~ /D/'"}}});
           }});
}

void kernel_failure(const Survey& survey, Judge& judge) {
  ask_log(
      survey, judge,
      {.what = "kernel",
       .concerns =
           [](const NodeView&, const LogEvent& event) {
             return event.kind == LogKind::kLockup || event.kind == LogKind::kOops;
           },
       .judge =
           [](Case& one, const NodeView& node, const Told& told) {
             one.fail({.message =
                           fmt::format("the kernel of {} failed ({}): what it still does cannot be relied on",
                                       *node.name, how_often(told)),
                       .expected = "no lockup, stall or oops",
                       .observed = newest(told).text,
                       .remedy = {"Restart the node; the call trace names the driver to update.",
                                  {"journalctl -k -b | grep -A 30 -e 'BUG:' -e 'Oops' -e 'stall' -e LOCKUP"},
                                  true}});
           }});
}

void machine_check(const Survey& survey, Judge& judge) {
  constexpr double kCorrectedPerDay = 10;  // ours; below it they are the memory's everyday
  ask_log(survey, judge,
          {.what = "hardware errors",
           .concerns =
               [](const NodeView&, const LogEvent& event) {
                 return event.kind == LogKind::kMachineCheck || event.kind == LogKind::kCorrectedCheck;
               },
           .judge =
               [=](Case& one, const NodeView& node, const Told& told) {
                 const auto worst = std::ranges::find(told, LogKind::kMachineCheck, &LogEvent::kind);
                 if (worst == told.end() && per_day(node, told) < kCorrectedPerDay) {
                   one.pass("corrected, " + how_often(told));
                   return;
                 }
                 const bool bad = worst != told.end();
                 one.red(bad ? Status::kFail : Status::kWarn,
                         {.message = fmt::format(
                              "the processor or memory of {} reported errors{} ({})", *node.name,
                              bad ? " that could not be corrected" : ", all corrected", how_often(told)),
                          .expected = bad ? "none" : fmt::format("fewer than {:.0f} a day", kCorrectedPerDay),
                          .observed = bad ? (*worst)->text : newest(told).text,
                          .remedy = {"Find the module or processor in the BMC's event log and replace it.",
                                     {"ipmitool sel elist", "ras-mc-ctl --errors || rasdaemon --help"},
                                     true}});
               }});
}

void cpu_throttled(const Survey& survey, Judge& judge) {
  ask_log(survey, judge,
          {.what = "processor",
           .concerns = is(LogKind::kCpuThrottled),
           .judge = [](Case& one, const NodeView& node, const Told& told) {
             one.warn({.message = fmt::format("the processors of {} were too hot and slowed down ({})",
                                              *node.name, how_often(told)),
                       .expected = "none",
                       .observed = newest(told).text,
                       .remedy = {"Look at fans, air flow, heat sinks and the room.",
                                  {"ipmitool sdr type temperature"}}});
           }});
}

void disk_errors(const Survey& survey, Judge& judge) {
  ask_log(
      survey, judge,
      {.what = "disks",
       .concerns =
           [](const NodeView&, const LogEvent& event) {
             return event.kind == LogKind::kDiskError || event.kind == LogKind::kReadOnly ||
                    event.kind == LogKind::kDiskTimeout;
           },
       .judge =
           [](Case& one, const NodeView& node, const Told& told) {
             const bool read_only =
                 std::ranges::find(told, LogKind::kReadOnly, &LogEvent::kind) != told.end();
             one.fail({.message = fmt::format("{} of {} {} ({})", newest(told).subject, *node.name,
                                              read_only ? "was set read-only after errors" : "had errors",
                                              how_often(told)),
                       .expected = "none",
                       .observed = newest(told).text,
                       .remedy = {"Save what is on it, look at the device's own health, replace it.",
                                  {"nvme list", fmt::format("smartctl -a /dev/{}", newest(told).subject)}}});
           }});
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
