#include "bench/storage/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/testing/temporary_folder.h"
#include "bench/storage/scratch.h"
#include "facts/facts.h"
#include "host/open.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StorageTest : public testing::Test {
 protected:
  void TearDown() override {
    if (!path_.empty()) setenv("PATH", path_.c_str(), 1);
  }
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  // A fio of our own comes first on PATH.
  void fake_fio(const std::string& script) {
    const fs::path bin = folder_.string() + "-bin";
    fs::create_directories(bin);
    std::ofstream(bin / "fio") << "#!/bin/sh\n" << script << "\n";
    fs::permissions(bin / "fio", fs::perms::owner_all);
    path_ = getenv("PATH");
    setenv("PATH", (bin.string() + ":" + path_).c_str(), 1);
  }
  void remove_fake() { fs::remove_all(folder_.string() + "-bin"); }
  StorageAnswer measure(double seconds = 0.2, std::stop_token stop = {}) {
    return measure_storage(*open_this_machine(), {folder_.string(), kFewestBytes, seconds}, stop);
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
  std::string path_;
};

TEST_F(StorageTest, EveryWorkloadHasANumberAndNothingIsLeft) {
  if (system("fio --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no fio here";
  const StorageAnswer answer = measure();
  ASSERT_FALSE(answer.failure) << answer.failure->cause;
  ASSERT_EQ(answer.runs.size(), storage_workloads().size());
  for (const StorageRun& run : answer.runs) {
    ASSERT_TRUE(run.result) << run.operation << ": " << run.failure->cause;
    EXPECT_GT(run.result->bytes_per_second, 0);
    EXPECT_GT(run.result->median, 0);
    EXPECT_LE(run.result->median, run.result->maximum);
  }
  const FioResult& checkpoint = *answer.runs.back().result;
  EXPECT_EQ(checkpoint.bytes, kFewestBytes);  // written once
  EXPECT_EQ(checkpoint.requests, kFewestBytes / (4 << 20));
  EXPECT_TRUE(answer.mount);
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(StorageTest, AStopEndsItAndRemovesTheFiles) {
  if (system("fio --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no fio here";
  std::stop_source stop;
  std::jthread later([&] {
    while (left().empty()) usleep(1000);  // until its folder is there
    stop.request_stop();
  });
  const StorageAnswer answer = measure(600, stop.get_token());
  ASSERT_LT(answer.runs.size(), 2u);
  for (const StorageRun& run : answer.runs)
    EXPECT_TRUE(run.failure && run.failure->cause == "stopped on request");
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(StorageTest, FiosOwnComplaintIsTheCause) {
  fake_fio("echo 'note: something' >&2; echo 'fio: pid=1, err=28: No space left on device' >&2; exit 1");
  const StorageAnswer answer = measure();
  remove_fake();
  ASSERT_EQ(answer.runs.size(), 1u);
  EXPECT_THAT(answer.runs[0].failure->cause, HasSubstr("No space left on device"));
  EXPECT_THAT(answer.runs[0].failure->remedy, HasSubstr("--size"));
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(StorageTest, AFioThatIsKilledLeavesNothing) {
  fake_fio(
      "for word; do case $word in --directory=*) : > \"${word#--directory=}/data.0\";; esac; done; kill -9 "
      "$$");
  const StorageAnswer answer = measure();
  remove_fake();
  ASSERT_EQ(answer.runs.size(), 1u);
  EXPECT_THAT(answer.runs[0].failure->cause, HasSubstr("was killed"));
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(StorageTest, WhereLibaioIsMissingThreadsTakeItsPlace) {
  if (!fs::exists("/usr/bin/fio")) GTEST_SKIP() << "no fio here";
  fake_fio(
      "case \"$*\" in *libaio*) echo 'fio: engine libaio not loadable' >&2; exit 1;; esac; exec /usr/bin/fio "
      "\"$@\"");
  const StorageAnswer answer = measure();
  remove_fake();
  ASSERT_EQ(answer.runs.size(), storage_workloads().size());
  for (const StorageRun& run : answer.runs) {
    EXPECT_TRUE(run.result) << run.operation;
    EXPECT_EQ(run.threaded, run.depth > 1);
  }
}

TEST_F(StorageTest, AFolderThatIsNotThereOrNoPathIsRefused) {
  const auto host = open_this_machine();
  EXPECT_TRUE(measure_storage(*host, {"/no/such/folder", 0, 1}, {}).failure);
  EXPECT_TRUE(measure_storage(*host, {"relative", 0, 1}, {}).failure);
  EXPECT_TRUE(measure_storage(*host, {"/tmp\n", 0, 1}, {}).failure);
  EXPECT_TRUE(measure_storage(*host, {"/tmp", 0, 1e9}, {}).failure);
}

TEST(BytesToUse, NeverMoreThanATenthOfWhatIsFree) {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
  EXPECT_EQ(*bytes_to_use(0, 100 * kGib, "/x"), kDefaultBytes);
  EXPECT_EQ(*bytes_to_use(4 * kGib, 100 * kGib, "/x"), 4 * kGib);
  EXPECT_LE(*bytes_to_use(0, 5 * kGib, "/x"), kGib / 2);
  EXPECT_FALSE(bytes_to_use(11 * kGib, 100 * kGib, "/x"));
  EXPECT_FALSE(bytes_to_use(0, kFewestBytes * 9, "/x"));
  EXPECT_FALSE(bytes_to_use(1 << 20, 100 * kGib, "/x"));
  EXPECT_EQ(*bytes_to_use(kGib + 12345, 100 * kGib, "/x") % (16 << 20), 0u);
}

TEST_F(StorageTest, ADeadRunsFolderIsSweptALivingOnesIsNot) {
  auto living = Scratch::make(folder_);
  ASSERT_TRUE(living);
  const pid_t child = fork();
  if (child == 0) {
    const auto killed = Scratch::make(folder_);
    if (killed) std::ofstream(killed->path() + "/data.0") << "much";
    _exit(killed ? 0 : 1);  // no destructor: as if by SIGKILL
  }
  int status = 1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(left().size(), 2u);
  EXPECT_EQ(sweep_scratch(folder_).size(), 1u);
  EXPECT_THAT(left(), ElementsAre(living->name()));
}

TEST_F(StorageTest, ASweepRemovesNothingButItsOwn) {
  const std::string prefix(kScratchPrefix);
  fs::create_directories(folder_ / (prefix + "empty"));  // no lock: not from railbed
  fs::create_directories(folder_ / "precious");
  std::ofstream(folder_ / "precious/file") << "1";
  fs::create_symlink(folder_ / "precious", folder_ / (prefix + "link"));
  std::ofstream(folder_ / (prefix + "file")) << "1";
  fs::create_directories(folder_ / (prefix + "deep") / "folder");  // foreign, in one without owner
  std::ofstream(folder_ / (prefix + "deep") / "owner") << "";
  EXPECT_THAT(sweep_scratch(folder_), IsEmpty());
  EXPECT_TRUE(fs::exists(folder_ / "precious/file"));
  EXPECT_TRUE(fs::exists(folder_ / (prefix + "link")));
  EXPECT_TRUE(fs::exists(folder_ / (prefix + "deep") / "folder"));
}

StorageAnswer answer_of(double gigabytes) {
  StorageAnswer answer;
  answer.folder = "/scratch";
  answer.mount = Mount{"/scratch", "xfs", "/dev/md0", {"nvme0n1", "nvme1n1"}};
  StorageRun run{"sequential read", 1 << 20, 16, 1, false, FioResult{}, {}};
  run.result->bytes_per_second = gigabytes * 1e9;
  run.result->requests = 100;
  run.result->median = 5e5;
  answer.runs.push_back(run);
  return answer;
}

Facts two_drives() {
  Facts facts;
  std::vector<BlockDevice> drives;
  std::vector<PciDevice> devices;
  for (const std::string name : {"0", "1"}) {
    BlockDevice drive;
    drive.name = "nvme" + name + "n1";
    drive.pci_address = {"0000:0" + name + ":00.0", "sysfs"};
    drives.push_back(drive);
    PciDevice device;
    device.address = "0000:0" + name + ":00.0";
    device.link_now = {PcieLink{name == "0" ? 16.0 : 8.0, 4}, "link"};
    device.max_payload = {256, "config"};
    device.link_max = {PcieLink{16, 4}, "link"};
    devices.push_back(device);
  }
  facts.system.storage.block_devices = {drives, "sysfs"};
  facts.pci = {devices, "sysfs"};
  return facts;
}

TEST(StorageMeasurements, StandBesideTheSumOfTheDrivesLinks) {
  const Facts facts = two_drives();
  const auto all = storage_measurements("gpu01", answer_of(6), &facts);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].metric, Metric::kBandwidth);
  EXPECT_EQ(all[0].summary.median, 48e9);
  EXPECT_EQ(all[0].rail, "/scratch");
  EXPECT_EQ(all[0].from.device, "nvme0n1,nvme1n1");
  ASSERT_EQ(all[0].ceiling.limits.size(), 1u);
  // Gen4 x4 and Gen3 x4: 7.15 + 3.57 GB/s.
  EXPECT_NEAR(all[0].ceiling.limits[0].rate.gigabytes(), 10.7, 0.1);
  EXPECT_THAT(all[0].ceiling.note, HasSubstr("0000:01:00.0 runs at PCIe Gen3 x4, and could at PCIe Gen4 x4"));
  EXPECT_EQ(all[1].metric, Metric::kLatency);
  EXPECT_EQ(all[1].summary.median, 5e5);
}

NetInterface port(const std::string& name, const char* address, int mbps, const char* pci) {
  NetInterface interface;
  interface.name = name;
  interface.speed_mbps = {mbps, "/sys/class/net/" + name + "/speed"};
  interface.driver = {"mlx5_core", "sysfs"};
  if (*pci != 0) interface.pci_address = {pci, "sysfs"};
  interface.addresses = {std::vector<InterfaceAddress>{{*IpAddress::parse(address), 24}}, "netlink"};
  return interface;
}

TEST(StorageMeasurements, OverTheNetworkStandBesideThePorts) {
  Facts facts = two_drives();
  facts.net.interfaces = {std::vector<NetInterface>{port("ens6", "10.0.0.2", 40'000, "0000:03:00.0"),
                                                    port("ens7", "10.1.0.2", 100'000, "0000:04:00.0")},
                          "netlink"};
  StorageAnswer answer = answer_of(3);
  answer.mount = Mount{"/data", "nfs4", "store:/srv", {}, {"10.0.0.1"}};
  Ceiling ceiling = storage_measurements("gpu01", answer, &facts)[0].ceiling;
  ASSERT_EQ(ceiling.limits.size(), 1u);
  EXPECT_EQ(ceiling.limits[0].name, "port ens6 of gpu01");
  EXPECT_DOUBLE_EQ(ceiling.limits[0].rate.gigabits(), 40);
  EXPECT_THAT(ceiling.note, HasSubstr("served by 10.0.0.1"));
  // Two servers behind one port share it, two ports add up.
  answer.mount->servers = {"10.0.0.1", "10.0.0.3", "10.1.0.1"};
  ceiling = storage_measurements("gpu01", answer, &facts)[0].ceiling;
  EXPECT_DOUBLE_EQ(ceiling.limits[0].rate.gigabits(), 140);
  // Beyond a router the port is not known.
  answer.mount->servers = {"192.168.7.1"};
  ceiling = storage_measurements("gpu01", answer, &facts)[0].ceiling;
  EXPECT_TRUE(ceiling.limits.empty());
  EXPECT_THAT(ceiling.note, HasSubstr("192.168.7.1 is in no subnet of this node"));
}

TEST(StorageMeasurements, BufferedIsAnotherSubjectAndNeverJudged) {
  const Facts facts = two_drives();
  StorageAnswer answer = answer_of(6);
  answer.not_direct = "Invalid argument";
  const auto buffered = storage_measurements("gpu01", answer, &facts);
  EXPECT_EQ(buffered[0].operation, "sequential read buffered");
  EXPECT_TRUE(buffered[0].ceiling.nominal);
  answer.memory = true;
  EXPECT_EQ(storage_measurements("gpu01", answer, &facts)[0].operation, "sequential read in memory");
  EXPECT_TRUE(storage_measurements("gpu01", answer, &facts)[0].ceiling.limits.empty());
}

TEST(StorageMeasurements, WithoutFactsThereIsNoCeiling) {
  const auto all = storage_measurements("gpu01", answer_of(6), nullptr);
  EXPECT_TRUE(all[0].ceiling.limits.empty());
  EXPECT_FALSE(all[0].ceiling.note.empty());
  Facts lone = two_drives();
  lone.system.storage.block_devices = {std::vector<BlockDevice>{}, "sysfs"};
  EXPECT_THAT(storage_measurements("gpu01", answer_of(6), &lone)[0].ceiling.note,
              HasSubstr("nvme0n1 is not on PCI"));
}

}  // namespace
}  // namespace railbed
