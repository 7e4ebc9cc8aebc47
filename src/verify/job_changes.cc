#include "verify/job_changes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/moment.h"
#include "base/text.h"
#include "base/wording.h"
#include "facts/network/load.h"
#include "hardware/gpu_slowdown.h"
#include "hardware/pcie_error.h"
#include "hardware/xid.h"
#include "verify/load_window.h"
#include "verify/log_events.h"

namespace railbed {
namespace {

// The verdict on a counter of a port or of its interface; limit_of() has its limit and its meaning.
struct JobPortWatch {
  std::string_view name;
  JobStatus status;
  JobFault fault;
  std::string_view says;  // whose fault it may be
};
constexpr std::string_view kLinkRemedy =
    "See what the log has of it: journalctl -k | grep -i link; reseat the cable, then swap it.";
constexpr std::string_view kOfTheLink = "the cable, its module or the port at either end, not the job";
// A link goes away by a bad cable as by a switch, a peer or an interface that somebody restarts or switches off, and its counters
// of errors move when it comes back.
constexpr std::string_view kOfALossOfLink =
    "the cable, the port at either end, or somebody who restarted or switched off what is there; not the job";
constexpr std::string_view kAfterLoss =
    "the link was lost meanwhile, which moves this counter, too; not the job";
constexpr std::string_view kOfTheWay = "the network or a peer, not this node's program";
constexpr JobPortWatch kJobPortWatches[] = {
    {"local_link_integrity_errors", JobStatus::kFailure, JobFault::kLink, kOfTheLink},
    {"excessive_buffer_overrun_errors", JobStatus::kFailure, JobFault::kLink, kOfTheLink},
    {"symbol_error", JobStatus::kWarning, JobFault::kLink, kOfTheLink},
    {"link_error_recovery", JobStatus::kWarning, JobFault::kLink, kOfTheLink},
    {"port_rcv_errors", JobStatus::kFailure, JobFault::kLink, kOfTheLink},
    {"rx_icrc_encapsulated", JobStatus::kFailure, JobFault::kNetwork,
     "a switch or an adapter on the way, not the job"},
    {"local_ack_timeout_err", JobStatus::kWarning, JobFault::kUndecided,
     "a hop on the way, or the peer: its node may be gone, or the job may have ended there first"},
    {"port_xmit_discards", JobStatus::kWarning, JobFault::kNetwork, kOfTheWay},
    {"roce_slow_restart", JobStatus::kWarning, JobFault::kNetwork, kOfTheWay},
    {"roce_adp_retrans", JobStatus::kWarning, JobFault::kNetwork, kOfTheWay},
    {"rp_cnp_ignored", JobStatus::kWarning, JobFault::kNode, "this adapter's settings, not the job"},
    {"out_of_buffer", JobStatus::kWarning, JobFault::kUndecided,
     "a program that posts too few receives, or whose process was starved, or a file system over RDMA"},
    {"rnr_nak_retry_err", JobStatus::kWarning, JobFault::kUndecided,
     "the program at the other end, or its node"},
};
constexpr JobPortWatch kDriverWatches[] = {
    {"tx_pause_storm_error_events", JobStatus::kFailure, JobFault::kNode,
     "something on this node does not take its data: PCIe, the IOMMU, a stuck process"},
    {"tx_pause_storm_warning_events", JobStatus::kWarning, JobFault::kNode,
     "something on this node does not take its data: PCIe, the IOMMU, a stuck process"},
};

// Counters of InfiniBand's PortCounters that stop at their highest value, where the adapter has no wider ones (InfiniBand
// Architecture 16.1.3.5).
constexpr std::pair<std::string_view, std::uint64_t> kHighestCounts[] = {
    {"link_downed", 255},
    {"link_error_recovery", 255},
    {"symbol_error", 65535},
    {"port_rcv_errors", 65535},
    {"port_xmit_discards", 65535},
    {"local_link_integrity_errors", 15},
    {"excessive_buffer_overrun_errors", 15},
};

// The verdict on an event of the kernel's log. Events of GPUs' Xids and of AER are judged apart.
struct JobLogWatch {
  LogKind kind;
  JobStatus status;
  JobFault fault;
  std::string_view says;  // {} is the subject
};
constexpr JobLogWatch kJobLogWatches[] = {
    {LogKind::kSxidFatal, JobStatus::kFailure, JobFault::kHardware,
     "NVSwitch {} reported a fatal error: it, a GPU or an NVLink between them, not the job"},
    {LogKind::kSxidNonFatal, JobStatus::kNote, JobFault::kHardware,
     "NVSwitch {} reported an error that is not fatal"},
    {LogKind::kGpuInitFailed, JobStatus::kFailure, JobFault::kNode,
     "the driver could not start GPU {}: the GPU or its driver, not the job"},
    {LogKind::kGpuUnsupported, JobStatus::kFailure, JobFault::kNode,
     "the driver does not support GPU {}: its release or kind, not the job"},
    {LogKind::kAdapterHealth, JobStatus::kFailure, JobFault::kNode,
     "the firmware of adapter {} failed: the adapter, its firmware, or its power or PCIe link, not the job"},
    {LogKind::kAdapterHot, JobStatus::kWarning, JobFault::kHardware,
     "adapter {} or its module was too hot: the cooling, not the job"},
    {LogKind::kCableUnplugged, JobStatus::kWarning, JobFault::kUndecided,
     "the module of adapter {} was unplugged: somebody's hand, or a module that is loose; not the job"},
    {LogKind::kCableError, JobStatus::kFailure, JobFault::kLink,
     "adapter {} refused its cable or module: the module, not the job"},
    {LogKind::kSlotLinkDown, JobStatus::kFailure, JobFault::kUndecided,
     "the slot {} lost its card: the card, its power or its slot, or somebody who reset or removed it; not the job"},
    {LogKind::kTransmitTimeout, JobStatus::kWarning, JobFault::kUndecided,
     "{} could not send: the adapter, its driver, or a network that pauses it without end; not the job"},
    {LogKind::kIommuFault, JobStatus::kWarning, JobFault::kNode,
     "the IOMMU refused a transfer of {}: the device, its driver or the IOMMU's settings, not the job"},
    {LogKind::kOutOfMemory, JobStatus::kWarning, JobFault::kUndecided,
     "the node had no memory left, and the kernel killed {}: the job's programs, or what else ran here"},
    {LogKind::kJobOutOfMemory, JobStatus::kWarning, JobFault::kUndecided,
     "a control group reached its memory limit, and the kernel killed {}: a program that needs more than its job, or another "
     "service here, has"},
    {LogKind::kHungTask, JobStatus::kWarning, JobFault::kUndecided,
     "{} waited in the kernel for minutes: a disk, a file server or a driver, or what the program asked of them"},
    {LogKind::kLockup, JobStatus::kFailure, JobFault::kNode,
     "a processor made no progress: the kernel, a driver, the hardware, or the host of a virtual machine; not the job"},
    {LogKind::kOops, JobStatus::kFailure, JobFault::kNode,
     "the kernel failed: the kernel, a driver or the hardware, not the job"},
    {LogKind::kMachineCheck, JobStatus::kFailure, JobFault::kHardware,
     "the processors reported an uncorrected hardware error: not the job"},
    {LogKind::kCorrectedCheck, JobStatus::kNote, JobFault::kHardware,
     "the processors corrected hardware errors: not the job"},
    {LogKind::kCpuThrottled, JobStatus::kWarning, JobFault::kHardware,
     "processors were slowed down by heat: the cooling, not the job"},
    {LogKind::kDiskError, JobStatus::kWarning, JobFault::kNode,
     "drive {} reported errors: the drive, or what connects it, not the job"},
    {LogKind::kDiskTimeout, JobStatus::kWarning, JobFault::kNode,
     "drive {} did not answer in time: the drive, its firmware, its link or its power saving, not the job"},
    {LogKind::kDiskLost, JobStatus::kFailure, JobFault::kNode,
     "the kernel removed drive {}: the drive, its firmware, its link or its power saving, not the job"},
    {LogKind::kReadOnly, JobStatus::kFailure, JobFault::kNode,
     "file system {} stopped writing: its drive or its structure, not the job"},
    {LogKind::kArrayDegraded, JobStatus::kFailure, JobFault::kHardware,
     "an array removed drive {}: the drive, not the job"},
    {LogKind::kServerSilent, JobStatus::kWarning, JobFault::kUndecided,
     "file server {} did not answer: the server, the way to it, or the load that the job put on them"},
};

constexpr std::size_t kLongestJobName = 64;

std::string clean_name(std::string_view untrusted) {
  std::string name = printable(untrusted);
  return name.size() <= kLongestJobName ? name : name.substr(0, kLongestJobName) + "…";
}

std::string times_text(std::uint64_t count) {
  return count == 1 ? "once" : count == 2 ? "twice" : fmt::format("{} times", count);
}

std::optional<std::uint64_t> count_in(const JobCounters& counters, std::string_view name) {
  const auto found = counters.find(std::string(name));
  return found == counters.end() ? std::nullopt : std::optional(found->second);
}

// The increases of one thing's counters.
struct Increases {
  JobCounters by;
  bool began_again = false;  // a counter fell: `by` holds what it counted since, which is the least
};

Increases increases_of(const JobCounters& before, const JobCounters& after) {
  Increases found;
  for (const auto& [name, first] : before)
    if (const auto last = count_in(after, name)) {
      const auto distance = moved(first, *last);
      found.began_again = found.began_again || !distance;
      found.by.emplace(name, distance.value_or(*last));
    }
  return found;
}

class JobJudge {
 public:
  JobJudge(const JobRecord& record, const Reading<KernelLog>& log)
      : record_(record),
        before_(*record.begin),
        after_(*record.end),
        log_(log),
        seconds_(seconds_of(record)) {}

