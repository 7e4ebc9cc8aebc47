#include <gmock/gmock.h>

#include <algorithm>

#include "settings/driver_package.h"
#include "settings/step.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string expecting(std::string_view expect, std::string_view more = "") {
  return "railbed: 1\ncluster: one\nexpect: {" + std::string(expect) + "}\nconfigure: {packages: true" +
         std::string(more) + "}\nnodes: [gpu1]\n";
}

std::vector<Setting> packages(std::string_view expect, std::string_view more = "",
                              std::map<std::string, Facts> facts = {}) {
  auto settings = sample(expecting(expect, more), std::move(facts)).render("gpu1", Section::kPackages);
  for (const Setting& setting : settings)
    for (const NodeStep& step : setting.steps) EXPECT_TRUE(check_step(step)) << setting.title;
  return settings;
}

std::vector<NodeStep> driver_steps(std::string_view os, std::string_view driver, std::string_view gpu,
                                   std::string_view more = "") {
  const auto settings = packages(
      "os: " + std::string(os) + ", driver: '" + std::string(driver) + "', gpu_model: " + std::string(gpu),
      more);
  return settings.at(0).steps;
}

NodeStep install_of(std::string package) { return {StepKind::kInstallPackages, {std::move(package)}}; }

TEST(RenderPackages, TheGpuDecidesOnTheModules) {
  EXPECT_THAT(driver_steps("ubuntu 22.04", "570", "V100"), Contains(install_of("nvidia-driver-570-server")));
  EXPECT_THAT(driver_steps("ubuntu 22.04", "570", "V100", ", driver_kind: open"),
              Contains(install_of("nvidia-driver-570-server")));
  EXPECT_THAT(driver_steps("ubuntu 22.04", "570", "GH200", ", driver_kind: proprietary"),
              Contains(install_of("nvidia-driver-570-server-open")));
  EXPECT_THAT(driver_steps("ubuntu 22.04", "570", "A10"),
              Contains(install_of("nvidia-driver-570-server-open")));
  EXPECT_THAT(driver_steps("ubuntu 22.04", "535", "A10"), Contains(install_of("nvidia-driver-535-server")));
  EXPECT_THAT(driver_steps("ubuntu 22.04", "570", "A10", ", driver_kind: proprietary"),
              Contains(install_of("nvidia-driver-570-server")));
}

// The GPU is known by its name in cluster.yaml alone.
TEST(RenderPackages, EveryBlackwellNeedsTheOpenModule) {
  const auto installs_open = [](std::string_view gpu) {
    const auto steps = driver_steps("ubuntu 24.04", "580", gpu, ", driver_kind: proprietary");
    return std::ranges::any_of(steps, [](const NodeStep& step) {  // beside the fabric manager of a board
      return step.kind == StepKind::kInstallPackages &&
             std::ranges::count(step.arguments, "nvidia-driver-580-server-open") == 1;
    });
  };
  for (const std::string_view gpu : {"B200", "B300", "GB300", "RTX 5090", "RTX PRO 6000"})
    EXPECT_TRUE(installs_open(gpu)) << gpu;
  EXPECT_FALSE(installs_open("GTX 1080"));
  EXPECT_THAT(driver_steps("ubuntu 22.04", "580", "GTX 1080"),
              Contains(install_of("nvidia-driver-580-server")));
}

std::string typed(std::string_view os, std::string version, OsFamily family, int branch, ModuleKind kind) {
  std::string all;
  for (const ShellCommand& one : driver_commands(
           {.family = family, .os = std::string(os), .version = std::move(version)}, branch, kind))
    all += (all.empty() ? "" : "; ") + one.text();
  return all;
}

