#include "facts/mount.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "host/tree.h"

namespace railbed {
namespace {

constexpr std::string_view kMounts =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
    "40 27 253:0 / /scratch rw,noatime shared:9 master:3 - xfs /dev/mapper/vg-scratch rw\n"
    "41 27 0:50 / /mnt/my\\040data rw - nfs4 server:/my\\040export rw\n"
    "42 27 0:51 / /dev/shm rw - tmpfs tmpfs rw\n"
    "43 27 0:52 / /dev/shm rw - ramfs none rw\n"
    "44 27 0:53 / /nfs rw - nfs4 server:/export rw,vers=4.2,proto=rdma,port=20049,clientaddr=10.0.0.2,addr=10.0.0.1\n"
    "45 27 0:54 / /smb rw - cifs //nas/data rw,vers=3.1.1,addr=192.168.1.9\n"
    "46 27 0:55 / /odd rw - ext4 /dev/sdb rw,addr=10.9.9.9\n"
    "half a line\n"
    "1 2 3 - ext4 /dev/sdz rw\n";

TEST(FindMount, TakesTheDeepestThatHoldsThePath) {
  EXPECT_EQ(find_mount(kMounts, "/scratch/run/7")->type, "xfs");
  EXPECT_EQ(find_mount(kMounts, "/scratch")->source, "/dev/mapper/vg-scratch");
  EXPECT_EQ(find_mount(kMounts, "/scratches")->point, "/");
  EXPECT_EQ(find_mount(kMounts, "/mnt/my data/x")->source, "server:/my export");
}

// clientaddr= is the node's own, and only file systems of a server have one.
TEST(FindMount, KnowsTheServersAddress) {
  EXPECT_EQ(find_mount(kMounts, "/nfs/x")->servers, std::vector<std::string>{"10.0.0.1"});
  EXPECT_EQ(find_mount(kMounts, "/smb")->servers, std::vector<std::string>{"192.168.1.9"});
  EXPECT_TRUE(find_mount(kMounts, "/odd")->servers.empty());
  EXPECT_TRUE(find_mount(kMounts, "/mnt/my data")->servers.empty());
}

TEST(FindMount, TheLaterOfTwoAtOnePointHidesTheOther) {
  EXPECT_EQ(find_mount(kMounts, "/dev/shm")->type, "ramfs");
}

TEST(FindMount, NothingOfNonsense) {
  EXPECT_FALSE(find_mount("", "/"));
  EXPECT_FALSE(find_mount("1 2 3 4 / rw -\n- - - - - - -", "/"));
  EXPECT_FALSE(find_mount(kMounts, "relative"));
}

TEST(ReadOnlyBy, TellsAMountFromAFrozenFileSystem) {
  const auto by = [](std::string_view mount, std::string_view file_system, std::string_view type = "ext4") {
    return read_only_by(
        fmt::format("27 1 259:2 / / {} shared:1 - {} /dev/nvme0n1p2 {}\n", mount, type, file_system), "/tmp");
  };
  EXPECT_EQ(by("ro,relatime", "rw,errors=remount-ro"), ReadOnlyBy::kMount);
  EXPECT_EQ(by("ro,relatime", "ro,errors=remount-ro"), ReadOnlyBy::kFileSystem);
  EXPECT_EQ(by("rw,relatime", "ro"), ReadOnlyBy::kFileSystem);
  EXPECT_EQ(by("ro,relatime", "ro", "squashfs"), ReadOnlyBy::kKind);
  EXPECT_EQ(by("rw,relatime", "rw,errors=remount-ro"), std::nullopt) << "by now it can be written";
  EXPECT_EQ(read_only_by("", "/"), std::nullopt);
}

std::unique_ptr<Host> machine_with_folder(const std::string& folder) {
  std::string text = "railbed-tree 1\n" + folder + "/keep = 1\n/proc/self/mountinfo <<END\n" +
                     std::string(kMounts.substr(0, kMounts.find("half"))) + "END\n";
  text += R"(/dev/nvme0n1p2 = x
/dev/mapper/vg-scratch -> ../dm-0
/dev/dm-0 = x
/sys/class/block/dm-0 -> ../../devices/virtual/block/dm-0
/sys/devices/virtual/block/dm-0/slaves/nvme0n1p3/partition = 3
/sys/devices/virtual/block/dm-0/slaves/sda/size = 8
/sys/class/block/sda -> ../../devices/pci0000:00/0000:00:17.0/ata1/block/sda
/sys/devices/pci0000:00/0000:00:17.0/ata1/block/sda/size = 8
/sys/class/block/nvme0n1p2 -> ../../devices/pci0000:00/0000:02:00.0/nvme/nvme0/nvme0n1/nvme0n1p2
/sys/class/block/nvme0n1p3 -> ../../devices/pci0000:00/0000:02:00.0/nvme/nvme0/nvme0n1/nvme0n1p3
/sys/devices/pci0000:00/0000:02:00.0/nvme/nvme0/nvme0n1/nvme0n1p2/partition = 2
/sys/devices/pci0000:00/0000:02:00.0/nvme/nvme0/nvme0n1/nvme0n1p3/partition = 3
)";
  auto tree = parse_tree(text, "test", [](const std::string&) -> Result<Tree> {
    return fail(ErrorKind::kBadInput, "no bases");
  });
  EXPECT_TRUE(tree) << tree.error().text;
  return open_tree(tree ? std::move(*tree) : Tree{});
}

TEST(CollectMount, APartitionStandsForItsDrive) {
  const auto mount = collect_mount(*machine_with_folder("/home/me"), "/home/me");
  ASSERT_TRUE(mount) << mount.miss().why;
  EXPECT_EQ(mount->devices, std::vector<std::string>{"nvme0n1"});
}

TEST(CollectMount, AVolumeStandsForTheDrivesItIsMadeOf) {
  const auto mount = collect_mount(*machine_with_folder("/scratch/me"), "/scratch/me");
  ASSERT_TRUE(mount) << mount.miss().why;
  EXPECT_EQ(mount->devices, (std::vector<std::string>{"nvme0n1", "sda"}));
}

// Two live controllers of one subsystem, one that reconnects, a local drive, and a drive of another subsystem.
TEST(CollectMount, ADriveOfNvmeOverFabricsHasServers) {
  const auto tree = parse_tree(
      "railbed-tree 1\n"
      "/proc/self/mountinfo = 30 1 259:5 / /data rw - xfs /dev/nvme1n1 rw\n"
      "/data/\n/dev/nvme1n1 = \n"
      "/sys/class/block/nvme1n1 -> ../../devices/virtual/nvme-subsystem/nvme-subsys1/nvme1n1\n"
      "/sys/devices/virtual/nvme-subsystem/nvme-subsys1/nvme1n1/device/subsysnqn = nqn.a\n"
      "/sys/class/nvme/nvme0/subsysnqn = nqn.local\n/sys/class/nvme/nvme0/state = live\n"
      "/sys/class/nvme/nvme0/address = 0000:01:00.0\n"
      "/sys/class/nvme/nvme1/subsysnqn = nqn.a\n/sys/class/nvme/nvme1/state = live\n"
      "/sys/class/nvme/nvme1/address = traddr=10.0.0.1,trsvcid=4420,src_addr=10.0.0.2\n"
      "/sys/class/nvme/nvme2/subsysnqn = nqn.a\n/sys/class/nvme/nvme2/state = live\n"
      "/sys/class/nvme/nvme2/address = traddr=10.1.0.1,trsvcid=4420\n"
      "/sys/class/nvme/nvme3/subsysnqn = nqn.a\n/sys/class/nvme/nvme3/state = connecting\n"
      "/sys/class/nvme/nvme3/address = traddr=10.2.0.1,trsvcid=4420\n"
      "/sys/class/nvme/nvme4/subsysnqn = nqn.b\n/sys/class/nvme/nvme4/state = live\n"
      "/sys/class/nvme/nvme4/address = traddr=10.3.0.1,trsvcid=4420\n",
      "test", nullptr);
  ASSERT_TRUE(tree) << tree.error().text;
  const auto mount = collect_mount(*open_tree(*tree), "/data");
  ASSERT_TRUE(mount) << mount.miss().why;
  EXPECT_EQ(mount->devices, std::vector<std::string>{"nvme1n1"});
  EXPECT_EQ(mount->servers, (std::vector<std::string>{"10.0.0.1", "10.1.0.1"}));
}

TEST(CollectMount, AServerHasNoDriveHere) {
  const auto mount = collect_mount(*machine_with_folder("/nfs/me"), "/nfs/me");
  ASSERT_TRUE(mount) << mount.miss().why;
  EXPECT_TRUE(mount->devices.empty());
  EXPECT_FALSE(collect_mount(*machine_with_folder("/x"), "/nowhere"));
}

}  // namespace
}  // namespace railbed