  std::vector<JobChange> judge() {
    const bool same_boot = !restarted(record_);
    if (!same_boot) name_restart();
    if (!seconds_)
      add({JobStatus::kUnknown, JobFault::kPeople, "clock", "",
           "the clock went back over the restart: how long the job ran is not known"});
    if (same_boot) {
      judge_ports();
      judge_interfaces();
      judge_pci();
    }
    judge_driver();
    int number = 0;
    for (const auto& [address, gpu] : before_.gpus) judge_gpu(number++, address, gpu, same_boot);
    judge_log();
    name_unread();
    std::ranges::stable_sort(changes_, {}, &JobChange::status);
    return std::move(changes_);
  }

 private:
  void add(JobChange change) { changes_.push_back(std::move(change)); }

  double seconds() const { return seconds_.value_or(0); }
  std::string during() const {
    return seconds_ ? fmt::format("in {}", short_time_text(*seconds_)) : std::string("during the job");
  }
  // Returns "the job's program", or whose else it may be.
  std::string programs() const {
    if (record_.beside.empty()) return "the job's program";
    std::vector<std::string> names;
    for (const std::string& id : record_.beside) names.push_back(clean_name(id));
    return fmt::format("a program of this job, or of job {}, which ran beside it", fmt::join(names, ", "));
  }

