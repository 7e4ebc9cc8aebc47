#include "facts/software/gds.h"

#include <gmock/gmock.h>

#include "host/tree.h"

namespace railbed {
namespace {

// Composed of outputs of GDS 0.95, 1.0, 1.10, 1.11, 1.13, 1.15 and 1.16 (tests/SOURCES.md).
constexpr std::string_view kBeta = R"(   GDS release version (beta): 0.95.0.94
   nvidia_fs version:  2.6 libcufile version: 2.3
   cuFile CONFIGURATION:
   NVMe           : Supported
   NVMeOF         : Unsupported
   LUSTRE         : Unsupported
   --MOFED peer direct  : enabled
   properties.use_compat_mode : 1
)";
constexpr std::string_view kOld = R"( GDS release version: 1.0.0.82
 nvidia_fs version:  2.7 libcufile version: 2.4
 ============
 ENVIRONMENT:
 ============
 =====================
 DRIVER CONFIGURATION:
 =====================
 NVMe               : Supported
 NVMeOF             : Supported
 NFS                : Unsupported
 Userspace RDMA     : Unsupported
 --Mellanox PeerDirect : Enabled
 --rdma_device_status  : Up: 0 Down: 0
 =====================
 CUFILE CONFIGURATION:
 =====================
 properties.use_compat_mode : true
 properties.gds_rdma_write_support : true
)";
constexpr std::string_view kTranslated =
    R"(warn: error opening log file: Permission denied, logging will be disabled
 GDS release version: 1.11.1.6
 nvidia_fs version:  2.25 libcufile version: 2.12
 Platform: x86_64
 DRIVER CONFIGURATION:
 NVMe P2PDMA        : Unsupported
 NVMe               : Unsupported
 CUFILE CONFIGURATION:
 properties.use_pci_p2pdma : false
 properties.use_compat_mode : true
 properties.force_compat_mode : false
 GPU INFO:
 GPU index 0 NVIDIA RTX A6000 bar:1 bar size (MiB):256 supports GDS, IOMMU State: Pass-through or Enabled
 GPU index 1 NVIDIA RTX A6000 bar:1 bar size (MiB):256 supports GDS, IOMMU State: Pass-through or Enabled
 PLATFORM INFO:
 IOMMU: Pass-through or enabled
 WARN: GDS is not guaranteed to work functionally or in a performant way with iommu=on/pt
 Nvidia Driver Info Status: Supported(Nvidia Open Driver Installed)
 Cuda Driver Version Installed:  12060
 Platform: MZ33-AR0-000, Arch: x86_64(Linux 5.14.0-503.33.1.el9_5.x86_64)
 Platform verification succeeded
)";
constexpr std::string_view kWithoutModule = R"( GDS release version: 1.15.0.42
 libcufile version: 2.12
 Platform: x86_64
 DRIVER CONFIGURATION:
 NVMe P2PDMA        : Supported
 NVMe               : Unsupported
 NFS                : Unsupported
 properties.use_pci_p2pdma : true
 properties.use_compat_mode : true
 properties.force_compat_mode : true
)";
constexpr std::string_view kModes = R"(GDS release version: 1.16.0.49
nvidia_fs version: 2.27 nvidia_fs minimum version: 2.12
NVMe : nvfs, compat
NVMeOF : compat
IBM Spectrum Scale : dmabuf, compat
FSx Lustre : Supported
block.nvme.use_pci_p2pdma : false
properties.use_compat_mode : true
properties.force_compat_mode : false
GPU index 0 NVIDIA L4 bar:1 bar size (MiB):32768 supports GDS, IOMMU State: Disabled
IOMMU: disabled
)";

TEST(ParseGdscheck, ReadsEachGeneration) {
  const auto beta = parse_gdscheck(kBeta);
  ASSERT_TRUE(beta);
  EXPECT_EQ(beta->release, "0.95.0.94");
  EXPECT_EQ(beta->compat_allowed, true);
  EXPECT_EQ(beta->drivers.size(), 3u);
  const auto old = parse_gdscheck(kOld);
  ASSERT_TRUE(old);
  EXPECT_EQ(old->release, "1.0.0.82");
  EXPECT_EQ(old->nvidia_fs, "2.7");
  EXPECT_EQ(old->compat_forced, std::nullopt);
  EXPECT_EQ(old->iommu, "");
  EXPECT_EQ(direct_way_of_nvme(*old), "nvidia-fs");
  const auto translated = parse_gdscheck(kTranslated);
  ASSERT_TRUE(translated);
  EXPECT_EQ(translated->iommu, "Pass-through or enabled");
  EXPECT_THAT(translated->warning, testing::StartsWith("GDS is not guaranteed"));
  EXPECT_EQ(translated->gpus, 2);
  EXPECT_EQ(translated->gpus_supported, 2);
  EXPECT_EQ(direct_way_of_nvme(*translated), "");
  const auto without = parse_gdscheck(kWithoutModule);
  ASSERT_TRUE(without);
  EXPECT_EQ(without->nvidia_fs, "");
  EXPECT_EQ(without->compat_forced, true);
  EXPECT_EQ(direct_way_of_nvme(*without), "P2PDMA");
  const auto modes = parse_gdscheck(kModes);
  ASSERT_TRUE(modes);
  EXPECT_EQ(modes->nvidia_fs, "2.27");
  EXPECT_EQ(modes->drivers.at(0).modes, (std::vector<std::string>{"nvfs", "compat"}));
  EXPECT_EQ(modes->warning, "");
  EXPECT_EQ(direct_way_of_nvme(*modes), "nvidia-fs");
}

