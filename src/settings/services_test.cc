#include <gmock/gmock.h>

#include "settings/step.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// A node with a GPU, driver 580.95.05, docker and NVIDIA's toolkit.
Facts container_node() {
  Facts facts = facts_of_machine("h100-toolkit-sound").begin()->second;
  facts.gpus.driver_version = {"580.95.05", "test"};
  std::vector<Service> services = facts.system.services.value_or({});
  std::erase_if(services, [](const Service& service) { return service.name == "docker"; });
  services.push_back({"docker", "loaded", "active", "enabled", 7});
  facts.system.services = {services, "test"};
  facts.system.engines.toolkit = {true, "test"};
  facts.system.engines.cdi_refresh = {false, "test"};
  facts.system.engines.docker_runtimes = {Miss{Missing::kAbsent, "no such file"}, "test"};
  facts.system.engines.cdi = {Miss{Missing::kAbsent, "no such folder"}, "test"};
  return facts;
}

std::optional<Setting> service_setting(const std::string& name, const Facts& facts, std::string_view expect,
                                       std::string_view configure = "") {
  const std::string yaml = "railbed: 1\ncluster: one\nexpect: {" + std::string(expect) + "}\nconfigure: {" +
                           std::string(configure) + "}\nnodes: [gpu1]\n";
  for (Setting& setting : sample(yaml, {{"gpu1", facts}}).render("gpu1", Section::kServices)) {
    for (const NodeStep& step : setting.steps) EXPECT_TRUE(check_step(step)) << setting.title;
    if (setting.name == name) return std::move(setting);
  }
  return std::nullopt;
}

constexpr std::string_view kDockerImage = "container: 'nvcr.io/nvidia/pytorch:25.01-py3'";
constexpr std::string_view kPodmanImage =
    "container: 'nvcr.io/nvidia/pytorch:25.01-py3', container_runtime: podman";

TEST(DockerGpus, AreAskedForByAnImageAndNeedTheToolkit) {
  Facts facts = container_node();
  const auto setting = service_setting("services/docker-gpus", facts, kDockerImage);
  ASSERT_TRUE(setting);
  EXPECT_EQ(setting->needs.at(0).now, false);
  EXPECT_EQ(setting->files.at(0).path, "/etc/docker/daemon.json");
  EXPECT_EQ(setting->risk, Risk::kService);
  EXPECT_FALSE(service_setting("services/docker-gpus", facts, ""));
  EXPECT_FALSE(service_setting("services/docker-gpus", facts, kPodmanImage));
  facts.system.engines.docker_runtimes = {std::vector<std::string>{"nvidia"}, "test"};
  EXPECT_EQ(service_setting("services/docker-gpus", facts, kDockerImage)->needs.at(0).at_boot, true);
  facts.system.engines.docker_runtimes = {Miss{Missing::kGarbled, "no JSON"}, "test"};
  EXPECT_EQ(service_setting("services/docker-gpus", facts, kDockerImage)->needs.at(0).now, std::nullopt);
  facts.system.engines.toolkit = {false, "test"};
  EXPECT_FALSE(service_setting("services/docker-gpus", facts, kDockerImage));
}

TEST(DockerGpus, KeepWhatElseIsInDaemonJson) {
  const auto setting = service_setting("services/docker-gpus", container_node(), kDockerImage);
  ASSERT_TRUE(setting);
  const DesiredFile& file = setting->files.at(0);
  const std::string merged =
      content_after(file, R"({"data-root": "/mnt/docker", "runtimes": {"kata": {"path": "kata"}}})");
  EXPECT_EQ(merged, R"({
  "data-root": "/mnt/docker",
  "runtimes": {
    "kata": {
      "path": "kata"
    },
    "nvidia": {
      "args": [],
      "path": "nvidia-container-runtime"
    }
  }
}
)");
  EXPECT_EQ(content_after(file, merged), merged);
  // As `nvidia-ctk runtime configure` writes it: four spaces, and nothing left to do.
  const std::string theirs = R"({
    "runtimes": {
        "nvidia": {
            "args": [],
            "path": "nvidia-container-runtime"
        }
    }
})";
  EXPECT_EQ(content_after(file, theirs), theirs);
  EXPECT_EQ(content_after(file, "{ \"a\": "), "{ \"a\": ");  // dockerd does not read it either
  EXPECT_EQ(content_after(file, "[]"), "[]");
  EXPECT_THAT(content_after(file, std::nullopt), HasSubstr("\"nvidia\""));
}