  void name_restart() {
    add({JobStatus::kFailure, JobFault::kUndecided, "restart", "",
         fmt::format(
             "the node restarted during the job{}: a crash, lost power, or somebody; what its ports and PCI devices "
             "counted until then is lost",
             after_.uptime ? fmt::format(", at {}", utc_text(after_.time - *after_.uptime)) : ""),
         "Read the end of the boot before: journalctl -b -1 -e; then the BMC's event log: railbed sel."});
  }

  void judge_ports() {
    for (const auto& [name, before] : before_.ports) {
      const auto found = after_.ports.find(name);
      if (found == after_.ports.end()) {
        add({JobStatus::kFailure, JobFault::kUndecided, "port-gone", name,
             fmt::format(
                 "port {} is gone: its adapter fell off, or somebody unloaded its driver; not the job", name),
             "Read the kernel's log of that time; look for the adapter: lspci -nn."});
        continue;
      }
      judge_port(name, before, found->second);
    }
  }

  // Returns whether the interface of an RDMA device was switched off since.
  bool is_switched_off(std::string_view port) const {
    const std::string_view device = port.substr(0, port.find('/'));
    return std::ranges::any_of(after_.interfaces, [&](const auto& one) {
      const auto before = before_.interfaces.find(one.first);
      return one.second.rdma == device && one.second.on == false && before != before_.interfaces.end() &&
             before->second.on == true;
    });
  }

  void judge_port(const std::string& name, const JobPort& before, const JobPort& after) {
    const Increases moved = increases_of(before.counters, after.counters);
    const std::string thing = "port " + name;
    name_new_beginning(moved.began_again, name, thing);
    name_full(name, before, after);
    const bool off = is_switched_off(name);
    if (const auto downs = count_in(moved.by, "link_downed"); downs.value_or(0) > 0) {
      lost_.insert(name.substr(0, name.find('/')));
      add({JobStatus::kFailure, off ? JobFault::kPeople : JobFault::kUndecided, "link-lost", name,
           fmt::format(
               "port {} went down {}{} during the job: {}", name, moved.began_again ? "at least " : "",
               times_text(*downs),
               off ? "somebody or a service switched its interface off, not the job" : kOfALossOfLink),
           off ? "" : std::string(kLinkRemedy)});
    }
    for (const JobPortWatch& watch : kJobPortWatches) judge_counter(watch, name, thing, moved);
    if (before.state == "ACTIVE" && !after.state.empty() && after.state != "ACTIVE")
      add({JobStatus::kFailure, off ? JobFault::kPeople : JobFault::kUndecided, "port-down", name,
           fmt::format("port {} was ACTIVE before the job and is {} after it: {}", name,
                       clean_name(after.state),
                       off ? "somebody or a service switched its interface off, not the job"
                           : "the cable, the port at its other end, or somebody; not the job"),
           "Look at it: railbed verify."});
    else if (after.state == "ACTIVE" && !before.rate.empty() && !after.rate.empty() &&
             before.rate != after.rate)
      add({JobStatus::kWarning, JobFault::kUndecided, "port-rate", name,
           fmt::format(
               "port {} ran at {} before the job and runs at {} after it: the cable, its module or the port at "
               "either end, or somebody who set it; not the job",
               name, clean_name(before.rate), clean_name(after.rate)),
           "If nobody set it: reseat the cable, then swap it."});
  }

  void judge_counter(const JobPortWatch& watch, const std::string& name, std::string_view thing,
                     const Increases& moved) {
    const auto count = count_in(moved.by, watch.name);
    const CounterLimit& limit = limit_of(watch.name);
    if (!count || *count == 0 || static_cast<double>(*count) <= limit.per_second * seconds()) return;
    const bool after_loss =
        watch.fault == JobFault::kLink && count_in(moved.by, "link_downed").value_or(0) > 0;
    add({watch.status, after_loss ? JobFault::kUndecided : watch.fault, std::string(watch.name), name,
         fmt::format("{} counted {}{} {} {}: {}; {}", thing, moved.began_again ? "at least " : "", *count,
                     watch.name, during(), limit.means, after_loss ? kAfterLoss : watch.says),
         ""});
  }