TEST(DriverCommands, NameThePackageOfEachSystem) {
  using enum ModuleKind;
  EXPECT_EQ(typed("ubuntu", "24.04", OsFamily::kDebian, 580, kOpen),
            "apt-get update; apt-get install nvidia-driver-580-server-open");
  EXPECT_EQ(typed("ubuntu", "22.04", OsFamily::kDebian, 580, kProprietary),
            "apt-get update; apt-get install nvidia-driver-580-server");
  EXPECT_EQ(typed("debian", "12", OsFamily::kDebian, 570, kOpen),
            "apt-get update; apt-get install nvidia-open-570");
  EXPECT_EQ(typed("debian", "12", OsFamily::kDebian, 590, kOpen),
            "apt-get update; apt-get install nvidia-driver-pinning-590; apt-get install nvidia-open");
  EXPECT_EQ(
      typed("rhel", "9.4", OsFamily::kRhel, 580, kProprietary),
      "dnf module reset nvidia-driver; dnf module enable nvidia-driver:580-dkms; dnf install --allowerasing "
      "cuda-drivers");
  EXPECT_EQ(typed("rhel", "10.0", OsFamily::kRhel, 580, kOpen), "dnf install --allowerasing nvidia-open");
}

TEST(RenderPackages, IsHeldAfterwards) {
  EXPECT_EQ(driver_steps("ubuntu 24.04", "570.124.06", "A10").back(),
            (NodeStep{StepKind::kHoldPackages, {"nvidia-driver-570-server-open"}}));
}

TEST(RenderPackages, TakesNvidiasNamesOnDebianAndRhel) {
  EXPECT_THAT(driver_steps("debian 12", "570", "A10"), Contains(install_of("nvidia-open-570")));
  EXPECT_THAT(driver_steps("debian 12", "590", "A10"), Contains(install_of("nvidia-driver-pinning-590")));
  EXPECT_THAT(driver_steps("debian 12", "590", "A10"), Contains(install_of("nvidia-open")));
  EXPECT_THAT(driver_steps("rhel 9.4", "580", "A10"),
              Contains(NodeStep{StepKind::kEnableStream, {"nvidia-driver:580-open"}}));
  EXPECT_THAT(driver_steps("rhel 9.4", "580", "V100"),
              Contains(NodeStep{StepKind::kEnableStream, {"nvidia-driver:580-dkms"}}));
  EXPECT_EQ(driver_steps("rhel 10.0", "580", "A10").back(), install_of("nvidia-open"));
  EXPECT_THAT(driver_steps("rhel 10.0", "580", "A10"),
              Contains(NodeStep{StepKind::kHoldPackages, {"*nvidia*580*"}}));
}

TEST(RenderPackages, SaysWhatItCannotDecide) {
  const auto unknown = packages("os: ubuntu 22.04, driver: '570'");
  EXPECT_TRUE(unknown.at(0).steps.empty());
  EXPECT_THAT(unknown[0].notes, Contains(HasSubstr("driver_kind")));
  const auto gone = packages("os: ubuntu 22.04, driver: '590', gpu_model: V100");
  EXPECT_TRUE(gone.at(0).steps.empty());
  EXPECT_THAT(gone[0].notes, Contains(HasSubstr("580 is the last branch")));
  const auto spark = packages("os: ubuntu 24.04, driver: '580', gpu_model: GB10");
  EXPECT_TRUE(spark.at(0).steps.empty());
  EXPECT_THAT(spark[0].notes, Contains(HasSubstr("DGX OS")));
  const auto odd = packages("os: ubuntu 24.04, driver: 'newest; reboot', gpu_model: A10");
  EXPECT_TRUE(odd.at(0).steps.empty());
}