TEST(Cdi, IsDescribedAnewAtEachBoot) {
  Facts facts = container_node();
  const auto own = service_setting("services/cdi", facts, kPodmanImage);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->needs.at(0).now, false);
  EXPECT_EQ(own->files.at(0).path, "/etc/systemd/system/railbed-cdi.service");
  EXPECT_THAT(own->files[0].content, HasSubstr("--output=/run/cdi/nvidia.yaml\n"));
  EXPECT_THAT(own->steps, Contains(NodeStep{StepKind::kEnableUnit, {"railbed-cdi.service"}}));
  facts.system.engines.cdi_refresh = {true, "test"};  // the toolkit's own, from 1.18 on
  const auto theirs = service_setting("services/cdi", facts, kPodmanImage);
  EXPECT_THAT(theirs->files, IsEmpty());
  EXPECT_EQ(theirs->needs.at(0).at_boot, true);
  EXPECT_FALSE(service_setting("services/cdi", facts, kDockerImage));  // docker does not need one
}

TEST(Cdi, ADescriptionOfAnotherDriverMovesAside) {
  Facts facts = container_node();
  facts.system.engines.cdi = {
      std::vector<CdiSpec>{
          {"/etc/cdi/nvidia.yaml", "570.133.20", {"/usr/lib/x86_64-linux-gnu/libcuda.so.570.133.20"}}},
      "test"};
  const auto stale = service_setting("services/cdi", facts, "");
  ASSERT_TRUE(stale);
  EXPECT_FALSE(stale->asked);
  EXPECT_EQ(stale->needs.at(0).now, false);
  EXPECT_EQ(stale->contradictions.at(0).path, "/etc/cdi/nvidia.yaml");
  // One in /run replaces it.
  std::vector<CdiSpec> both = *facts.system.engines.cdi;
  both.push_back({"/run/cdi/nvidia.yaml", "580.95.05", {}});
  facts.system.engines.cdi = {both, "test"};
  EXPECT_EQ(service_setting("services/cdi", facts, "")->needs.at(0).now, true);
  facts.system.engines.cdi = {std::vector<CdiSpec>{{"/etc/cdi/nvidia.yaml", "580.95.05", {}}}, "test"};
  const auto current = service_setting("services/cdi", facts, "");
  EXPECT_EQ(current->needs.at(0).now, true);
  EXPECT_THAT(current->contradictions, IsEmpty());
}

TEST(MemoryGuard, IsMadeWhereItIsAskedFor) {
  Facts facts = container_node();
  EXPECT_FALSE(service_setting("services/memory-guard", facts, ""));
  facts.system.memory_guards = {std::vector<std::string>{"systemd-oomd"}, "test"};
  const auto setting = service_setting("services/memory-guard", facts, "", "memory_guard: true");
  ASSERT_TRUE(setting);
  EXPECT_EQ(setting->needs.at(0).now, false);
  EXPECT_THAT(setting->files.at(0).content, HasSubstr("ExecStart=\nExecStart=/usr/bin/earlyoom "));
  EXPECT_THAT(setting->steps, Contains(NodeStep{StepKind::kInstallPackages, {"earlyoom"}}));
  facts.system.memory_guards = {std::vector<std::string>{"earlyoom"}, "test"};
  EXPECT_EQ(service_setting("services/memory-guard", facts, "", "memory_guard: true")->needs.at(0).now, true);
}

}  // namespace
}  // namespace railbed