  void name_new_beginning(bool began_again, const std::string& name, std::string_view thing) {
    if (!began_again) return;
    add({JobStatus::kWarning, JobFault::kUndecided, "counters-began-again", name,
         fmt::format(
             "the counters of {} began again during the job: its driver was loaded again, its firmware was reset, or "
             "somebody cleared them; what they held at that moment is not known",
             thing),
         ""});
  }

  void name_full(const std::string& name, const JobPort& before, const JobPort& after) {
    for (const auto& [counter, highest] : kHighestCounts)
      if (count_in(before.counters, counter) == highest && count_in(after.counters, counter) == highest)
        add({JobStatus::kUnknown, JobFault::kNobody, "counter-full", name,
             fmt::format(
                 "{} of port {} stands at its highest value, {}, since before the job: whether it would have risen is "
                 "not known",
                 counter, name, highest),
             "Clear it: perfquery -R, or load the adapter's driver again."});
  }

  void judge_interfaces() {
    for (const auto& [name, before] : before_.interfaces) {
      const auto found = after_.interfaces.find(name);
      if (found == after_.interfaces.end()) {
        if (before.rdma.empty() || !after_.ports.empty())
          add({JobStatus::kWarning, JobFault::kUndecided, "interface-gone", name,
               fmt::format(
                   "interface {} is gone or has another name: its adapter or driver went away, or somebody moved it, as "
                   "into a container",
                   name),
               ""});
        continue;
      }
      judge_interface(name, before, found->second);
    }
  }

  void judge_interface(const std::string& name, const JobInterface& before, const JobInterface& after) {
    const Increases moved = increases_of(before.counters, after.counters);
    const std::string thing = "interface " + name;
    name_new_beginning(moved.began_again, name, thing);
    for (const JobPortWatch& watch : kDriverWatches) judge_counter(watch, name, thing, moved);
    // judge_port() has named the loss if the port counts it.
    if (!before.rdma.empty() && lost_.contains(before.rdma)) return;
    const std::uint64_t changes = count_in(moved.by, "carrier_changes").value_or(0);
    const bool off = before.on == true && after.on == false;
    if (changes == 0) return;
    add({before.rdma.empty() ? JobStatus::kWarning : JobStatus::kFailure,
         off ? JobFault::kPeople : JobFault::kUndecided, "link-lost", name,
         fmt::format("interface {} lost its link {} during the job: {}", name, times_text((changes + 1) / 2),
                     off ? "somebody or a service switched it off, not the job" : kOfALossOfLink),
         off ? "" : std::string(kLinkRemedy)});
  }

  // Returns the errors of one severity that a device counted during the job, by their names; empty where a look did not
  // read names, as an older railbed did.
  static std::vector<std::string> pcie_names(const JobCounters& before, const JobCounters& after,
                                             const std::string& severity) {
    const std::string head = severity + " ";
    const auto has_name = [&](const auto& one) { return one.first.starts_with(head); };
    if (count_in(before, severity).value_or(0) > 0 && std::ranges::none_of(before, has_name)) return {};
    std::vector<std::string> names;
    for (const auto& [key, count] : after)
      if (key.starts_with(head) && count > count_in(before, key).value_or(0))
        names.push_back(key.substr(head.size()));
    return names;
  }

  // Returns the trouble that the log's lines about a device's uncorrected errors have in common.
  PcieTrouble told_trouble(std::string_view address) const {
    std::optional<PcieTrouble> common;
    if (log_)
      for (const LogEvent& event : log_->events)
        if ((event.kind == LogKind::kAerFatal || event.kind == LogKind::kAerNonFatal) &&
            event.subject == address)
          common = common.value_or(trouble_of_pcie_line(event.text)) == trouble_of_pcie_line(event.text)
                       ? trouble_of_pcie_line(event.text)
                       : PcieTrouble::kUnknown;
    return common.value_or(PcieTrouble::kUnknown);
  }

  void add_pcie(JobStatus status, const std::string& address, std::string_view what, PcieTrouble trouble) {
    const PcieOrigin origin = origin_of(trouble);
    add({status,
         origin == PcieOrigin::kHardware ? JobFault::kHardware
         : origin == PcieOrigin::kNode   ? JobFault::kNode
                                         : JobFault::kUndecided,
         "pcie-errors", address,
         fmt::format("PCI device {} reported {}: {}", clean_name(address), what, origin_text(trouble)),
         std::string(remedy_of(trouble, false))});
  }