TEST(RenderPackages, NcclIsThatOfItsCuda) {
  const auto settings = packages("os: ubuntu 24.04, cuda_toolkit: '12.8', nccl: 2.28.9");
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_THAT(settings[0].steps, Contains(install_of("cuda-toolkit-12-8")));
  EXPECT_THAT(settings[0].files.at(1).content, HasSubstr("PATH=/usr/local/cuda-12.8/bin:$PATH"));
  EXPECT_THAT(settings[0].notes, Contains(HasSubstr("compute/cuda/repos/ubuntu2404/x86_64/")));
  EXPECT_THAT(settings[1].steps,
              Contains(NodeStep{StepKind::kInstallPackages,
                                {"libnccl2=2.28.9-*+cuda12.?", "libnccl-dev=2.28.9-*+cuda12.?"}}));
  EXPECT_EQ(settings[1].steps.back(), (NodeStep{StepKind::kHoldPackages, {"libnccl2", "libnccl-dev"}}));
  EXPECT_TRUE(packages("os: ubuntu 24.04, nccl: 2.28.9").at(0).steps.empty());  // for which CUDA?
  EXPECT_EQ(packages("os: rhel 9.4, cuda: '13.0', nccl: '2.28'").at(0).steps.back(),
            (NodeStep{StepKind::kHoldPackages, {"libnccl", "libnccl-devel"}}));
  EXPECT_THAT(packages("os: rhel 9.4, cuda: '13.0', nccl: '2.28'").at(0).steps,
              Contains(NodeStep{StepKind::kInstallPackages,
                                {"libnccl-2.28.*+cuda13.*", "libnccl-devel-2.28.*+cuda13.*"}}));
}

// The toolkit of a node of which nothing but its system is known.
Setting toolkit_on(std::string_view os, std::string_view version, std::string_view machine,
                   std::string_view more = "", std::vector<PackageSource> sources = {}) {
  Facts facts;
  facts.railbed = "0";
  facts.system.os.id = {std::string(os), "test"};
  facts.system.os.version = {std::string(version), "test"};
  facts.system.os.architecture = {std::string(machine), "test"};
  facts.system.package_sources = {std::move(sources), "test"};
  return packages("cuda_toolkit: '12.8'", more, {{"gpu1", facts}}).at(0);
}

TEST(NvidiaRepository, IsPutInPlaceOnANodeThatHasNothing) {
  const auto expect_source = [](const Setting& setting, std::string_view file, std::string_view url,
                                std::string_view key) {
    ASSERT_EQ(setting.files.size(), 2U);
    EXPECT_EQ(setting.files[0].path, file);
    EXPECT_THAT(setting.files[0].content, HasSubstr(std::string(url) + "\n"));
    ASSERT_EQ(setting.steps.size(), 3U);
    EXPECT_EQ(setting.steps[0].kind, StepKind::kFetchKey);  // then the lists, then the package
    EXPECT_THAT(setting.files[0].content, HasSubstr(setting.steps[0].arguments.at(0) + "\n"));
    EXPECT_EQ(setting.steps[0].arguments.at(1), std::string(url) + std::string(key));
  };
  const std::string at = "https://developer.download.nvidia.com/compute/cuda/repos/";
  const std::string_view apt = "/etc/apt/sources.list.d/railbed-nvidia-cuda.sources";
  const std::string_view dnf = "/etc/yum.repos.d/railbed-nvidia-cuda.repo";
  expect_source(toolkit_on("ubuntu", "22.04", "x86_64"), apt, at + "ubuntu2204/x86_64/", "3bf863cc.pub");
  expect_source(toolkit_on("ubuntu", "24.04", "aarch64"), apt, at + "ubuntu2404/sbsa/", "3bf863cc.pub");
  expect_source(toolkit_on("debian", "12", "x86_64"), apt, at + "debian12/x86_64/", "3bf863cc.pub");
  expect_source(toolkit_on("rocky", "8.10", "x86_64"), dnf, at + "rhel8/x86_64/", "D42D0685.pub");
  expect_source(toolkit_on("rhel", "9.4", "aarch64"), dnf, at + "rhel9/sbsa/", "D42D0685.pub");
  const auto ubuntu = toolkit_on("ubuntu", "24.04", "x86_64");
  EXPECT_EQ(ubuntu.files[0].content,
            std::string(kFileMark) + "Types: deb\nURIs: " + at +
                "ubuntu2404/x86_64/\nSuites: /\nSigned-By: /etc/apt/railbed-nvidia-cuda.asc\n");
  EXPECT_EQ(ubuntu.steps[0].arguments.at(2), "EB693B3035CD5710E231E123A4B469963BF863CC");
  EXPECT_THAT(toolkit_on("rocky", "9.4", "x86_64").files[0].content, HasSubstr("gpgcheck=1\n"));
}

