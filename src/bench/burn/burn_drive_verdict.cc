// The verdict on local drives (`burn --drives`).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "base/wording.h"
#include "bench/burn/burn_verdict.h"
#include "hardware/nvme_warning.h"

namespace railbed {
namespace {

// Our own values.
constexpr std::uint64_t kReadEnough = std::uint64_t{64} << 20;  // to say whether reads reach the drive
constexpr double kReached = 0.5;

// Adds the findings about one drive.
class DriveJudge : private NodeFindings {
 public:
  DriveJudge(const BurnNode& node, const BurnDrive& drive, std::vector<BurnFinding>& findings)
      : NodeFindings(node, findings), node_(node), drive_(drive) {}

  void judge() {
    if (!drive_.skipped.empty())
      return add(drive_.named ? BurnStatus::kUnknown : BurnStatus::kNote, "drive-skipped",
                 fmt::format("{} was not tested: {}", where(), drive_.skipped));
    judge_data();
    judge_end();
    if (!drive_.began) return;
    judge_coverage();
    for (const BurnDevice& device : drive_.devices) judge_device(device);
  }

 private:
  std::string where() const { return drive_text(node_, drive_); }

  void judge_data() {
    if (drive_.fault_count == 0) return;
    const bool all = drive_.faults.size() == drive_.fault_count;
    const auto gave = [&](std::string_view again) {
      return all && std::ranges::all_of(drive_.faults,
                                        [&](const BurnDriveFault& fault) { return fault.again == again; });
    };
    std::string message =
        fmt::format("{} gave wrong data in {}", where(), counted(drive_.fault_count, "read block"));
    if (!drive_.faults.empty()) {
      const BurnDriveFault& first = drive_.faults.front();
      message += fmt::format(
          "; first after {}: {} that {} (offset {}, bits {}), {}", short_time_text(first.at),
          counted(first.elements, "word"),
          first.of == "kept" ? "had been read right before" : "had not been read right since it was written",
          first.first, first.bits, again_text(first));
    }
    add(BurnStatus::kFailure, "wrong-drive-data", std::move(message),
        gave("same")
            ? "Take this drive out of service: it kept or was given wrong data without an error message."
        : gave("right")
            ? "Look for what changes data on its way: the host's memory (burn --host), the cable, the "
              "controller. Do not trust this node's files meanwhile."
            : "Take this drive out of service, and test the host's memory: burn --host.",
        all && std::ranges::all_of(drive_.faults, &BurnDriveFault::injected));
  }

  static std::string again_text(const BurnDriveFault& fault) {
    const std::string old = fault.stale ? ", which is what was written there before: a write was lost" : "";
    if (fault.again == "same") return "and the same when read again" + old;
    if (fault.again == "right") return "but right when read again" + old;
    if (fault.again == "failed") return "and a second read failed" + old;
    return "and different when read again" + old;
  }

  void judge_end() {
    if (drive_.trouble.empty()) return;
    if (drive_.began)
      add(BurnStatus::kFailure, "drive-ended",
          fmt::format("the load on {} ended after {}: {}", where(), short_time_text(drive_.seconds),
                      drive_.trouble),
          "Read the kernel's log of that moment: journalctl -k");
    else
      add(BurnStatus::kUnknown, "not-begun",
          fmt::format("{} could not be burned in: {}", where(), drive_.trouble));
  }

  void judge_coverage() {
    if (drive_.failed_reads > 0)
      add(BurnStatus::kFailure, "drive-io-errors",
          fmt::format("{} of {} failed, first with {}", counted(drive_.failed_reads, "read"), where(),
                      drive_.failed_read),
          "Replace it, or its cable and backplane.");
    if (drive_.gave_back)
      add(BurnStatus::kNote, "drive-full",
          fmt::format("the file system of {} became full: its file was given up, and not tested to the end",
                      where()));
    else if (drive_.full)
      add(BurnStatus::kNote, "drive-full",
          fmt::format("the file system of {} became full: only {} were tested", where(),
                      to_text(ByteCount{drive_.held})));
    if (drive_.compared == 0 && drive_.ended)
      add(BurnStatus::kUnknown, "not-run", fmt::format("nothing was read of {}", where()));
    // btrfs may read of drives that its mount does not name.
    if (drive_.reached && drive_.system != "btrfs" && drive_.read >= kReadEnough &&
        static_cast<double>(*drive_.reached) < kReached * static_cast<double>(drive_.read))
      add(BurnStatus::kUnknown, "drive-cached",
          fmt::format(
              "of {} read of {} only {} came from the drive, by the kernel's count: a cache gave the rest",
              to_text(ByteCount{drive_.read}), where(), to_text(ByteCount{*drive_.reached})));
  }

