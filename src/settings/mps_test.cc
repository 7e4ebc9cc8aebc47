#include <fmt/format.h>
#include <gmock/gmock.h>

#include "settings/step.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string shared(std::string_view sharing) {
  return fmt::format(
      "railbed: 1\ncluster: c\nexpect: {{os: ubuntu 24.04, gpus: 2, gpu_model: H100 PCIe}}\n"
      "configure: {{gpu_sharing: {}}}\nnodes: [gpu1]\n",
      sharing);
}

Facts machine(bool runs, std::vector<std::string> units, std::size_t processes = 0) {
  Facts facts;
  facts.railbed = "1";
  facts.system.own_units_at_boot = {std::move(units), "test"};
  facts.system.mps_daemon = {runs, "test"};
  std::vector<Gpu> gpus(3);
  for (Gpu& gpu : gpus) {
    NvmlGpu nvml;
    nvml.processes = {std::vector<NvmlProcess>(), "test"};
    gpu.nvml = {nvml, "test"};
  }
  NvmlGpu busy;
  busy.processes = {std::vector<NvmlProcess>(processes), "test"};
  gpus.front().nvml = {busy, "test"};
  facts.gpus.devices = {std::move(gpus), "test"};
  return facts;
}

std::vector<Setting> settings_of(std::string_view sharing, const std::map<std::string, Facts>& facts = {}) {
  std::vector<Setting> settings;
  for (Setting& setting : sample(shared(sharing), facts).render("gpu1", Section::kServices))
    if (setting.name == "services/mps") settings.push_back(std::move(setting));
  return settings;
}

TEST(MpsSetting, IsAUnitWithTheLimitsOfEachGpu) {
  const auto settings =
      settings_of("{method: mps, active_threads: 25, pinned_memory: 8 GiB}", {{"gpu1", machine(false, {})}});
  ASSERT_EQ(settings.size(), 1U);
  const std::string& unit = settings[0].files.at(0).content;
  EXPECT_EQ(settings[0].files[0].path, "/etc/systemd/system/railbed-mps.service");
  EXPECT_THAT(unit, HasSubstr("Type=forking\n"));
  EXPECT_THAT(unit, HasSubstr("ExecStartPre=/usr/bin/nvidia-smi -c EXCLUSIVE_PROCESS\n"
                              "ExecStart=/usr/bin/nvidia-cuda-mps-control -d\n"
                              "ExecStartPost=/bin/sh -c 'echo set_default_active_thread_percentage 25 | "));
  for (const char* const gpu : {"0", "1", "2"})
    EXPECT_THAT(unit, HasSubstr(fmt::format("echo set_default_device_pinned_mem_limit {} 8192M | ", gpu)));
  EXPECT_THAT(unit, Not(HasSubstr("limit 3 ")));
  EXPECT_THAT(unit, HasSubstr("ExecStopPost=/usr/bin/nvidia-smi -c DEFAULT\n"));
  EXPECT_EQ(settings[0].needs.at(0).now, false);
  EXPECT_EQ(settings[0].needs[0].at_boot, false);
  EXPECT_EQ(settings[0].refused, "");
  for (const NodeStep& step : settings[0].steps) EXPECT_TRUE(check_step(step));
}

TEST(MpsSetting, IsMetWhereItsUnitRuns) {
  const auto settings = settings_of("{method: mps}", {{"gpu1", machine(true, {"railbed-mps.service"}, 4)}});
  EXPECT_EQ(settings.at(0).needs.at(0).now, true);
  EXPECT_EQ(settings[0].needs[0].at_boot, true);
  EXPECT_EQ(settings[0].refused, "") << "its own clients run";
  EXPECT_EQ(settings[0].steps.back().kind, StepKind::kRestartUnit) << "other limits need a start";
  EXPECT_THAT(settings[0].files.at(0).content, Not(HasSubstr("ExecStartPost")));
}

TEST(MpsSetting, WaitsForProgramsThatComputeAlready) {
  EXPECT_THAT(settings_of("{method: mps}", {{"gpu1", machine(false, {}, 2)}}).at(0).refused,
              HasSubstr("2 processes run on its GPUs"));
}

TEST(MpsSetting, IsNoneWhereKubernetesShares) {
  EXPECT_THAT(settings_of("{method: mps, replicas: 4}"), IsEmpty());
  EXPECT_THAT(settings_of("{method: time-slices, replicas: 4}"), IsEmpty());
  EXPECT_THAT(settings_of("{method: none}"), IsEmpty());
}

TEST(MpsSetting, WithoutFactsGoesByWhatIsExpected) {
  const auto settings = settings_of("{method: mps, pinned_memory: 8 GiB}");
  EXPECT_THAT(settings.at(0).files.at(0).content, HasSubstr("limit 1 8192M"));
  EXPECT_THAT(settings[0].files[0].content, Not(HasSubstr("limit 2 ")));
  EXPECT_FALSE(settings[0].needs.at(0).now.has_value());
}

}  // namespace
}  // namespace railbed