TEST(NvidiaRepository, IsThatOfTheProcessorBesideTheGpu) {
  const auto folder_of = [](std::string_view gpu) {
    const auto settings = packages("os: ubuntu 24.04, cuda_toolkit: '13.0', gpu_model: " + std::string(gpu));
    return settings.at(0).files.at(0).content;
  };
  EXPECT_THAT(folder_of("GB10"), HasSubstr("ubuntu2404/sbsa/\n"));
  EXPECT_THAT(folder_of("GH200"), HasSubstr("ubuntu2404/sbsa/\n"));
  EXPECT_THAT(folder_of("H100"), HasSubstr("ubuntu2404/x86_64/\n"));
}

TEST(NvidiaRepository, TakesAMirrorAndAnotherKey) {
  const auto mirrored =
      toolkit_on("ubuntu", "22.04", "x86_64", ", nvidia_repository: 'http://mirror.example/cuda/'");
  EXPECT_EQ(mirrored.steps.at(0).arguments.at(1),
            "http://mirror.example/cuda/ubuntu2204/x86_64/3bf863cc.pub");
  const std::string key = "0123456789ABCDEF0123456789ABCDEFCDF6BA43";
  const auto other = toolkit_on("rhel", "9.4", "x86_64", ", nvidia_key: '" + key + "'");
  EXPECT_EQ(other.steps.at(0).arguments.at(1),
            "https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64/CDF6BA43.pub");
  EXPECT_EQ(other.steps[0].arguments.at(2), key);
  EXPECT_EQ(toolkit_on("rocky", "10.0", "x86_64", ", nvidia_key: '" + key + "'").steps.at(0).arguments.at(2),
            key);
}

TEST(NvidiaRepository, IsLeftAloneWhereAnyoneHasItAndWhereNoneIsKnown) {
  const auto only_notes = [](const Setting& setting, std::string_view why) {
    EXPECT_EQ(setting.files.size(), 1U) << why;
    EXPECT_EQ(setting.steps.at(0).kind, StepKind::kRefreshPackages) << why;
    EXPECT_THAT(setting.notes, Contains(HasSubstr(std::string(why))));
  };
  const std::string uri = "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64";
  const std::vector<PackageSource> theirs = {
      {"/etc/apt/sources.list.d/cuda-ubuntu2404-x86_64.list", uri + "/"}};
  only_notes(toolkit_on("ubuntu", "24.04", "x86_64", "", theirs), "cuda-ubuntu2404-x86_64.list names it");
  const std::vector<PackageSource> own = {{"/etc/apt/sources.list.d/railbed-nvidia-cuda.sources", uri}};
  EXPECT_EQ(toolkit_on("ubuntu", "24.04", "x86_64", "", own).files.size(), 2U);
  // That of another system is none.
  EXPECT_EQ(toolkit_on("ubuntu", "22.04", "x86_64", "", theirs).files.size(), 2U);
  only_notes(toolkit_on("ubuntu", "24.04", "x86_64", ", nvidia_repository: none"),
             "leaves it to somebody else");
  only_notes(toolkit_on("rhel", "10.0", "x86_64"), "CDF6BA43.pub");
  Facts closed;
  closed.railbed = "0";
  closed.system.os.id = {"ubuntu", "test"};
  closed.system.os.version = {"24.04", "test"};
  closed.system.package_sources = {Miss{Missing::kDenied, "permission denied"},
                                   "/etc/apt/sources.list.d/x.list"};
  only_notes(packages("cuda_toolkit: '12.8'", "", {{"gpu1", closed}}).at(0), "x.list cannot be read");
  only_notes(toolkit_on("debian", "12", "aarch64"), "no packages in it for this processor");
  only_notes(toolkit_on("ubuntu", "24.04", "riscv64"), "no packages in it for this processor");
  only_notes(toolkit_on("debian", "13", "x86_64"), "knows no folder");
}

