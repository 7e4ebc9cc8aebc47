#include <gmock/gmock.h>

#include "settings/files.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

TEST(RenderModules, ListsWhatRdmaNeedsByFabricAndAdapter) {
  const auto settings = captured("r730-umad-missing").render("r730-b", Section::kModules);
  ASSERT_FALSE(settings.empty());
  EXPECT_EQ(settings[0].files[0].path, "/etc/modules-load.d/railbed.conf");
  EXPECT_EQ(settings[0].files[0].content,
            std::string(kFileMark) + "mlx5_ib\nib_uverbs\nrdma_ucm\nib_umad\nib_ipoib\n");
  const auto unmet = [](const Need& need) { return need.now == false; };
  const auto found = std::ranges::find_if(settings[0].needs, unmet);
  ASSERT_NE(found, settings[0].needs.end());
  EXPECT_EQ(found->what, "kernel module ib_umad is loaded");
}

TEST(RenderModules, LeavesThemToRdmaCoreWhereThatIsInstalled) {
  Facts facts;
  facts.railbed = "0";
  facts.system.os.id = {"ubuntu", ""};
  facts.system.kernel.loaded_modules = {std::vector<std::string>{"ib_uverbs", "rdma_ucm"}, ""};
  constexpr std::string_view kOne = R"(
railbed: 1
cluster: one
nodes: [gpu1]
rails: [{name: rail0, subnet: 10.0.0.0/24, interface: ens6, first_address: 10.0.0.1}]
)";
  const auto at_boot = [&] {
    return sample(kOne, {{"gpu1", facts}}).render("gpu1", Section::kModules).at(0).needs.at(0).at_boot;
  };
  EXPECT_FALSE(at_boot().has_value());
  facts.system.services = {std::vector<Service>{{"rdma-load-modules@rdma", "loaded", "active", "static", 0}},
                           ""};
  EXPECT_EQ(at_boot(), true);
}

TEST(RenderModules, MakesSoftwareDevicesAtBoot) {
  const auto settings = captured("rxe-device-missing").render("vm1", Section::kModules);
  ASSERT_EQ(settings.size(), 2U);
  const Setting& link = settings[1];
  EXPECT_EQ(link.files[0].path, "/etc/systemd/system/railbed-rxe@.service");
  EXPECT_THAT(link.files[0].content, testing::HasSubstr("BindsTo=sys-subsystem-net-devices-%i.device\n"));
  EXPECT_THAT(link.files[0].content,
              testing::HasSubstr("ExecStart=rdma link add rxe_%I type rxe netdev %I\n"));
  EXPECT_EQ(link.steps.back().arguments, std::vector<std::string>{"railbed-rxe@eth1.service"});
}

const Setting* find_peermem(const std::vector<Setting>& settings) {
  const auto found = std::ranges::find_if(settings, [](const Setting& setting) {
    return setting.files[0].path == "/etc/modules-load.d/nvidia-peermem.conf";
  });
  return found == settings.end() ? nullptr : &*found;
}

TEST(RenderModules, LeavesPeermemAloneWhereItIsNotTheRoute) {
  const auto peermem_of = [](const std::string& machine, const std::string& node) {
    const auto settings = captured(machine).render(node, Section::kModules);
    return find_peermem(settings) != nullptr;
  };
  EXPECT_FALSE(peermem_of("h100-gpudirect-none", "gpu01"));  // this kernel's RDMA core has no place for it
  EXPECT_FALSE(peermem_of("h100-open-module", "gpu01"));     // DMA-BUF is open
  EXPECT_FALSE(peermem_of("v100-cx3pro", "gpuserver1"));     // the kernel's mlx4 reaches no GPU
  EXPECT_FALSE(peermem_of("spark-cx7", "spark-01"));         // GB10 has no GPUDirect
}

TEST(RenderModules, LoadsPeermemWithNvidiasDriver) {
  ConfiguredCluster all = captured("h100-gpudirect-none");
  Facts facts = all.evidence->nodes.at("gpu01");
  facts.rdma.driver_version = {"24.10-0.7.0", ""};
  auto settings = sample(all.evidence->cluster, {{"gpu01", facts}}).render("gpu01", Section::kModules);
  const Setting* peermem = find_peermem(settings);
  ASSERT_NE(peermem, nullptr);
  EXPECT_EQ(peermem->files[0].content, std::string(kFileMark) + "nvidia_peermem\n");
  EXPECT_EQ(peermem->needs[0].found, "nvidia-peermem is not loaded");
  // The setting stays after it is applied.
  facts.gpus.peer_memory = {"570.124.06", ""};
  settings = sample(all.evidence->cluster, {{"gpu01", facts}}).render("gpu01", Section::kModules);
  peermem = find_peermem(settings);
  ASSERT_NE(peermem, nullptr);
  EXPECT_EQ(peermem->needs[0].now, true);
}

}  // namespace
}  // namespace railbed