  void judge_pci() {
    for (const auto& [address, first] : before_.pci) {
      const JobCounters& before = first;  // clang 14 takes no structured binding into a lambda
      const auto found = after_.pci.find(address);
      if (found == after_.pci.end()) continue;
      counts_aer_.insert(address);
      const JobCounters& after = found->second;
      const Increases moved = increases_of(before, after);
      const auto more = [&](std::string_view severity) { return count_in(moved.by, severity).value_or(0); };
      const auto names_of = [&](const std::vector<std::string>& severities) {
        std::vector<std::string> names;
        for (const std::string& severity : severities)
          if (!moved.began_again)
            for (std::string& name : pcie_names(before, after, severity)) names.push_back(std::move(name));
        return names;
      };
      if (const std::uint64_t hard = more("fatal") + more("nonfatal"); hard > 0) {
        const std::vector<std::string> names = names_of({"fatal", "nonfatal"});
        add_counted(JobStatus::kFailure, address, hard, "not corrected", names,
                    names.empty() ? told_trouble(address) : trouble_of_pcie_errors(names));
      }
      const std::uint64_t corrected = more("correctable");
      if (static_cast<double>(corrected) <= kCorrectedPcieErrorsASecond * seconds()) continue;
      const std::vector<std::string> names = names_of({"correctable"});
      add_counted(JobStatus::kWarning, address, corrected, "all corrected", names,
                  trouble_of_pcie_errors(names));
    }
  }

  void add_counted(JobStatus status, const std::string& address, std::uint64_t count, std::string_view how,
                   const std::vector<std::string>& names, PcieTrouble trouble) {
    std::string shown;
    for (const std::string& name : names) shown += (shown.empty() ? " (" : ", ") + clean_name(name);
    if (!shown.empty()) shown += ")";
    add_pcie(status, address, fmt::format("{} PCIe errors {}, {}{}", count, during(), how, shown), trouble);
  }

  void judge_driver() {
    if (before_.driver.empty() || before_.driver == after_.driver) return;
    add({JobStatus::kWarning, JobFault::kPeople, "driver", "",
         after_.driver.empty()
             ? std::string("NVIDIA's driver was unloaded during the job: somebody or a service, not the job")
             : fmt::format(
                   "NVIDIA's driver changed from {} to {} during the job: somebody or a service, not the job",
                   clean_name(before_.driver), clean_name(after_.driver)),
         ""});
  }

  void judge_gpu(int number, const std::string& address, const JobGpu& before, bool same_boot) {
    const std::string gpu = fmt::format("GPU {} ({})", number, address);
    const auto found = after_.gpus.find(address);
    if (found == after_.gpus.end())
      return add(
          {JobStatus::kFailure, JobFault::kUndecided, "gpu-gone", address,
           fmt::format(
               "{} is no longer on PCI: the GPU, its power, its seat or its slot, or somebody who removed it; not "
               "the job",
               gpu),
           std::string(advice(XidAction::kReboot))});
    const JobGpu& after = found->second;
    if (!before.unread.empty()) return;  // name_unread() names it
    if (!after.unread.empty())
      return add(
          {JobStatus::kFailure, JobFault::kNode, "gpu-silent", address,
           fmt::format(
               "{} answered before the job and does not after it ({}): the GPU or its driver, not the job",
               gpu, clean_name(after.unread)),
           "Look at it: railbed verify; read the kernel's log for Xid messages."});
    if (!before.uuid.empty() && !after.uuid.empty() && before.uuid != after.uuid)
      return add(
          {JobStatus::kWarning, JobFault::kPeople, "gpu-exchanged", address,
           fmt::format("another GPU is at {} than before the job: its counters cannot be compared", address),
           ""});
    judge_lifetime(gpu, address, before, after);
    judge_gpu_state(gpu, address, before, after);
    if (same_boot) judge_gpu_counters(gpu, address, before, after);
  }

  // Counters that survive a restart.
  void judge_lifetime(const std::string& gpu, const std::string& address, const JobGpu& before,
                      const JobGpu& after) {
    const auto more = [&](std::string_view name) -> std::uint64_t {
      const auto first = count_in(before.counters, name);
      const auto last = count_in(after.counters, name);
      return first && last && *last > *first ? *last - *first : 0;
    };
    if (const auto rows = more("rows_remapped_uncorrectable"); rows > 0)
      add({JobStatus::kFailure, JobFault::kHardware, "rows-remapped", address,
           fmt::format("{} remapped {} of its memory after uncorrectable errors: the GPU, not the job", gpu,
                       counted(rows, "row")),
           "Reset the GPU, so that the new rows are used; when it goes on, have it replaced."});
    if (const auto rows = more("rows_remapped_corrected"); rows > 0)
      add({JobStatus::kWarning, JobFault::kHardware, "rows-remapped", address,
           fmt::format("{} remapped {} of its memory after corrected errors: the GPU, not the job", gpu,
                       counted(rows, "row")),
           ""});
    if (const auto pages = more("pages_retired"); pages > 0)
      add({JobStatus::kFailure, JobFault::kHardware, "pages-retired", address,
           fmt::format("{} retired {} of its memory: the GPU, not the job", gpu, counted(pages, "page")),
           "Reset the GPU, so that the pages are no longer used."});
    // A restart or a reset hides the same errors from judge_gpu_counters().
    const auto counted_now = count_in(after.counters, "ecc_uncorrectable");
    if (const auto errors = more("ecc_lifetime");
        errors > 0 && (restarted(record_) || counted_now.value_or(0) < errors))
      add({JobStatus::kFailure, JobFault::kHardware, "ecc-uncorrectable", address,
           fmt::format("{} had {} by its own lifetime count: the GPU's memory, not the job", gpu,
                       counted(errors, "uncorrectable memory error")),
           std::string(advice(XidAction::kReset))});
  }