TEST(ParseGdscheck, ReadsWhatIsLeftOfAPaste) {
  const std::string_view whole = kTranslated;
  const auto cut = parse_gdscheck(whole.substr(whole.find(" DRIVER CONFIGURATION:")));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->release, "");
  EXPECT_EQ(cut->gpus, 2);
}

TEST(DirectStorage, IsEveryFileSystemWithoutHostMemory) {
  EXPECT_EQ(direct_storage(*parse_gdscheck(kOld)), (std::vector<std::string>{"NVMe", "NVMeOF"}));
  EXPECT_TRUE(direct_storage(*parse_gdscheck(kTranslated)).empty());
  EXPECT_EQ(direct_storage(*parse_gdscheck(kModes)),
            (std::vector<std::string>{"NVMe", "IBM Spectrum Scale", "FSx Lustre"}));
  // RDMA carries files of others and holds none.
  EXPECT_TRUE(
      direct_storage(*parse_gdscheck("GDS release version: 1.10.0.4\nUserspace RDMA : Supported\n")).empty());
}

TEST(ParseGdscheck, TakesNothingElse) {
  EXPECT_FALSE(parse_gdscheck(""));
  EXPECT_FALSE(parse_gdscheck("NVMe : Supported\n"));
  EXPECT_FALSE(parse_gdscheck("GDS release version: 1.13.1.3\n"));  // gdscheck -v
  EXPECT_FALSE(parse_gdscheck("Traceback (most recent call last):\n"));
}

TEST(ParseCufile, ReadsJsonWithComments) {
  const auto stock = parse_cufile(R"({
    // NOTE : e.g : export CUFILE_ENV_PATH_JSON="/home/<xxx>/cufile.json"
    "logging": { "dir": "http://x", "level": "ERROR" }, // "a" comment
    "properties": {
      // allow compat mode, this will enable use of cuFile posix read/writes
      "allow_compat_mode": true,
      //"force_compat_mode": true,
      "use_pci_p2pdma": false
    }
  })");
  ASSERT_TRUE(stock);
  EXPECT_EQ(stock->allow_compat_mode, true);
  EXPECT_EQ(stock->force_compat_mode, std::nullopt);
  EXPECT_EQ(stock->use_pci_p2pdma, false);
  EXPECT_TRUE(parse_cufile("{}"));
  EXPECT_TRUE(parse_cufile(R"({"properties": {"force_compat_mode": "yes"}})"));
  EXPECT_FALSE(parse_cufile("[]"));
  EXPECT_FALSE(parse_cufile("{"));
}

TEST(UsedCufile, KeepsWhatIsRead) {
  EXPECT_EQ(
      used_cufile(R"({"logging": {"dir": "/home/me"}, "properties": {"use_pci_p2pdma": true, "x": "y"}})"),
      "{\"properties\": {\"use_pci_p2pdma\": true}}\n");
  EXPECT_EQ(used_cufile("{"), "");
}

std::unique_ptr<Host> gds_machine(const std::string& text) {
  auto tree = parse_tree("railbed-tree 1\n" + text, "test.tree", nullptr);
  EXPECT_TRUE(tree) << (tree ? "" : tree.error().text);
  return open_tree(*std::move(tree));
}

TEST(CollectGds, RunsGdscheckOnlyWhereItIsAskedForAndNobodyElseCanChangeIt) {
  const std::string there =
      "/usr/local/cuda/gds/tools/gdscheck = ELF\n/proc/driver/nvidia-fs/version = version: 2.20\n";
  const std::string ran =
      "$ env CUFILE_LOGFILE_PATH=/dev/null /usr/local/cuda/gds/tools/gdscheck -p <<END\n" +
      std::string(kModes) + "END\n";
  const Gds asked = collect_gds(*gds_machine(there + ran), true);
  EXPECT_EQ(asked.nvidia_fs.value_or(""), "2.20");
  EXPECT_TRUE(asked.cufile.absent());
  ASSERT_TRUE(asked.check.ok());
  EXPECT_EQ(asked.check->release, "1.16.0.49");
  EXPECT_TRUE(collect_gds(*gds_machine(there + ran), false).check.absent());
  const auto missing = collect_gds(*gds_machine(ran), true).check;
  EXPECT_FALSE(missing.ok() || missing.absent());
  const auto denied = collect_gds(
      *gds_machine(there + ran +
                   "@ changeable /usr/local/cuda/gds/tools/gdscheck <<END\n[\"/usr/local\"]\nEND\n"),
      true);
  EXPECT_FALSE(denied.check.ok() || denied.check.absent());
}

}  // namespace
}  // namespace railbed