TEST(RenderPackages, ProposesNothingWhereAllIsThere) {
  auto facts = facts_of_machine("h100-toolkit-sound");
  ASSERT_FALSE(facts.empty());
  const Facts& node = facts.begin()->second;
  ASSERT_TRUE(node.gpus.driver_version.ok() && node.toolkit.cuda.ok() && node.nccl.library.ok());
  const std::string expect = "driver: '" + *node.gpus.driver_version + "', cuda_toolkit: '" +
                             node.toolkit.cuda->front().version + "', nccl: '" + node.nccl.library->version +
                             "', mpi: true";
  const auto settings = packages(expect, "", {{"gpu1", node}});
  EXPECT_EQ(settings.size(), 4U);
  for (const Setting& setting : settings)
    for (const Need& need : setting.needs) {
      EXPECT_EQ(need.now, true) << setting.title << ": " << need.found;
      EXPECT_EQ(need.at_boot, true) << setting.title;
    }
}

TEST(RenderPackages, SeesAnotherDriverAndOneThatWaitsForTheNextBoot) {
  auto facts = facts_of_machine("h100-toolkit-sound");
  Facts node = facts.begin()->second;
  const auto other = packages("driver: '999'", "", {{"gpu1", node}});
  EXPECT_EQ(other.at(0).needs.at(0).now, false);
  EXPECT_EQ(other[0].needs[0].found, *node.gpus.driver_version);
  ModuleFile file;
  file.version = "999.1";
  node.gpus.module_file = {file, "modinfo nvidia"};
  EXPECT_EQ(packages("driver: '999'", "", {{"gpu1", node}}).at(0).needs.at(0).at_boot, true);
}

TEST(RenderPackages, SaysWhereModulesHaveToBeSigned) {
  auto facts = facts_of_machine("h100-toolkit-sound");
  Facts node = facts.begin()->second;
  node.system.kernel.signatures_required = {true, "/sys/kernel/security/lockdown"};
  EXPECT_THAT(packages("driver: '570', gpu_model: H100", "", {{"gpu1", node}}).at(0).notes,
              Contains(HasSubstr("'linux-modules-nvidia-570-server-open-*'")));
}

// One of eight H100 is another GPU there: the driver asks for the open module in the kernel log.
TEST(RenderPackages, TheDriversOwnMessageDecidesOnTheModules) {
  const Facts node = facts_of_machine("h100-open-module").at("gpu01");
  const auto notes_of = [](const Facts& facts) {
    return packages("driver: '570', gpu_model: H100", ", driver_kind: proprietary", {{"gpu1", facts}})
        .at(0)
        .notes;
  };
  EXPECT_THAT(notes_of(node), Contains(HasSubstr("works with the open modules alone")));
  Facts silent = node;
  silent.kernel_log = {KernelLog(), "/dev/kmsg"};
  EXPECT_THAT(notes_of(silent), Not(Contains(HasSubstr("works with the open modules alone"))));
}

TEST(RenderPackages, RdmaIsForNodesWithARailOfIt) {
  const auto settings = sample(R"(
railbed: 1
cluster: pair
fabric: infiniband
expect: {os: ubuntu 22.04}
configure: {packages: true}
nodes: ["gpu[1-2]"]
rails:
  - {name: rail0, interface: ib0}
)")
                            .render("gpu1", Section::kPackages);
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_THAT(settings[0].steps.at(1).arguments, Contains("ibverbs-providers"));
  EXPECT_TRUE(packages("os: ubuntu 22.04").empty());
}

}  // namespace
}  // namespace railbed