  void judge_gpu_state(const std::string& gpu, const std::string& address, const JobGpu& before,
                       const JobGpu& after) {
    if (before.remap_failed == false && after.remap_failed == true)
      add({JobStatus::kFailure, JobFault::kHardware, "remap-failed", address,
           fmt::format("{} could not remap a bad memory row: the GPU, not the job", gpu),
           std::string(advice(XidAction::kIsolate))});
    else if (before.remap_pending == false && after.remap_pending == true)
      add({JobStatus::kWarning, JobFault::kHardware, "remap-pending", address,
           fmt::format("{} has a bad memory row that is remapped at its next reset: the GPU, not the job",
                       gpu),
           "Reset the GPU before the next job."});
    if (before.recovery_action == "none" && !after.recovery_action.empty() && after.recovery_action != "none")
      add({JobStatus::kFailure, JobFault::kNode, "recovery", address,
           fmt::format("the driver asks for an action on {} since the job: {}; the log shows why", gpu,
                       clean_name(after.recovery_action)),
           ""});
    if (before.nvlinks && after.nvlinks && *after.nvlinks < *before.nvlinks)
      add({JobStatus::kFailure, JobFault::kUndecided, "nvlink-lost", address,
           fmt::format(
               "{} has {} of the {} NVLinks that it had: the link, a GPU or switch at its other end that was reset or "
               "lost, or Fabric Manager; not the job",
               gpu, *after.nvlinks, *before.nvlinks),
           std::string(advice(XidAction::kReset))});
    if (before.pcie_width && after.pcie_width && *after.pcie_width < *before.pcie_width)
      add({JobStatus::kFailure, JobFault::kHardware, "pcie-width", address,
           fmt::format("{} has {} PCIe lanes, of {} before the job: the card, its slot or riser, not the job",
                       gpu, *after.pcie_width, *before.pcie_width),
           "Reseat the card or its riser."});
    // A driver that starts anew takes the default limit back.
    const bool anew = restarted(record_) || before_.driver != after_.driver ||
                      increases_of(before.counters, after.counters).began_again;
    if (before.power_limit && after.power_limit && *before.power_limit != *after.power_limit)
      add({JobStatus::kWarning, anew ? JobFault::kUndecided : JobFault::kPeople, "power-limit", address,
           fmt::format("the power limit of {} changed from {:.0f} to {:.0f} W: {}, not the job", gpu,
                       *before.power_limit, *after.power_limit,
                       anew ? "its driver began anew, which forgets a limit that was set, or somebody set it"
                            : "somebody or a service with root's rights"),
           ""});
  }

  void judge_gpu_counters(const std::string& gpu, const std::string& address, const JobGpu& before,
                          const JobGpu& after) {
    Increases moved = increases_of(before.counters, after.counters);
    const Increases links = increases_of(before.nvlink, after.nvlink);
    const Increases held = increases_of(before.held_back, after.held_back);
    const bool began_again = moved.began_again || links.began_again || held.began_again;
    if (began_again)
      add({JobStatus::kWarning, JobFault::kUndecided, "counters-began-again", address,
           fmt::format(
               "the counters of {} began again during the job: its driver started anew, as it does without persistence "
               "mode when nobody uses the GPU, or somebody or a service reset it; what they held at that moment is not "
               "known",
               gpu),
           ""});
    const std::string least = began_again ? "at least " : "";
    const auto more = [&](std::string_view name) { return count_in(moved.by, name).value_or(0); };
    if (const auto errors = more("ecc_uncorrectable"); errors > 0)
      add({JobStatus::kFailure, JobFault::kHardware, "ecc-uncorrectable", address,
           fmt::format("{} had {}{} during the job: the GPU's memory, not the job", gpu, least,
                       counted(errors, "uncorrectable memory error")),
           std::string(advice(XidAction::kReset))});
    if (const auto errors = more("ecc_corrected"); errors > 0)
      add({JobStatus::kNote, JobFault::kHardware, "ecc-corrected", address,
           fmt::format("{} corrected {}{}: the GPU's memory; no result is wrong by them", gpu, least,
                       counted(errors, "memory error")),
           ""});
    const auto replays = more("pcie_replays");
    if (replays > pcie_replays_allowed(after.pcie_generation_max.value_or(1),
                                       after.pcie_width_max.value_or(1), seconds()))
      add({JobStatus::kWarning, JobFault::kHardware, "pcie-replays", address,
           fmt::format("PCI Express of {} repeated {}{} packets {}: the card, its slot or riser, not the job",
                       gpu, least, replays, during()),
           "Reseat the card or its riser; a cable or retimer between them may be bad."});
    for (const auto& [name, count] : links.by) {
      const double allowed = name == "crc" ? kNvlinkErrorsASecond * seconds() : 0;
      if (static_cast<double>(count) > allowed)
        add({JobStatus::kWarning, JobFault::kLink, "nvlink-errors", address,
             fmt::format(
                 "NVLinks of {} counted {}{} new errors ({}) {}: the link, here or at its other end, not the job",
                 gpu, least, count, clean_name(name), during()),
             "Reset all GPUs of the board; if they come back, have it looked at."});
    }
    judge_slowdowns(gpu, address, held, began_again);
  }

