// The work on drives, run in this process, and the verdict on it. The file has no name: a test that corrupts it finds it
// among this process's open files.
#include "bench/burn/burn_drive.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "base/json.h"
#include "base/testing/temporary_folder.h"
#include "base/text.h"
#include "bench/burn/burn_drive_watch.h"
#include "bench/burn/burn_verdict.h"
#include "bench/core/clock.h"
#include "bench/storage/scratch.h"
#include "host/host.h"
#include "host/open.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kDriveMib = 1 << 20;

BurnPlan drive_plan(double seconds) {
  BurnPlan plan;
  plan.load = BurnLoad::kDrives;
  plan.seconds = seconds;
  plan.phases = default_burn_phases();
  plan.drives.emplace();
  return plan;
}

class BurnOfADrive : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto file = make_nameless_file(folder_.path()); !file)
      GTEST_SKIP() << "no direct reads in " << folder_.path() << ": " << file.error().text;
    place_.folder = folder_.path();
    place_.bytes = 64 * kDriveMib;
    place_.most_written = 129 * kDriveMib;
  }

  BurnDrive burned(const BurnPlan& plan) {
    BurnDrive last;
    const Tell tell{[](std::string_view) {},
                    [&](std::string_view line) {
                      auto read = json::read<BurnDrive>(line);
                      ASSERT_TRUE(read) << line;
                      last = std::move(*read);
                    }};
    const auto host = open_this_machine();
    run_burn_drive(plan, place_, *host, now_ns(), tell);
    return last;
  }

  // Returns the open file without a name that is in the folder, once its first 8 MiB are written; -1 if none comes.
  int file() const {
    for (const auto started = now_ns(); now_ns() - started < 60'000'000'000U;) {
      for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const std::string target = std::filesystem::read_symlink(entry.path(), gone);
        struct stat about = {};
        if (!target.starts_with(folder_.path().string() + "/") || stat(entry.path().c_str(), &about) != 0 ||
            static_cast<std::uint64_t>(about.st_size) < 8 * kDriveMib)
          continue;
        return open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return -1;
  }

  TemporaryFolder folder_;
  BurnDrive place_;
};

