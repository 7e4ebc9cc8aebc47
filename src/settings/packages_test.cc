#include <gmock/gmock.h>

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
  EXPECT_THAT(settings[0].files.at(0).content, HasSubstr("PATH=/usr/local/cuda-12.8/bin:$PATH"));
  EXPECT_THAT(settings[0].notes, Contains(HasSubstr("compute/cuda/repos/ubuntu2404/")));
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