  void judge_slowdowns(const std::string& gpu, const std::string& address, const Increases& held,
                       bool began_again) {
    if (!seconds_ || *seconds_ <= 0) return;
    for (const GpuSlowdown& one : kGpuSlowdowns) {
      if (one.sound) continue;
      const auto time = count_in(held.by, one.word);
      if (!time) continue;
      const double share = std::min(static_cast<double>(*time) / 1e9 / *seconds_, 1.0);
      if (share < kSlowdownNamedFrom) continue;
      const bool heat = one.word.find("thermal") != std::string_view::npos;
      add({share >= kSlowdownFailsFrom ? JobStatus::kFailure : JobStatus::kWarning,
           heat ? JobFault::kHardware : JobFault::kNode, "held-back", address,
           fmt::format("{} was held back by {} for {}{:.2g} % of the job: {}, not the job", gpu, one.word,
                       began_again ? "at least " : "", share * 100, cause_of_slowdown(one.word)),
           std::string(remedy_of_slowdown(one.word))});
    }
  }

  // Returns "GPU 3 (0000:9b:00.0)" for an address that the job's looks know.
  std::string gpu_at(const std::string& address) const {
    int number = 0;
    for (const auto& [known, gpu] : before_.gpus) {
      if (known == address) return fmt::format("GPU {} ({})", number, address);
      ++number;
    }
    return "GPU " + clean_name(address);
  }

  static std::string how_often(const LogEvent& event) {
    return event.count <= 1 ? fmt::format("at {}", utc_text(event.last))
                            : fmt::format("{} times, last at {}", event.count, utc_text(event.last));
  }

  // Returns the error of a program that explains this Xid; null if none does.
  const LogEvent* program_error_before(const LogEvent& event) const {
    if (!xid_follows_program(event.code)) return nullptr;
    for (const LogEvent& other : log_->events)
      if (other.kind == LogKind::kXid && is_xid_of_program(other.code) && other.subject == event.subject &&
          xid_came_before(other, event.first) && xid_came_before(other, event.last))
        return &other;
    return nullptr;
  }

  // Returns an event before this one that ends programs without a fault of theirs: of this GPU, or of NVLink, whose errors end
  // programs on all GPUs of it; null if there is none.
  const LogEvent* fault_before(const LogEvent& event) const {
    for (const LogEvent& other : log_->events) {
      const bool xid = other.kind == LogKind::kXid;
      const bool link = other.kind == LogKind::kSxidFatal || other.kind == LogKind::kXidNvlinkFatal ||
                        (xid && (other.code == 74 || (other.code >= 144 && other.code <= 150)));
      const bool of_gpu = other.subject == event.subject &&
                          (other.kind == LogKind::kGpuLost || other.kind == LogKind::kAerFatal ||
                           (xid && is_gpu_failure(other.code, other.text)));
      if ((link || of_gpu) && other.first <= event.last + 1) return &other;
    }
    return nullptr;
  }

  bool had_bad_memory(const std::string& address) const {
    const auto before = before_.gpus.find(address);
    const auto after = after_.gpus.find(address);
    if (before == before_.gpus.end() || after == after_.gpus.end()) return false;
    const auto rose = [&](std::string_view name) {
      const auto first = count_in(before->second.counters, name);
      const auto last = count_in(after->second.counters, name);
      return first && last && *last > *first;
    };
    return rose("ecc_uncorrectable") || rose("ecc_lifetime") || rose("rows_remapped_uncorrectable");
  }