  void judge_device(const BurnDevice& device) {
    const std::string name = fmt::format("{} of {}", device.name, node_.node);
    count(device.media_errors, name, BurnStatus::kFailure, "drive-media-errors", "media errors",
          "Replace it.");
    if (const int came = device.warning & ~device.warned_before & ~kNvmeTooHot; came != 0)
      add(BurnStatus::kFailure, "drive-warns",
          fmt::format("{} warns since the burn: {}", name, nvme_warning_text(came)), "Replace it.");
    judge_heat(device, name);
    count(device.unsafe_shutdowns, name, BurnStatus::kFailure, "drive-power-lost", "times its power was lost",
          "Look at its slot, its backplane and their power.");
    if (device.log_errors > 0)
      add(BurnStatus::kFailure, "drive-io-errors",
          fmt::format("{}: {} in the kernel's log during the burn, such as \"{}\"", name,
                      counted(device.log_errors, "error"), device.log_error),
          "Replace it, or its cable and backplane.");
    if (!device.link.empty())
      add(BurnStatus::kWarning, "drive-link",
          fmt::format("the PCIe link of {} fell from {} to {}", name, device.link_before, device.link),
          "Reseat the drive, then its cable or backplane.");
    count(device.pcie_uncorrected, name, BurnStatus::kWarning, "drive-pcie-errors",
          "uncorrected errors on PCI Express", "Reseat the drive, then its cable or backplane.");
    count(device.pcie_corrected, name, BurnStatus::kNote, "drive-pcie-errors",
          "corrected errors on PCI Express", "");
    count(device.log_entries, name, BurnStatus::kNote, "drive-log", "new entries in its error log",
          fmt::format("Read them: nvme error-log /dev/{}", device.name));
  }

  void judge_heat(const BurnDevice& device, const std::string& name) {
    const std::uint64_t slowed = device.throttled.value_or(0);
    const bool warned = (device.warning & kNvmeTooHot) != 0 || device.hot_minutes.value_or(0) > 0;
    if (slowed == 0 && !warned) return;
    std::string message = fmt::format("{} was too hot", name);
    if (device.temperature > 0) message += fmt::format(", {} °C at most that was seen", device.temperature);
    if (slowed > 0)
      message += fmt::format(": it slowed itself down for {}", short_time_text(static_cast<double>(slowed)));
    add(BurnStatus::kWarning, "drive-hot", std::move(message),
        "Look at its fans, its heat sink and the air that reaches its bay.");
  }

  const BurnNode& node_;
  const BurnDrive& drive_;
};

struct DriveRate {
  const BurnNode* node;
  const BurnDrive* drive;
};

void name_slow(const DriveRate& one, double share, std::size_t members, std::vector<BurnFinding>& findings) {
  const bool hot = std::ranges::any_of(
      one.drive->devices, [](const BurnDevice& device) { return device.throttled.value_or(0) > 0; });
  NodeFindings(*one.node, findings)
      .add(share >= kSlowFailsFrom ? BurnStatus::kFailure : BurnStatus::kWarning, "drive-slow",
           fmt::format("{} reads {:.3g} % slower than {}{}", drive_text(*one.node, *one.drive), share * 100,
                       siblings_text(members), hot ? ", and it slowed itself down by heat" : ""),
           "Compare its PCIe link, firmware and wear with a sound drive's: nvme smart-log");
}

// Adds that nothing is known of a node's drives: it was asked for, and none was tested.
void judge_none(const BurnNode& node, std::vector<BurnFinding>& findings) {
  NodeFindings(node, findings)
      .add(BurnStatus::kUnknown, "drive-skipped",
           fmt::format(
               "no drive of {} was tested: {}", node.node,
               node.drives.empty() ? "it has no local drive that can be written" : "none can be used"));
}

}  // namespace

std::string drive_text(const BurnNode& node, const BurnDrive& drive) {
  std::string names;
  for (const BurnDevice& device : drive.devices) names += (names.empty() ? "" : ", ") + device.name;
  return fmt::format("{} of {} ({})", names.empty() ? "a drive" : names, node.node, drive.folder);
}

bool is_compared_with_siblings(const BurnDrive& drive) {
  return drive.rate > 0 && !drive.rotational && !drive.family.empty();
}

void judge_burn_drives(BurnReport& report, int tests) {
  report.drive_families.clear();
  std::map<std::string, std::vector<DriveRate>> families;
  for (const BurnNode& node : report.nodes) {
    for (const BurnDrive& drive : node.drives) {
      DriveJudge(node, drive, report.findings).judge();
      if (is_compared_with_siblings(drive)) families[drive.family].push_back({&node, &drive});
    }
    if (report.drives && !node.lost && node.trouble.empty() &&
        std::ranges::all_of(node.drives,
                            [](const BurnDrive& drive) { return !drive.skipped.empty() && !drive.named; }))
      judge_none(node, report.findings);
  }
  for (const auto& [name, members] : families) {
    std::vector<double> rates;
    for (const DriveRate& one : members) rates.push_back(one.drive->rate);
    const Siblings siblings = compare_siblings(rates, tests);
    for (const auto& [i, share] : siblings.slow)
      name_slow(members[i], share, members.size(), report.findings);
    report.drive_families.push_back({name, static_cast<int>(members.size()), siblings.median, siblings.low,
                                     siblings.high, siblings.spread, siblings.smallest});
  }
}

}  // namespace railbed
