// The host itself in the kernel's log, and access to that log.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/moment.h"
#include "base/text.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/log_events.h"

namespace railbed {
namespace {

// Ends the case as unknown, with a remedy: an ordinary user of CI or Slurm can do something about it.
void closed_log(Case& verdict, const NodeView& node) {
  verdict.seen(node.facts->kernel_log);
  verdict.red(
      Status::kUnknown,
      {.message = fmt::format("could not look: the kernel log of {} is closed to this user", *node.name),
       .expected = "a log that this user may read",
       .observed = node.facts->kernel_log.miss().why,
       .remedy = {"Run railbed as root, or let this user read the journal; that counts from the next login.",
                  {"usermod --append --groups systemd-journal USER"}}});
}

void kernel_log(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "kernel log", [](Case& verdict, const NodeView& node) {
    if (needs_root(node.facts->kernel_log)) return closed_log(verdict, node);
    const KernelLog* log = verdict.read_if_there(node.facts->kernel_log, "no kernel log was read here");
    if (log == nullptr) return;
    if (log->part) return verdict.unknown(kPartOfLog);
    if (!log->beginning_lost && log->dropped == 0) return verdict.pass("since " + utc_text(log->begins));
    verdict.warn(
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

// Returns true for modules without which the node lacks its GPUs or its network. Other modules may not
// matter.
bool is_essential(std::string_view module) {
  constexpr std::string_view kEssential[] = {"nvidia",  "nvidia_uvm", "mlx4_core", "mlx4_ib", "mlx5_core",
                                             "mlx5_ib", "ib_core",    "ib_uverbs", "rdma_cm", "rdma_ucm"};
  return std::ranges::find(kEssential, module) != std::end(kEssential);
}

// Returns the symbol in "… disagrees about version of symbol NAME" or "… Unknown symbol NAME (err -2)".
std::string_view symbol_in(std::string_view text) {
  const auto mark = text.find("symbol ");
  if (mark == text.npos) return {};
  const auto name = text.substr(mark + 7);
  const auto is_of_name = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; };
  return {name.begin(), std::ranges::find_if_not(name, is_of_name)};
}

std::string why_rejected(const LogEvent& event) {
  if (event.text.find("version magic") != std::string::npos) return "it was built for another kernel";
  // EINVAL: the loaded module that exports the symbol is another build.
  if (event.kind == LogKind::kModuleRejected || event.code == 22)
    return fmt::format("another build than it expects offers {}", symbol_in(event.text));
  return fmt::format("nothing that is loaded offers {}", symbol_in(event.text));
}

// Returns the most specific event: a symbol's version mismatch rather than the unknown symbol that follows.
const LogEvent& telling(const Told& told) {
  const LogEvent* rejected = told.first(LogKind::kModuleRejected);
  return rejected != nullptr ? *rejected : told.newest();
}

Remedy fit_module(const LogEvent& event, bool misfit) {
  const auto modinfo = command("modinfo {} | grep -e filename -e vermagic -e depends", event.subject);
  if (misfit)
    return {
        "Build or install it for the running kernel; do not mix the distribution's RDMA modules with "
        "MLNX_OFED's.",
        {modinfo, "uname -r", "dkms status"},
        true};
  return {
      "Load or install what offers it. Of RDMA modules take the distribution's or MLNX_OFED's, not some of "
      "each; where GPUDirect goes through DMA-BUF, nvidia_peermem is not needed.",
      {modinfo, command("grep -w {} /proc/kallsyms", symbol_in(event.text))}};
}

// Modules that distributions load by an alias wherever an adapter is, and that only virtual machines use. One of another
// build than the adapter's driver is refused at each boot (github.com/Mellanox/doca-driver-build/issues/51).
bool serves_only_vdpa(const NodeView& node, std::string_view module) {
  const bool uses_vdpa =
      module_present(*node.facts, "vhost_vdpa") || module_present(*node.facts, "virtio_vdpa");
  return (module == "mlx5_vdpa" || module == "vdpa") && !uses_vdpa;
}

void module_rejected(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "kernel modules", is(LogKind::kModuleRejected, LogKind::kUnknownSymbol),
            [](Case& verdict, const Told& told) {
              const LogEvent& event = telling(told);
              if (module_present(*told.node.facts, event.subject)) return verdict.pass("loaded by now");
              if (serves_only_vdpa(told.node, event.subject))
                return verdict.pass(event.subject + " was refused, and nothing here uses vDPA");
              const bool misfit = event.kind == LogKind::kModuleRejected || event.code == 22;
              verdict.red(misfit || is_essential(event.subject) ? Status::kFail : Status::kWarn,
                          {.message = fmt::format("the kernel of {} refused module {}: {}", *told.node.name,
                                                  event.subject, why_rejected(event)),
                           .expected = "loads",
                           .observed = event.text,
                           .remedy = fit_module(event, misfit)});
            });
}

// Newer kernels do not report which module it was; gpu.module-signature checks NVIDIA's.
bool lacks_adapter_driver(const NodeView& node) {
  return std::ranges::any_of(node.adapters(),
                             [](const PciDevice* adapter) { return adapter->driver.absent(); });
}

void signature_rejected(const Survey& survey, Judge& judge) {
  each_told(
      survey, judge, "module signatures", is(LogKind::kSignatureRejected, LogKind::kModuleUnsigned),
      [](Case& verdict, const Told& told) {
        const LogEvent& last = told.newest();
        if (told.first(LogKind::kSignatureRejected) == nullptr)
          return verdict.pass("loaded without: this kernel asks for none");
        const std::string which = last.subject.empty() ? "a module" : "module " + last.subject;
        if (!last.subject.empty() && module_present(*told.node.facts, last.subject))
          return verdict.pass("loaded by now");
        if (told.node.facts->gpus.driver_version.absent() && !told.node.gpus().empty())
          return verdict.not_applicable("NVIDIA's module may be meant (gpu.module-signature)");
        const bool adapters = lacks_adapter_driver(told.node);
        verdict.red(
            adapters ? Status::kFail : Status::kWarn,
            {.message = fmt::format(
                 "the kernel of {} refused {} for its signature, as under Secure Boot ({}); {}",
                 *told.node.name, which, told.how_often(),
                 adapters ? "an RDMA adapter has no driver" : "GPUs and RDMA adapters have their drivers"),
             .expected = "every module is signed with a key that the kernel trusts",
             .observed = last.text,
             .remedy = {
                 "See which modules that should be loaded are not, and enroll the key that signed them: the "
                 "next boot asks for it at the console.",
                 {"mokutil --sb-state", "systemctl status systemd-modules-load",
                  "journalctl -b | grep -i -e 'key was rejected' -e 'not permitted'"},
                 true}});
      });
}

void out_of_memory(const Survey& survey, Judge& judge) {
  each_told(
      survey, judge, "memory", is(LogKind::kOutOfMemory, LogKind::kJobOutOfMemory),
      [](Case& verdict, const Told& told) {
        const bool whole = told.first(LogKind::kOutOfMemory) != nullptr;
        if (!whole) return verdict.pass("a job met its own limit, " + told.how_often());
        verdict.warn({.message = fmt::format(
                          "{} ran out of memory and killed {} ({}): other processes may be missing, too",
                          *told.node.name, told.newest().subject, told.how_often()),
                      .expected = "none",
                      .observed = told.newest().text,
                      .remedy = {"Give jobs a memory limit; look what else was killed, and restart it.",
                                 {"journalctl -k -b | grep 'Killed process'", "systemctl --failed"}}});
      });
}

void hung_task(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "tasks", is(LogKind::kHungTask), [](Case& verdict, const Told& told) {
    verdict.warn(
        {.message = fmt::format("{} on {} hung in the kernel for two minutes or more ({}): a driver, "
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
  each_told(
      survey, judge, "kernel", is(LogKind::kLockup, LogKind::kOops), [](Case& verdict, const Told& told) {
        verdict.fail(
            {.message = fmt::format("the kernel of {} failed ({}): what it still does cannot be relied on",
                                    *told.node.name, told.how_often()),
             .expected = "no lockup, stall or oops",
             .observed = told.newest().text,
             .remedy = {"Restart the node; the call trace names the driver to update.",
                        {"journalctl -k -b | grep -A 30 -e 'BUG:' -e 'Oops' -e 'stall' -e LOCKUP"},
                        true}});
      });
}

// Returns true for events of the memory controllers' driver, or of firmware that names the memory.
bool is_about_memory(const LogEvent& event) {
  return event.text.find("EDAC MC") != std::string::npos ||
         lower(event.text).find("memory") != std::string::npos;
}

void machine_check(const Survey& survey, Judge& judge) {
  static constexpr double kCorrectedPerDay = 10;  // ours; fewer are normal for memory
  each_told(survey, judge, "hardware errors", is(LogKind::kMachineCheck, LogKind::kCorrectedCheck),
            [](Case& verdict, const Told& told) {
              const LogEvent* const worst = told.first(LogKind::kMachineCheck);
              if (worst == nullptr && told.per_day() < kCorrectedPerDay)
                return verdict.pass("corrected, " + told.how_often());
              const bool bad = worst != nullptr;
              // The BMC, the kernel's log and its counters may all report the same failing module.
              if (is_about_memory(bad ? *worst : told.newest())) verdict.touch("memory");
              verdict.red(
                  bad ? Status::kFail : Status::kWarn,
                  {.message = fmt::format(
                       "the processor or memory of {} reported errors{} ({})", *told.node.name,
                       bad ? " that could not be corrected" : ", all corrected", told.how_often()),
                   .expected = bad ? "none" : fmt::format("fewer than {:.0f} a day", kCorrectedPerDay),
                   .observed = bad ? worst->text : told.newest().text,
                   .remedy = {"Find the module or processor in the BMC's event log and replace it.",
                              {"ipmitool sel elist", "ras-mc-ctl --errors"},
                              true}});
            });
}

void cpu_throttled(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "processor", is(LogKind::kCpuThrottled), [](Case& verdict, const Told& told) {
    verdict.warn(
        {.message = fmt::format("the processors of {} were too hot and slowed down ({})", *told.node.name,
                                told.how_often()),
         .expected = "none",
         .observed = told.newest().text,
         .remedy = {"Look at fans, air flow, heat sinks and the room.", {"ipmitool sdr type temperature"}}});
  });
}

// Returns what happened to the drive, the gravest event first.
std::string_view fate_of(const Told& told) {
  if (told.first(LogKind::kDiskLost) != nullptr) return "does not answer any more: the kernel gave it up";
  if (told.first(LogKind::kArrayDegraded) != nullptr)
    return "was put out of its array, which has one drive less";
  if (told.first(LogKind::kReadOnly) != nullptr) return "was set read-only after errors";
  return "had errors";
}

// Returns true if the driver suspects the drive's power saving and nothing contradicts it: an error of the medium, or a
// drive that an array gave up, is another fault.
bool only_power_saving(const Told& told) {
  return told.first(LogKind::kDiskPowerSaving) != nullptr && told.first(LogKind::kDiskError) == nullptr &&
         told.first(LogKind::kArrayDegraded) == nullptr;
}

void suspect_power_saving(Case& verdict, const Told& told) {
  const std::string& disk = told.newest().subject;
  verdict.fail(
      {.message = fmt::format("{} of {} drops off its bus ({}): the kernel suspects its power saving", disk,
                              *told.node.name, told.how_often()),
       .expected = "none",
       .observed = told.first(LogKind::kDiskPowerSaving)->text,
       .remedy = {
           "Boot with power saving of the drive and of its PCIe link off, as the kernel's message says. If it "
           "drops off again, save what is on it and replace it.",
           set_at_boot_with(told.node, "nvme_core.default_ps_max_latency_us=0 pcie_aspm=off"), true}});
}

void disk_errors(const Survey& survey, Judge& judge) {
  each_told(
      survey, judge, "disks",
      [](const NodeView&, const LogEvent& event) {
        return is_failure_of_drive(event.kind) || event.kind == LogKind::kDiskPowerSaving;
      },
      [](Case& verdict, const Told& told) {
        const std::string& disk = told.newest().subject;
        if (only_power_saving(told)) return suspect_power_saving(verdict, told);
        std::vector<ShellCommand> commands = {"nvme list", command("smartctl -a /dev/{}", disk)};
        if (told.first(LogKind::kArrayDegraded) != nullptr) commands.emplace_back("cat /proc/mdstat");
        verdict.fail({.message = fmt::format("{} of {} {} ({})", disk, *told.node.name, fate_of(told),
                                             told.how_often()),
                      .expected = "none",
                      .observed = told.newest().text,
                      .remedy = {"Save what is on it, look at the device's own health, replace it.",
                                 std::move(commands)}});
      });
}

void disk_paths(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "paths to disks", is(LogKind::kPathFailed), [](Case& verdict, const Told& told) {
    verdict.warn(
        {.message =
             fmt::format("{} lost a path to a drive ({}): while another is left, I/O goes on with less",
                         *told.node.name, told.how_often()),
         .expected = "none",
         .observed = told.newest().text,
         .remedy = {"See which path is out; look at its cable, switch and adapter.", {"multipath -ll"}}});
  });
}

// A server that is away for a while is not a fault of this node, and a user may have named a server that
// never existed.
void file_server(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "file servers", is(LogKind::kServerSilent, LogKind::kServerBack),
            [](Case& verdict, const Told& told) {
              const LogEvent& last = told.newest();
              if (told.first(LogKind::kServerSilent) == nullptr || last.kind == LogKind::kServerBack)
                return verdict.pass("answers, since " + utc_text(last.last));
              verdict.warn({.message = fmt::format(
                                "file server {} did not answer {} ({}): whoever reads from it hangs",
                                last.subject, *told.node.name, told.how_often()),
                            .expected = "answers",
                            .observed = last.text,
                            .remedy = {"Look at the way to the server and at the server itself.",
                                       {command("ping -c 3 {}", last.subject), "nfsstat -m",
                                        "ps -eo pid,stat,wchan:30,comm | awk '$2 ~ /D/'"}}});
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
       .remedy = "Let this user read the log, and keep a journal on disk.",
       .fixture = "h100-kernel-log-lost",
       .explained_by = {},
       .check = kernel_log},
      {.id = "host.module-rejected",
       .title = "kernel refused no module",
       .why = "After a kernel upgrade, or where MLNX_OFED and the distribution's modules are mixed, "
              "a driver is there and does not load.",
       .source =
           "\"version magic\", \"disagrees about version of symbol\" and \"Unknown symbol\" in the kernel log",
       .standard = "none that is not loaded by now; warns where nothing here needs the module",
       .remedy = "Build it for the running kernel.",
       .fixture = "h100-module-rejected",
       .explained_by = {},
       .check = module_rejected},
      {.id = "host.module-signature",
       .title = "kernel refused no module for its signature",
       .why = "Under Secure Boot a module that was built here is not loaded until its key is enrolled.",
       .source = "\"is rejected\" and \"unsigned module loading is restricted\" in the kernel log",
       .standard = "none; fails where an RDMA adapter has no driver",
       .remedy = "Run mokutil --import, restart, and give the password at the console.",
       .fixture = "h100-module-signature",
       .explained_by = {},
       .check = signature_rejected},
      {.id = "host.out-of-memory",
       .title = "node did not run out of memory",
       .why = "The kernel kills what is largest: often the job, sometimes a daemon that nobody restarts.",
       .source = "\"Out of memory: Killed process\" in the kernel log",
       .standard = "none; a job killed at its own limit is no fault of the node",
       .remedy = "Set memory limits for jobs.",
       .fixture = "h100-out-of-memory",
       .explained_by = {},
       .check = out_of_memory},
      {.id = "host.hung-task",
       .title = "no process hangs in the kernel",
       .why = "A process that cannot even be killed holds its GPU and its memory until the restart.",
       .source = "\"blocked for more than\" in the kernel log",
       .standard = "none",
       .remedy = "Read the call trace behind it.",
       .fixture = "h100-hung-task",
       .explained_by = {"host.kernel-failure", "host.disk-errors", "host.file-server"},
       .check = hung_task},
      {.id = "host.kernel-failure",
       .title = "kernel did not fail",
       .why = "After an oops or lockup the node may go on for days and lose data on the way.",
       .source = "BUG, Oops, soft lockup, hard LOCKUP and stalls in the kernel log",
       .standard = "none",
       .remedy = "Restart, then update the driver in the trace.",
       .fixture = "h100-kernel-failure",
       .explained_by = {"host.machine-check"},
       .check = kernel_failure},
      {.id = "host.machine-check",
       .title = "no machine check",
       .why = "Corrected errors of memory or processor announce one that cannot be corrected.",
       .source = "Machine Check, EDAC and APEI messages in the kernel log",
       .standard = "no uncorrected one; fewer than 10 corrected a day, ours",
       .remedy = "The BMC's event log names the part.",
       .fixture = "h100-machine-check",
       .explained_by = {"bmc.events"},
       .check = machine_check},
      {.id = "host.cpu-throttled",
       .title = "processors stay cool",
       .why = "A throttled processor slows every GPU that waits for it.",
       .source = "\"clock throttled\" in the kernel log",
       .standard = "none",
       .remedy = "Look at the fans and the air flow.",
       .fixture = "h100-cpu-throttled",
       .explained_by = {},
       .check = cpu_throttled},
      {.id = "host.disk-errors",
       .title = "disks report no error",
       .why = "A node whose root file system went read-only still answers and fails every job.",
       .source =
           "I/O errors, file system errors, NVMe timeouts and drives put out of arrays in the kernel log",
       .standard = "none",
       .remedy = "Save the data, look at the drive, and replace it.",
       .fixture = "h100-disk-errors",
       .explained_by = {},
       .check = disk_errors},
      {.id = "host.disk-paths",
       .title = "every path to a drive is up",
       .why = "With several paths nobody notices the loss of one until the last is lost, too.",
       .source = "\"multipath: …: Failing path\" in the kernel log",
       .standard = "none",
       .remedy = "Run multipath -ll, then look at cable, switch and adapter.",
       .fixture = "h100-disk-path",
       .explained_by = {"host.disk-errors"},
       .check = disk_paths},
      {.id = "host.file-server",
       .title = "file servers answer",
       .why = "A process that waits for a file server hangs until it answers; jobs look as if NCCL hung.",
       .source = "\"nfs: server … not responding\" and \"OK\" in the kernel log",
       .standard = "the last word is OK",
       .remedy = "Look at the way to the server, then at the server.",
       .fixture = "h100-file-server",
       .explained_by = {},
       .check = file_server},
  };
  return kRules;
}

}  // namespace railbed