TEST_F(BurnOfADrive, ReadsAndComparesAndLeavesNothing) {
  bool has_names = false;
  std::jthread looking([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      has_names = has_names || !std::filesystem::is_empty(folder_.path());
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  const BurnDrive drive = burned(drive_plan(4));
  looking.request_stop();
  looking.join();
  EXPECT_TRUE(drive.began);
  EXPECT_TRUE(drive.ended);
  EXPECT_EQ(drive.trouble, "");
  EXPECT_EQ(drive.skipped, "");
  EXPECT_GT(drive.held, 0u);
  EXPECT_LE(drive.held, place_.bytes);
  EXPECT_GT(drive.written, 0u);
  EXPECT_LE(drive.written, place_.most_written);
  EXPECT_EQ(drive.compared, drive.read / 8);
  EXPECT_GT(drive.compared, 0u);
  EXPECT_GT(drive.rate, 0);
  EXPECT_EQ(drive.fault_count, 0u);
  EXPECT_EQ(drive.failed_reads, 0u);
  EXPECT_FALSE(has_names);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

// Others change a word of the file underneath. It is seen each time that it is read, and not mended.
TEST_F(BurnOfADrive, SeesAWordThatChanged) {
  place_.most_written = place_.bytes;  // one pass: nothing writes over it
  constexpr off_t kAt = 5 * 256 * 1024 + 4096;
  std::jthread changing([&] {
    const int fd = file();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    std::uint64_t word = 0;
    EXPECT_EQ(pread(fd, &word, sizeof word, kAt), 8);
    word ^= 0x8001;
    EXPECT_EQ(pwrite(fd, &word, sizeof word, kAt), 8);
    fsync(fd);
    close(fd);
  });
  const BurnDrive drive = burned(drive_plan(8));
  ASSERT_GT(drive.fault_count, 0u);
  const BurnDriveFault& first = drive.faults.front();
  EXPECT_EQ(first.elements, 1u);
  EXPECT_EQ(first.first, static_cast<std::uint64_t>(kAt));
  EXPECT_EQ(first.bits, "0000000000008001");
  EXPECT_EQ(first.again, "same");
  EXPECT_FALSE(first.stale);
  EXPECT_FALSE(first.injected);
}

TEST_F(BurnOfADrive, ADrillIsSeenOnceAndStaysWithinTheLimit) {
  BurnPlan plan = drive_plan(5);
  plan.drills = {{BurnInjection::kWrongDrive, 0, 3}, {BurnInjection::kWrongDrive, 1, 0}};
  const BurnDrive drive = burned(plan);
  EXPECT_EQ(drive.fault_count, 1u);
  ASSERT_THAT(drive.faults, SizeIs(1));
  EXPECT_TRUE(drive.faults.front().injected);
  EXPECT_EQ(drive.faults.front().bits, "0000000000000400");
  EXPECT_EQ(drive.faults.front().again, "same");
  EXPECT_GE(drive.faults.front().at, 3);
  EXPECT_LE(drive.written, place_.most_written);
}

TEST_F(BurnOfADrive, AFolderThatIsGoneIsNoSoundDrive) {
  place_.folder = folder_.path() / "gone";
  const BurnDrive drive = burned(drive_plan(1));
  EXPECT_FALSE(drive.began);
  EXPECT_FALSE(drive.ended);
  EXPECT_THAT(drive.skipped, HasSubstr("No such file"));
}

// ---- which drives

BurnDrive named_folder(const std::string& path) {
  const auto host = open_this_machine();
  const std::vector<BurnDrive> drives = find_burn_drives(*host, {.paths = {path}, .writes = 0});
  EXPECT_THAT(drives, SizeIs(1));
  return drives.empty() ? BurnDrive{} : drives.front();
}

TEST(DrivesOfABurn, WhatIsNoFolderOnADriveIsRefused) {
  const TemporaryFolder folder;
  EXPECT_THAT(named_folder(folder.path() / "missing").skipped, HasSubstr("No such file"));
  EXPECT_THAT(named_folder("/proc").skipped, HasSubstr("no local drive is known below proc"));
  EXPECT_TRUE(named_folder("/proc").named);
}

TEST(DrivesOfABurn, WritesAreModest) {
  constexpr std::uint64_t kGib = 1 << 30;
  EXPECT_EQ(default_drive_writes(kGib), 256 * kDriveMib);
  EXPECT_EQ(default_drive_writes(100 * kGib), kGib);
  EXPECT_EQ(default_drive_writes(100 * 1024 * kGib), 64 * kGib);
}

// A machine in memory that a test changes while it is read.
class ChangingHost : public Host {
 public:
  std::map<std::string, std::string, std::less<>> files, links, calls;

  Reading<std::string> read(std::string_view path, std::size_t) override { return find(files, path); }
  Reading<std::vector<std::string>> list(std::string_view path) override {
    const auto names = find(files, path);
    if (!names) return {names.miss(), names.from()};
    std::vector<std::string> all;
    for (const auto name : words(*names)) all.emplace_back(name);
    return {all, std::string(path)};
  }
  Reading<std::string> resolve(std::string_view path) override {
    return links.contains(path) ? find(links, path) : Reading<std::string>(std::string(path), "");
  }
  Reading<CommandOutput> run(const std::vector<std::string>&, std::chrono::milliseconds) override {
    return {Miss{Missing::kAbsent, "no programs"}, ""};
  }
  Reading<std::string> call(std::string_view name) override { return find(calls, name); }

 private:
  static Reading<std::string> find(const std::map<std::string, std::string, std::less<>>& in,
                                   std::string_view key) {
    const auto found = in.find(key);
    if (found == in.end()) return {Miss{Missing::kAbsent, "not there"}, std::string(key)};
    return {found->second, std::string(key)};
  }
};

TEST(DrivesOfABurn, OnlyLocalOnes) {
  ChangingHost host;
  const auto why = [&](Mount mount) { return why_not_local(host, mount); };
  EXPECT_EQ(why({"/", "ext4", "/dev/nvme0n1p2", {"nvme0n1"}}), "");
  EXPECT_THAT(why({"/tmp", "tmpfs", "tmpfs", {}}), HasSubstr("memory"));
  EXPECT_THAT(why({"/", "overlay", "overlay", {}}), HasSubstr("no local drive is known below overlay"));
  EXPECT_THAT(why({"/home", "nfs4", "fs:/home", {}, {"10.0.0.1"}}), HasSubstr("another machine"));
  EXPECT_THAT(why({"/data", "xfs", "/dev/nvme9n1", {"nvme9n1"}, {"10.0.0.1"}}), HasSubstr("another machine"));
  EXPECT_THAT(why({"/data", "xfs", "/dev/rbd0", {"rbd0"}}), HasSubstr("rbd0 is on another machine"));
  host.links["/sys/block/sdb"] = "/sys/devices/platform/host3/session1/target3:0:0/3:0:0:1/block/sdb";
  EXPECT_THAT(why({"/data", "xfs", "/dev/sdb1", {"sdb"}}), HasSubstr("sdb is on another machine"));
  host.links["/sys/block/sdc"] =
      "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sdc";
  EXPECT_EQ(why({"/data", "xfs", "/dev/sdc1", {"sdc"}}), "");
}

NvmeAnswer drive_health() {
  NvmeAnswer answer;
  answer.name = "nvme0";
  answer.spare_percent = 100;
  answer.used_percent = 3;
  answer.media_errors = 5;
  answer.log_entries = 40;
  answer.celsius = 41;
  return answer;
}

TEST(WatchOfADrive, CountsWhatCame) {
  ChangingHost host;
  const std::string pci = "/sys/bus/pci/devices/0000:41:00.0/";
  host.links["/sys/block/nvme0n1/device"] = "/sys/devices/pci0000:40/0000:41:00.0/nvme/nvme0";
  host.links["/sys/class/nvme/nvme0"] = "/sys/devices/pci0000:40/0000:41:00.0/nvme/nvme0";
  host.files["/sys/block/nvme0n1/stat"] = "  100 0 2000 4 5 6 7 8";
  host.files[pci + "current_link_speed"] = "16.0 GT/s PCIe";
  host.files[pci + "current_link_width"] = "4";
  for (const std::string severity : {"correctable", "nonfatal", "fatal"})
    host.files[pci + "aer_dev_" + severity] = "RxErr 2\nTOTAL_ERR_X 2\n";
  const auto answer = [&](const NvmeAnswer& page) {
    host.calls["nvme nvme0"] = json::dump(json::encode(std::vector{page}));
  };
  answer(drive_health());
  DriveWatch watch(host, {{.name = "nvme0n1"}});
  watch.look(true);
  BurnDevice device = watch.devices().front();
  EXPECT_EQ(device.address, "0000:41:00.0");
  EXPECT_EQ(device.no_health, "");
  EXPECT_EQ(device.media_errors, 0u);
  EXPECT_EQ(device.pcie_uncorrected, 0u);
  EXPECT_EQ(device.link, "");
  EXPECT_NE(device.no_log, "");
  EXPECT_EQ(watch.reached(), 0u);

  NvmeAnswer page = drive_health();
  page.media_errors = 7;
  page.critical_warning = 2;
  page.celsius = 83;
  page.throttled_seconds = 12;
  answer(page);
  host.files["/sys/block/nvme0n1/stat"] = "  100 0 4000 4 5 6 7 8";
  host.files[pci + "current_link_width"] = "2";
  host.files[pci + "aer_dev_fatal"] = "TOTAL_ERR_FATAL 3\n";
  watch.look(true);
  page.celsius = 60;
  page.critical_warning = 0;
  answer(page);
  host.files[pci + "current_link_width"] = "4";
  watch.look(false);
  device = watch.devices().front();
  EXPECT_EQ(device.media_errors, 2u);
  EXPECT_EQ(device.temperature, 83);
  EXPECT_EQ(device.warning, 2);  // although it is over
  EXPECT_EQ(device.throttled, 12u);
  EXPECT_EQ(device.pcie_corrected, 0u);
  EXPECT_EQ(device.pcie_uncorrected, 1u);
  EXPECT_NE(device.link, "");
  EXPECT_NE(device.link, device.link_before);
  EXPECT_EQ(watch.reached(), 2000u * 512);
}

TEST(WatchOfADrive, WhatCannotBeReadIsNotSound) {
  ChangingHost host;
  NvmeAnswer page;
  page.name = "nvme0";
  page.error = "Permission denied";
  host.links["/sys/block/nvme0n1/device"] = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0";
  host.files["/sys/devices/virtual/nvme-subsystem/nvme-subsys0"] = "nvme0 nvme0n1 model";
  host.calls["nvme nvme0"] = json::dump(json::encode(std::vector{page}));
  DriveWatch watch(host, {{.name = "nvme0n1"}, {.name = "sda"}});
  watch.look(false);
  const auto devices = watch.devices();
  EXPECT_EQ(devices[0].no_health, "Permission denied");
  EXPECT_FALSE(devices[0].media_errors);
  EXPECT_EQ(devices[1].no_health, "it is no NVMe drive");
  EXPECT_FALSE(watch.reached());
}

// ---- the verdict

BurnDrive sound_drive(double rate = 6e9) {
  BurnDrive drive;
  drive.folder = "/scratch";
  drive.family = "SAMSUNG MZQL23T8HCLS-00A07, ext4";
  drive.began = drive.ended = true;
  drive.held = drive.bytes = std::uint64_t{1} << 30;
  drive.read = drive.bytes * 4;
  drive.reached = drive.read;
  drive.compared = drive.read / 8;
  drive.rate = rate;
  drive.devices = {{.name = "nvme0n1", .media_errors = 0}};
  return drive;
}

BurnReport drives_report(const std::vector<BurnDrive>& drives) {
  BurnReport report;
  report.planned = report.seconds = 3600;
  report.drives = true;
  for (std::size_t i = 0; i < drives.size(); ++i)
    report.nodes.push_back({.node = "gpu" + std::to_string(i), .drives = {drives[i]}});
  judge_burn(report);
  return report;
}

BurnFinding only_finding(const BurnDrive& drive) {
  const BurnReport report = drives_report({drive});
  EXPECT_THAT(report.findings, SizeIs(1));
  return report.findings.empty() ? BurnFinding{} : report.findings.front();
}

TEST(VerdictOnDrives, SoundOnesBringNothing) {
  const BurnReport report = drives_report({sound_drive(), sound_drive(6.1e9), sound_drive(5.9e9)});
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.drive_families, SizeIs(1));
  EXPECT_EQ(burn_exit_code(report), 0);
}

TEST(VerdictOnDrives, WrongDataSaysWhereItWentWrong) {
  BurnDrive drive = sound_drive();
  drive.fault_count = 1;
  drive.faults = {{.at = 90, .elements = 2, .first = 8192, .bits = "80", .of = "kept", .again = "same"}};
  BurnFinding finding = only_finding(drive);
  EXPECT_EQ(finding.what, "wrong-drive-data");
  EXPECT_EQ(finding.status, BurnStatus::kFailure);
  EXPECT_THAT(finding.message, HasSubstr("nvme0n1 of gpu0 (/scratch) gave wrong data in 1 read block"));
  EXPECT_THAT(finding.message, HasSubstr("2 words that had been read right before (offset 8192, bits 80)"));
  EXPECT_THAT(finding.message, HasSubstr("the same when read again"));
  EXPECT_THAT(finding.remedy, HasSubstr("Take this drive out of service"));
  EXPECT_FALSE(finding.injected);

  drive.faults.front().again = "right";
  finding = only_finding(drive);
  EXPECT_THAT(finding.message, HasSubstr("but right when read again"));
  EXPECT_THAT(finding.remedy, HasSubstr("on its way"));

  drive.faults.front() = {.elements = 32768, .of = "written", .again = "same", .stale = true};
  EXPECT_THAT(only_finding(drive).message, HasSubstr("a write was lost"));

  // A fault that is not described may be a drill's, and its second read may have been right.
  drive.faults.front().again = "right";
  drive.faults.front().injected = true;
  drive.fault_count = 9;
  finding = only_finding(drive);
  EXPECT_FALSE(finding.injected);
  EXPECT_THAT(finding.remedy, HasSubstr("and test the host's memory"));
}

TEST(VerdictOnDrives, NamesWhatTheDriveAndTheKernelCounted) {
  const auto changed = [](const std::function<void(BurnDrive&)>& change) {
    BurnDrive drive = sound_drive();
    change(drive);
    return only_finding(drive).what;
  };
  EXPECT_EQ(changed([](BurnDrive& drive) { drive.devices[0].media_errors = 1; }), "drive-media-errors");
  EXPECT_EQ(changed([](BurnDrive& drive) { drive.devices[0].warning = 4; }), "drive-warns");
  EXPECT_EQ(changed([](BurnDrive& drive) { drive.devices[0].warning = 2; }), "drive-hot");
  EXPECT_EQ(changed([](BurnDrive& drive) { drive.devices[0].throttled = 12; }), "drive-hot");
  EXPECT_EQ(changed([](BurnDrive& drive) { drive.devices[0].unsafe_shutdowns = 1; }), "drive-power-lost");
  EXPECT_EQ(changed([](BurnDrive& drive) { drive.devices[0].log_errors = 1; }), "drive-io-errors");
  EXPECT_EQ(changed([](BurnDrive& drive) { drive.devices[0].link = "Gen4 x2"; }), "drive-link");
  EXPECT_EQ(changed([](BurnDrive& drive) { drive.devices[0].pcie_uncorrected = 1; }), "drive-pcie-errors");
  EXPECT_EQ(changed([](BurnDrive& drive) { drive.failed_reads = 1; }), "drive-io-errors");
  EXPECT_EQ(changed([](BurnDrive& drive) { drive.full = true; }), "drive-full");
  EXPECT_EQ(changed([](BurnDrive& drive) { drive.gave_back = true; }), "drive-full");
  // A warning that was there before is a matter of `verify`.
  BurnDrive old = sound_drive();
  old.devices[0].warning = old.devices[0].warned_before = 4;
  EXPECT_THAT(drives_report({old}).findings, IsEmpty());
}

TEST(VerdictOnDrives, WhatWasNotTestedIsNotSound) {
  BurnDrive drive = sound_drive();
  drive.reached = drive.read / 10;
  EXPECT_EQ(only_finding(drive).what, "drive-cached");
  EXPECT_EQ(burn_exit_code(drives_report({drive})), 3);
  drive.system = "btrfs";
  EXPECT_THAT(drives_report({drive}).findings, IsEmpty());

  drive = sound_drive();
  drive.compared = 0;
  EXPECT_EQ(only_finding(drive).what, "not-run");

  drive = sound_drive();
  drive.ended = false;
  drive.trouble = "hangs: no read was answered for 60 s";
  EXPECT_EQ(only_finding(drive).what, "drive-ended");
  EXPECT_EQ(only_finding(drive).status, BurnStatus::kFailure);

  BurnDrive skipped;
  skipped.folder = "/scratch";
  skipped.skipped = "it is in memory, on no drive";
  skipped.named = true;
  EXPECT_EQ(only_finding(skipped).status, BurnStatus::kUnknown);
  EXPECT_EQ(burn_exit_code(drives_report({skipped, sound_drive()})), 3);

  // One of several that nobody named is a note; a node without any other is unknown.
  skipped.named = false;
  BurnReport report = drives_report({sound_drive()});
  report.nodes.front().drives.push_back(skipped);
  judge_burn(report);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings.front().status, BurnStatus::kNote);
  EXPECT_EQ(burn_exit_code(report), 0);
  EXPECT_EQ(burn_exit_code(drives_report({skipped, sound_drive()})), 3);
}

TEST(VerdictOnDrives, ASlowDriveIsNamedAmongItsKindAlone) {
  std::vector<BurnDrive> drives(8, sound_drive());
  for (std::size_t i = 0; i < drives.size(); ++i) drives[i].rate *= 1 + 0.001 * static_cast<double>(i);
  drives[5].rate *= 0.7;
  BurnDrive other = sound_drive(5e8);
  other.family = "INTEL SSDSC2KB96, ext4";
  drives.push_back(other);
  BurnDrive rotating = sound_drive(1e7);
  rotating.rotational = true;
  drives.push_back(rotating);
  BurnDrive unnamed = sound_drive(1e7);
  unnamed.family.clear();
  drives.push_back(unnamed);
  const BurnReport report = drives_report(drives);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings.front().node, "gpu5");
  EXPECT_EQ(report.findings.front().what, "drive-slow");
  EXPECT_EQ(report.findings.front().status, BurnStatus::kFailure);
}

// With a spread of 3 % among sound drives, at most one burn of a hundred names one.
TEST(VerdictOnDrives, SoundDrivesAreRarelyNamed) {
  constexpr int kBurns = 600;
  std::mt19937_64 random(7);
  std::normal_distribution<double> spread(1, 0.03);
  int alarms = 0;
  for (int burn = 0; burn < kBurns; ++burn) {
    std::vector<BurnDrive> drives;
    for (int i = 0; i < 64; ++i) drives.push_back(sound_drive(6e9 * spread(random)));
    alarms += drives_report(drives).findings.empty() ? 0 : 1;
  }
  EXPECT_LE(alarms, kBurns / 100 + 5);
}

}  // namespace
}  // namespace railbed