  void judge_xid(const LogEvent& event) {
    XidOrigin origin = event.kind == LogKind::kXid       ? origin_of_xid(event.code)
                       : event.kind == LogKind::kGpuLost ? XidOrigin::kNode
                                                         : XidOrigin::kHardware;
    const XidAction action = xid_action_of(event).value_or(XidAction::kApplication);
    if (event.kind == LogKind::kXid && event.code == 154)  // names the action for an error before it
      origin = action == XidAction::kInformation ? XidOrigin::kNobody : XidOrigin::kNode;
    const LogEvent* cause = program_error_before(event);
    const LogEvent* fault = cause == nullptr && origin == XidOrigin::kProgram ? fault_before(event) : nullptr;
    JobChange change;
    change.what = event.kind == LogKind::kXid ? fmt::format("xid-{}", event.code) : "gpu-lost";
    change.thing = event.subject;
    change.remedy = std::string(advice(cause != nullptr ? XidAction::kApplication : action));
    const bool mild = action == XidAction::kApplication || action == XidAction::kInformation;
    change.status = mild ? JobStatus::kWarning : JobStatus::kFailure;
    std::string whose;
    switch (origin) {
      case XidOrigin::kProgram:
        change.fault = JobFault::kProgram;
        whose = fmt::format("{}, unless several programs or only this GPU show it", programs());
        if (fault != nullptr) {
          change.fault = JobFault::kUndecided;
          whose = fmt::format("it may follow from what the log has of {} before it, which no program causes",
                              gpu_at(fault->subject));
        } else if (had_bad_memory(event.subject)) {
          change.fault = JobFault::kUndecided;
          whose = "it may follow from the uncorrectable memory error of this GPU";
        }
        break;
      case XidOrigin::kHardware:
        change.fault = JobFault::kHardware;
        whose = "the hardware, not the job";
        // Corrected or contained: the job may have ended by it, and the fault is not the job's.
        change.status = mild && action == XidAction::kInformation ? JobStatus::kWarning : JobStatus::kFailure;
        break;
      case XidOrigin::kNode:
        change.fault = JobFault::kNode;
        whose = "the GPU, its power or PCIe link, its firmware or its driver, not the job";
        break;
      case XidOrigin::kEither:
        change.fault = JobFault::kUndecided;
        whose = fmt::format("{}, or the GPU: the number alone does not show which", programs());
        break;
      case XidOrigin::kNobody:
        change.fault = JobFault::kNobody;
        change.status = JobStatus::kNote;
        whose = "no fault of its own";
        break;
    }
    if (cause != nullptr) {
      change.fault = JobFault::kProgram;
      change.status = JobStatus::kWarning;
      whose = fmt::format("it followed from Xid {} of {}", cause->code, programs());
    }
    change.message =
        fmt::format("{}: {} ({}): {}", gpu_at(event.subject), xid_meaning_of(event), how_often(event), whose);
    add(std::move(change));
  }

  void judge_log() {
    if (!log_) {
      if (log_.absent()) return;
      return add(
          {JobStatus::kUnknown, JobFault::kNobody, "log", "",
           "the kernel's log could not be read: Xids and what else it holds of the job's time are not known",
           "Let railbed run as root."});
    }
    if (log_->beginning_lost || log_->dropped > 0 || log_->part)
      add({JobStatus::kUnknown, JobFault::kNobody, "log", "",
           fmt::format(
               "the kernel's log does not hold the whole time of the job ({}): an Xid may be missing here",
               log_->beginning_lost ? "its oldest lines are overwritten" : "it is too long, or a part"),
           ""});
    for (const LogEvent& event : log_->events) {
      if (event.kind == LogKind::kXid || event.kind == LogKind::kXidNvlinkFatal ||
          event.kind == LogKind::kGpuLost) {
        judge_xid(event);
        continue;
      }
      const bool fatal = event.kind == LogKind::kAerFatal;
      if ((fatal || event.kind == LogKind::kAerNonFatal) && !counts_aer_.contains(event.subject)) {
        add_pcie(JobStatus::kFailure, event.subject,
                 fmt::format("{} PCIe errors ({})", fatal ? "fatal" : "uncorrected", how_often(event)),
                 trouble_of_pcie_line(event.text));
        continue;
      }
      const auto watch = std::ranges::find(kJobLogWatches, event.kind, &JobLogWatch::kind);
      if (watch == std::end(kJobLogWatches)) continue;
      const std::string subject = event.subject.empty() ? "a device" : clean_name(event.subject);
      std::string message(watch->says);
      if (const auto hole = message.find("{}"); hole != std::string::npos) message.replace(hole, 2, subject);
      const auto colon = message.find(": ");
      const std::string often = fmt::format(" ({})", how_often(event));
      message.insert(colon == std::string::npos ? message.size() : colon, often);
      add({watch->status, watch->fault,
           std::string(enum_names(event.kind).at(static_cast<std::size_t>(event.kind))),
           clean_name(event.subject), std::move(message), ""});
    }
  }

  // Names what could not be compared because a look could not read it.
  void name_unread() {
    std::set<std::string> named;
    for (const JobLook* look : {&before_, &after_}) {
      const std::string_view when = look == &before_ ? "before" : "after";
      for (const std::string& what : look->unread)
        if (named.insert(what).second)
          add({JobStatus::kUnknown, JobFault::kNobody, "unread", "",
               fmt::format("not read {} the job: {}", when, clean_name(what)), ""});
      for (const auto& [address, gpu] : look->gpus) {
        const bool told =
            look == &after_ && before_.gpus.contains(address) && before_.gpus.at(address).unread.empty();
        if (!gpu.unread.empty() && !told && named.insert(address).second)
          add({JobStatus::kUnknown, JobFault::kNobody, "unread", address,
               fmt::format("{} could not be read {} the job ({}): what it counted is not known",
                           gpu_at(address), when, clean_name(gpu.unread)),
               ""});
      }
    }
  }

  const JobRecord& record_;
  const JobLook& before_;
  const JobLook& after_;
  const Reading<KernelLog>& log_;
  const std::optional<double> seconds_;
  std::vector<JobChange> changes_;
  std::set<std::string, std::less<>> lost_;  // RDMA devices whose port counted a lost link
  std::set<std::string, std::less<>> counts_aer_;
};

}  // namespace

std::vector<JobChange> judge_job(const JobRecord& record, const Reading<KernelLog>& log) {
  if (!record.begin || !record.end) return {};
  return JobJudge(record, log).judge();
}

}  // namespace railbed
